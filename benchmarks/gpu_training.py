"""A training step of one Transformer on one GPU, in every kind of numbers that it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

import torch
from torch import nn

from benchmarks.float8_layer import in_float8
from benchmarks.gpu_memory import Size
from benchmarks.gpu_products import tf32
from benchmarks.on_device import finish, in_turn
from benchmarks.report import Report

SIZE = Size(width=2048, blocks=8, length=512, rows=16)
FP32 = "fp32"
FLOAT8 = "float8 layers, under bf16 autocast"
FIRST_WITH_FLOAT8 = (8, 9)  # compute capability


def has_float8(device: torch.device) -> bool:
    """Whether the device multiplies 8-bit floats; torch on a CPU does what they would give."""
    return device.type != "cuda" or torch.cuda.get_device_capability(device) >= FIRST_WITH_FLOAT8


def ways(device: torch.device) -> dict[str, tuple[bool, bool, Callable[[nn.Module], nn.Module]]]:
    """Each way: whether fp32 products may be TF32, whether autocast is on, and the model's change.

    "bf16 throughout" keeps weights and Adam's state in bf16, too: half the memory, and updates
    that are too small for its 8 bits are lost.
    """
    found: dict[str, tuple[bool, bool, Callable[[nn.Module], nn.Module]]] = {
        FP32: (False, False, lambda model: model),
        "TF32": (True, False, lambda model: model),
        "bf16 autocast": (False, True, lambda model: model),
        "bf16 throughout": (False, False, lambda model: model.bfloat16()),
    }
    if has_float8(device):
        found[FLOAT8] = (False, True, in_float8)
    return found


def add_to(report: Report, device: torch.device, size: Size = SIZE, budget: float = 12.0) -> None:
    """Steps with Adam in turn, on the same batch; the loss of the last one stands beside."""
    from helpers.lessons.splitting.experiments.transformer import token_loss

    tokens, targets = size.batch(device)
    losses: dict[str, float] = {}

    def step(name: str, model: nn.Module, adam: torch.optim.Adam, rounds: bool, half: bool) -> None:
        with torch.enable_grad(), tf32(rounds):
            with torch.autocast(device.type, torch.bfloat16, enabled=half):
                scores = model(tokens)
            loss = token_loss(scores.float(), targets)
            loss.backward()
        adam.step()
        adam.zero_grad()
        finish(device)
        losses[name] = loss.item()

    contenders = {}
    for name, (rounds, half, change) in ways(device).items():
        model = change(size.model(device))
        adam = torch.optim.Adam(model.parameters(), 1e-4)
        contenders[name] = partial(step, name, model, adam, rounds, half)
    numbers = sum(p.numel() for p in size.model("meta").parameters())
    work = 6 * numbers * size.rows * size.length  # without attention's own products
    case = f"a training step, {numbers / 1e6:.0f} million parameters, {tokens.numel()} tokens"
    times = in_turn(contenders, device, budget=budget)
    for name, seconds in times.items():
        took = median(seconds)
        report.add(
            case,
            name,
            seconds,
            f"{median(times[FP32]) / took:.2f}× fp32; {work / took / 1e12:.3g} · 10¹² operations "
            f"a second; loss {losses[name]:.3f}",
        )
    if FLOAT8 not in times:
        report.notes.append("This GPU has no products of 8-bit floats: no training step in them.")
