"""The benchmark of lesson 11 runs, on small shapes; no time is held against anything here."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks import on_device, quantize
from benchmarks.report import Report

# --- the CPU's part -------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch):
    """Two repeats, and no compiler, which takes a while."""
    timed = on_device.in_turn

    def in_turn(contenders, device, **timing):
        return timed(contenders, device, most=2, least=2)

    monkeypatch.setattr(quantize, "in_turn", in_turn)
    monkeypatch.setattr(quantize, "compiled", lambda model, inputs: (None, "No compiler here."))


@pytest.mark.parametrize("instructions", [True])
def test_the_layer_is_held_against_fp32_and_torchao(quick, monkeypatch, instructions):
    monkeypatch.setattr(quantize, "has_bfloat16", lambda: instructions)
    found = Report("quantize", "A title")
    quantize.layer(found, 64, (1, 8), held=(8,))
    cases = {row.case for row in found.rows}
    assert cases == {"linear 64 × 64, batch 1", "linear 64 × 64, batch 8"}
    names = {row.name for row in found.rows}
    older = {quantize.OLDER} if "fbgemm" in torch.backends.quantized.supported_engines else set()
    weights = {"ours, weights only", "ours, weights only, bf16"}
    assert names == {"fp32", "bf16", "ours", "torchao, eager"} | weights | older
    assert [claim.target for claim in found.claims] == [2.0] * instructions + [3.0, 1.0]
    assert "No compiler here." in found.notes
    assert all("% off" in row.note for row in found.rows if row.name != "fp32")


def test_the_quicker_torchao_counts_and_only_who_is_right():
    found = Report("quantize", "A title")
    times = {"fp32": [6.0], "ours": [1.0], "torchao, eager": [3.0], "torchao, compiled": [2.0]}
    quantize.claim(found, "a case", times)
    assert [claim.value for claim in found.claims] == [6.0, 2.0]
    quantize.claim(found, "another", {"fp32": [6.0]})
    assert len(found.claims) == 2 and "too far off" in found.notes[-1]
    x = torch.randn(4, 8)
    models = {"fp32": nn.Linear(8, 3), "ours": nn.Linear(8, 3)}
    assert list(quantize.add(found, "wrong", models, x, budget=0.01)) == ["fp32"]
