"""Copies between a GPU and its host: pageable and pinned, alone and beside a computation.

Memory of the host that the system may move is pageable: the driver copies it into a buffer of its
own first. Pinned memory stays where it is, so the GPU fetches it itself, beside what it computes.
Source: CUDA C++ Programming Guide, "Page-Locked Host Memory" and "Asynchronous Concurrent
Execution".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks.on_device import in_turn, seconds
from benchmarks.report import Report

LENGTHS = (1_000_000, 64_000_000)  # bytes
KINDS = {"pageable": False, "pinned": True}
COMPUTE = 4096  # rows of the square product that a copy runs beside
PIECES = 4  # copies, and products, of a timeline


def add_copies(report: Report, device: torch.device, lengths: tuple[int, ...] = LENGTHS) -> None:
    """Copies to the device and back, of each length."""
    for length in lengths:
        there = torch.empty(length, dtype=torch.uint8, device=device)
        for kind, pinned in KINDS.items():
            here = torch.zeros(length, dtype=torch.uint8, pin_memory=pinned and there.is_cuda)
            ways = {
                f"{kind}, to the device": partial(there.copy_, here, non_blocking=True),
                f"{kind}, from the device": partial(here.copy_, there, non_blocking=True),
            }
            for name, times in in_turn(ways, device, budget=1.0, span=1e-3).items():
                rate = length / median(times) / 1e9
                report.add(f"a copy of {length / 1e6:g} MB", name, times, f"{rate:.3g} GB/s")


def timeline(device: torch.device, pinned: bool, width: int, length: int) -> list[dict[str, Any]]:
    """When each of some products and some copies to the device began and ended, in milliseconds.

    Products go to one queue of the GPU, copies to another. Returns {"lane", "begin", "end"} of
    each, from the first one's beginning on.
    """
    lanes = {"compute": torch.cuda.Stream(device), "copy": torch.cuda.Stream(device)}
    square = torch.randn(width, width, device=device)
    result = torch.empty_like(square)
    here = torch.zeros(length, dtype=torch.uint8, pin_memory=pinned)
    there = torch.empty(length, dtype=torch.uint8, device=device)
    work: dict[str, Callable[[], Tensor]] = {
        "compute": lambda: torch.mm(square, square, out=result),
        "copy": lambda: there.copy_(here, non_blocking=True),
    }
    for step in work.values():  # the first of each loads libraries
        step()
    torch.cuda.synchronize(device)
    first, marks = torch.cuda.Event(enable_timing=True), []
    first.record()
    for stream in lanes.values():
        stream.wait_event(first)
    for _ in range(PIECES):
        for lane, stream in lanes.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            with torch.cuda.stream(stream):
                begin.record()
                work[lane]()
                end.record()
            marks.append((lane, begin, end))
    torch.cuda.synchronize(device)
    return [
        {"lane": lane, "begin": first.elapsed_time(begin), "end": first.elapsed_time(end)}
        for lane, begin, end in marks
    ]


def add_beside(report: Report, device: torch.device, width: int = COMPUTE) -> None:
    """A copy that takes about as long as a product, beside one; its timeline is kept.

    What the GPU does in both cases is the same. How much of the copies' time is hidden: 1 where
    both together take as long as the longer of the two, 0 where they take their sum.
    """
    with torch.no_grad():
        square = torch.randn(width, width, device=device)
        torch.mm(square, square)
        product = median(seconds(lambda: torch.mm(square, square), device) for _ in range(5))
        probe = torch.zeros(32_000_000, dtype=torch.uint8, pin_memory=True)
        there = torch.empty_like(probe, device=device)
        rate = len(probe) / median(seconds(lambda: there.copy_(probe), device) for _ in range(5))
        length = int(product * rate)
        for kind, pinned in KINDS.items():
            timeline(device, pinned, width, length)  # warms up
            spans = timeline(device, pinned, width, length)
            took = {
                lane: sum(s["end"] - s["begin"] for s in spans if s["lane"] == lane)
                for lane in ("compute", "copy")
            }
            whole = max(s["end"] for s in spans) - min(s["begin"] for s in spans)
            hidden = (sum(took.values()) - whole) / min(took.values())
            report.add(
                f"{PIECES} products of {width}³ beside copies of {length / 1e6:.3g} MB",
                kind,
                [whole / 1e3],
                f"products {took['compute']:.3g} ms, copies {took['copy']:.3g} ms, "
                f"{100 * hidden:.0f} % of the shorter is hidden",
            )
            report.extra.setdefault("timelines", {})[kind] = spans


def add_to(report: Report, device: torch.device) -> None:
    """All of them."""
    add_copies(report, device)
    add_beside(report, device)
