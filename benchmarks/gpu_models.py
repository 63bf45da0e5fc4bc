"""Lesson 11's small models on a GPU: what they get right there, and how long they take."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.on_device import error, in_turn
from benchmarks.quantize import forms
from benchmarks.report import Report
from helpers.lessons.quantization.algorithms.quantized_model import (
    quantize_dynamic,
    quantize_static,
    quantize_weights,
)

WIDTH = 8192
PACKED = "torch._weight_int8pack_mm, bf16"
BATCHES = (1, 32, 256, 4096)
ALIKE = 0.99
"""The part of a patient's test digits of which a model must say the same on both devices."""


def packed(linear: nn.Module) -> Callable[[Tensor], Tensor]:
    """torch's own product of bf16 rows with a weight whose codes stay codes in memory."""
    buffers = dict(quantize_weights(linear).named_buffers())
    codes, scale = buffers["weight_codes"], buffers["weight_scale"].flatten().bfloat16()
    bias = buffers["bias_plain"]
    return lambda x: torch._weight_int8pack_mm(x.bfloat16(), codes, scale).float() + bias


def add_layer(
    report: Report,
    device: torch.device,
    width: int = WIDTH,
    batches: tuple[int, ...] = BATCHES,
    **timing: Any,
) -> None:
    """A square layer at several batch sizes, weights in 8 bits among others."""
    torch.manual_seed(0)
    linear = nn.Linear(width, width).to(device).eval()
    models = forms(linear)
    try:
        packed(linear)(torch.ones(1, width, device=device))
        models[PACKED] = packed(linear)
    except (AttributeError, NotImplementedError, RuntimeError) as problem:
        report.notes.append(f"{PACKED} does not run here: {' '.join(str(problem).split())[:120]}")
    for batch in batches:
        x = torch.randn(batch, width, device=device)
        calls = {name: partial(model, x) for name, model in models.items()}
        times = in_turn(calls, device, **{"span": 2e-3, "budget": 2.0, **timing})
        with torch.no_grad():
            exact = calls["fp32"]()
            apart = {name: error(call(), exact) for name, call in calls.items()}
        for name, seconds in times.items():
            gain = median(times["fp32"]) / median(seconds)
            note = f"{gain:.2f}× fp32, {100 * apart[name]:.2g} % off" if name != "fp32" else ""
            report.add(f"linear {width} × {width}, batch {batch}", name, seconds, note)


def add_patient(report: Report, device: torch.device) -> None:
    """The digits' network: how many of the test digits a small model calls the same on both."""
    from helpers.lessons.quantization.experiments import patients

    patient = patients.separable()
    x = patient.test_x.to(device)
    made: dict[str, nn.Module] = {
        "fp32": patient.model,
        "ours, dynamic": quantize_dynamic(patient.model),
        "ours, static": quantize_static(patient.model, patient.calibration()),
        "ours, weights only": quantize_weights(patient.model),
    }
    there = {name: copy.deepcopy(model).to(device).eval() for name, model in made.items()}
    times = in_turn({name: partial(there[name], x) for name in there}, device, budget=2.0)
    same = []
    for name, model in made.items():
        here = patients.classes(model, patient.test_x)
        found = patients.classes(there[name], x).cpu()
        same.append(float((here == found).double().mean()))
        right = float((found == patient.test_y).double().mean())
        note = f"{100 * right:.1f} % right, {100 * same[-1]:.1f} % as on the CPU"
        report.add(f"digits, {len(x)} at once", name, times[name], note)
    report.claim("small models, classes as on the CPU, the least", min(same), ALIKE, unit=" of all")


def add_to(report: Report, device: torch.device) -> None:
    """The layer, and the network."""
    add_layer(report, device)
    add_patient(report, device)
