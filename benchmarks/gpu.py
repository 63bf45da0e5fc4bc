"""What the lessons say of GPUs, seen on one: `./course bench gpu`.

It needs torch and a GPU, and nothing of set-up: what is missing is left out, with the reason. Where
there is no GPU it says what it would have done.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import torch

from benchmarks import (
    gpu_cells,
    gpu_copies,
    gpu_lessons,
    gpu_models,
    gpu_products,
    gpu_training,
    kept,
)
from benchmarks.on_device import device_here, device_name
from benchmarks.report import Report


class Part(NamedTuple):
    """A part of the benchmark. does: what it would do, where it cannot."""

    does: str
    add_to: Callable[[Report, torch.device], None]


def _of_report(add_to: Callable[..., None]) -> Callable[[Report, torch.device], None]:
    return lambda report, device: add_to(report)


PARTS = {
    "products": Part(
        "multiply matrices of 512³ to 8192³ in int8, bf16, fp32 and TF32, beside the best library "
        "call",
        gpu_products.add_to,
    ),
    "training": Part(
        "train a Transformer in fp32, TF32, bf16, under autocast and with 8-bit floats",
        gpu_training.add_to,
    ),
    "models": Part("run lesson 11's quantized models, and weight-only products", gpu_models.add_to),
    "copies": Part(
        "copy pageable and pinned memory, alone and beside products, on a timeline",
        gpu_copies.add_to,
    ),
    "ranks": Part(
        "let ranks share the GPU, by gloo and by CUDA's shared memory, and hold the allocator's "
        "bytes against the formulas of lessons 12 to 14",
        _of_report(gpu_lessons.add_to),
    ),
    "cells": Part(
        "run every lesson's GPU cells in their order, one of them out of memory on purpose",
        _of_report(gpu_cells.add_to),
    ),
}


def without_gpu() -> str:
    """A sentence: what there would have been to see."""
    whole = "; ".join(part.does for part in PARTS.values())
    return f"torch sees no GPU here. On one, this would {whole}."


def measure() -> Report:
    """Every part in turn. One that fails is told, and the others go on.

    The figures are kept after each part, so that a machine that goes back early takes none along.
    """
    device = device_here()
    name = device_name(device)
    report = Report("gpu", f"The course on {name or 'a GPU'}", device=name)
    if device.type != "cuda":
        report.notes.append(without_gpu())
        return report
    so_far = kept.store(repository=False).path("gpu-so-far")
    print(f"After each part, the figures so far are in {so_far}.", file=sys.stderr)
    for title, part in PARTS.items():
        start = time.perf_counter()
        print(f"{title}: {part.does} …", file=sys.stderr, flush=True)
        try:
            part.add_to(report, device)
        except Exception as problem:  # minutes of figures are not lost for it
            words = " ".join(str(problem).split())[:300]
            report.notes.append(f"{title} failed: {type(problem).__name__}: {words}")
        torch.cuda.empty_cache()  # the ranks to come need the room
        report.notes.append(f"{title} took {time.perf_counter() - start:.0f} s.")
        kept.write(so_far, report.json() + "\n")
    return report
