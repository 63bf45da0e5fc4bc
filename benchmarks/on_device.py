"""Contenders timed in turn on one device: a CPU by the wall clock, a GPU by its own."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

Contenders = Mapping[str, Callable[[], Any]]
"""What is timed, under the name that the table shows."""

MOST_CALLS = 1000


def device_here() -> torch.device:
    """The first GPU that torch sees; the CPU where there is none."""
    return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")


def device_name(device: torch.device) -> str | None:
    """A GPU's name, as its maker tells it; None for the CPU."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else None


def finish(device: torch.device) -> None:
    """Wait until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(fn: Callable[[], Any], device: torch.device, calls: int = 1) -> float:
    """Seconds of a call, the mean of `calls` of them one right after the other.

    A GPU is asked for the time between two marks among its own work, so that waiting for the answer
    does not count. What is shorter than the host takes to ask for it shows the host's time.
    """
    if device.type != "cuda":
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        return (time.perf_counter() - start) / calls
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        fn()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3 / calls


@torch.no_grad()
def in_turn(
    contenders: Contenders,
    device: torch.device,
    most: int = 31,
    least: int = 5,
    budget: float = 6.0,
    span: float = 0.0,
) -> dict[str, list[float]]:
    """Seconds of a call of every contender in every repeat, without gradients.

    The order turns by one each time, so that nobody always follows the same. A call of each warms
    up, and a second one, where that is not very long, says how many repeats there are.

    most, least: repeats. budget: seconds that all of them may take, which decides between the two;
    a contender that would use it up alone is timed once only, because it has lost anyway.
    span: seconds that a timing lasts at least: short calls are repeated for it.
    """
    once = {name: seconds(fn, device) for name, fn in contenders.items()}
    for name, fn in contenders.items():
        if once[name] <= budget / 2:
            once[name] = seconds(fn, device)
    calls = {n: min(MOST_CALLS, max(1, math.ceil(span / max(t, 1e-9)))) for n, t in once.items()}
    takes = {name: once[name] * calls[name] for name in contenders}
    names = [name for name in contenders if takes[name] * least <= budget]
    repeats = max(least, min(most, int(budget / max(sum(takes[n] for n in names), 1e-9))))
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for repeat in range(repeats):
        turn = repeat % max(1, len(names))
        for name in names[turn:] + names[:turn]:
            found[name].append(seconds(contenders[name], device, calls[name]))
    return {name: times or [once[name]] for name, times in found.items()}


def error(found: Tensor, exact: Tensor) -> float:
    """How far a result is off, in parts of the exact one: ‖found − exact‖ / ‖exact‖."""
    exact = exact.double()
    return float((found.double() - exact).norm() / exact.norm())


class MemoryMeter:
    """Bytes that torch holds on a GPU from here on; None throughout on a CPU, which counts none.

    kept: what has come since. peak: the most that it was. Both of this process alone.
    """

    def __init__(self, device: torch.device) -> None:
        self.device, self._before = device, 0
        if device.type == "cuda":
            # The library's workspace comes with the first product and stays: it is nobody's here.
            square = torch.ones(64, 64, device=device, requires_grad=True)
            (square @ square).sum().backward()
            finish(device)
            del square
            self._before = torch.cuda.memory_allocated(device)

    def begin(self) -> None:
        """Count the peak from here on."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)

    @property
    def kept(self) -> int | None:
        """Bytes now."""
        if self.device.type != "cuda":
            return None
        finish(self.device)
        return torch.cuda.memory_allocated(self.device) - self._before

    @property
    def peak(self) -> int | None:
        """The most bytes at once."""
        if self.device.type != "cuda":
            return None
        return torch.cuda.max_memory_allocated(self.device) - self._before
