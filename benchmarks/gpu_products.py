"""Products of square matrices on a GPU: int8, bf16, fp32 and TF32, ours beside the library's calls.

Ours is what the lessons call: `int_matmul` for codes, `x @ w.t()` for floats. What it is held
against is the quickest library call that gives the same numbers. float8 stands beside int8, with
as many bits and as large a peak, but it rounds, so it is no rival there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from benchmarks.on_device import error, in_turn
from benchmarks.report import Report
from helpers.lessons.quantization.algorithms.integer_products import int_matmul

SIZES = (512, 1024, 2048, 4096, 8192)
HELD = (4096, 8192)  # sizes that are held against the target
KINDS = ("int8", "bf16", "fp32", "TF32")
HELD_KINDS = ("int8", "bf16")
OF_BEST = 0.8
OF_FP32 = {"bf16": 3.0, "int8": 4.0}
OURS = "ours"
FLOAT8 = "float8, torch._scaled_mm"
ERRORS = {"int8": 0.0, "bf16": 1e-2, "fp32": 1e-4, "TF32": 2e-3}
"""How far a product may be from the exact one, in parts of it."""
CHECKED = 4  # rows that are computed exactly, to compare with


def operands(kind: str, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Inputs (size, size) and a weight (out, in) of the same size, random and never all alike."""
    generator = torch.Generator(device).manual_seed(size)
    if kind == "int8":
        a, b = (
            torch.randint(-127, 128, (size, size), generator=generator, device=device)
            for _ in range(2)
        )
        return a.to(torch.int8), b.to(torch.int8)
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    a, b = (torch.randn(size, size, generator=generator, device=device) for _ in range(2))
    return a.to(dtype), b.to(dtype)


def contenders(kind: str, x: Tensor, weight: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Ways to multiply: all give x · weightᵀ, but float8, which has other operands."""
    across = weight.t().contiguous()
    if kind != "int8":
        nothing = x.new_zeros(len(weight))
        return {
            OURS: lambda: x @ weight.t(),
            "torch.mm, both row by row": lambda: torch.mm(x, across),
            "functional.linear": lambda: linear(x, weight),
            "torch.addmm": lambda: torch.addmm(nothing, x, weight.t()),
        }
    made: dict[str, Callable[[], Tensor]] = {
        OURS: lambda: int_matmul(x, weight.t()),
        "torch._int_mm": lambda: torch._int_mm(x, weight.t()),
        "torch._int_mm, both row by row": lambda: torch._int_mm(x, across),
    }
    if find_spec("torchao") is not None:
        from torchao.kernel import safe_int_mm

        made["torchao.kernel.safe_int_mm"] = lambda: safe_int_mm(x, weight.t())
    if x.device.type == "cuda" and hasattr(torch, "float8_e4m3fn"):
        made[FLOAT8] = float8(x, weight)
    return made


def float8(x: Tensor, weight: Tensor) -> Callable[[], Tensor]:
    """A product of as many 8-bit floats, bf16 coming out."""
    a, b = (t.float().to(torch.float8_e4m3fn) for t in (x, weight))
    one = torch.ones((), device=x.device)
    return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)


@contextmanager
def tf32(allowed: bool) -> Iterator[None]:
    """Whether float32 products may round their operands to 10 bits, on the tensor cores."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def right(kind: str, x: Tensor, weight: Tensor, product: Tensor) -> bool:
    """Whether a product's first rows are the exact ones, as far as the kind of numbers allows."""
    exact = x[:CHECKED].double() @ weight.double().t()
    return error(product[:CHECKED], exact) <= ERRORS[kind]


def usable(
    kind: str, x: Tensor, weight: Tensor, made: Mapping[str, Callable[[], Tensor]]
) -> tuple[dict[str, Callable[[], Tensor]], list[str]]:
    """Contenders that run here and are right, and what to say of the others.

    Raises RuntimeError where ours is not among them.
    """
    found: dict[str, Callable[[], Tensor]] = {}
    problems = []
    for name, call in made.items():
        try:
            product = call()
        except Exception as problem:  # a library that has no such product says so in many ways
            words = " ".join(str(problem).split())[:120]
            problems.append(f"{kind}: {name} does not run here: {words}")
            continue
        if name == FLOAT8 or right(kind, x, weight, product):
            found[name] = call
        else:
            problems.append(f"{kind}: {name} gives other numbers at {len(x)}³, so it is left out.")
    if OURS not in found:
        raise RuntimeError(f"Ours fails at {len(x)}³. {' '.join(problems)}")
    return found, problems


def add(
    report: Report, kind: str, size: int, device: torch.device, held: bool, **timing: Any
) -> None:
    """Time one kind of product at one size. timing: of `in_turn`."""
    x, weight = operands(kind, size, device)
    case, operations = f"{kind}, {size}³", 2.0 * size**3
    with tf32(kind == "TF32"):
        calls, problems = usable(kind, x, weight, contenders(kind, x, weight))
        times = in_turn(calls, device, **timing)
    report.notes += [text for text in problems if text not in report.notes]
    for name, seconds in times.items():
        rate = operations / median(seconds) / 1e12
        report.add(case, name, seconds, f"{rate:.4g} · 10¹² operations a second")
    theirs = {n: report.median(case, n) for n in times if n not in (OURS, FLOAT8)}
    if held and theirs:
        best = min(theirs, key=lambda name: theirs[name])
        value = theirs[best] / report.median(case, OURS)
        report.claim(f"ours, times as quick as {best}, {case}", value, OF_BEST)


def add_to(
    report: Report,
    device: torch.device,
    sizes: tuple[int, ...] = SIZES,
    held: tuple[int, ...] = HELD,
    **timing: Any,
) -> None:
    """All kinds at all sizes, and how much quicker than fp32 those of fewer bits are.

    Short products are called back to back for 5 ms at a time.
    """
    for kind in KINDS:
        for size in sizes:
            counts = size in held and kind in HELD_KINDS
            add(report, kind, size, device, counts, **{"span": 5e-3, "budget": 1.5, **timing})
    for size in held:
        for kind, target in OF_FP32.items() if device.type == "cuda" else ():
            value = report.median(f"fp32, {size}³", OURS) / report.median(f"{kind}, {size}³", OURS)
            report.claim(f"{kind}, times as quick as fp32 without TF32, {size}³", value, target)
