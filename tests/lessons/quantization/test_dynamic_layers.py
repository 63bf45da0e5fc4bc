"""Layers that quantize their input when it comes, and layers that only hold codes."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from helpers.lessons.quantization.algorithms import dynamic_layers, packed_products
from helpers.lessons.quantization.algorithms.dynamic_layers import (
    DynamicConv2d,
    DynamicGRU,
    DynamicLinear,
    DynamicLSTM,
    quantize_rows,
)
from helpers.lessons.quantization.algorithms.weight_only import WHOLE, WeightOnly


def convolution(groups: int) -> nn.Conv2d:
    return nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=groups)


@pytest.mark.parametrize("bits", [8, 4, 2])
@pytest.mark.parametrize(
    ("source", "shape"),
    [
        *((nn.Linear(width, 5, bias=width > 1), (rows, width)) for rows, width in
          ((0, 7), (3, 1), (6, 40))),
        *((convolution(groups), (rows, 4, 7, 5)) for groups, rows in ((1, 3), (2, 0), (4, 1))),
    ],
)  # fmt: skip
def test_a_dynamic_layer_is_float_arithmetic_on_codes(source, shape, bits):
    form = DynamicLinear if isinstance(source, nn.Linear) else DynamicConv2d
    source, x = copy.deepcopy(source).double(), torch.randn(shape, dtype=torch.float64)
    layer = form.of(source, bits)
    codes, scale = quantize_rows(x)
    whole = copy.deepcopy(source)
    whole.weight.data = layer.codes * layer.scale.view(-1, *[1] * (source.weight.dim() - 1))
    expected = whole(codes * scale)
    torch.testing.assert_close(layer(x), expected.detach(), rtol=1e-12, atol=1e-12)


def test_what_is_no_number_spoils_its_own_row_alone():
    out = DynamicLinear.of(nn.Linear(2, 2))(
        torch.tensor([[1.0, 2], [1e-42, 0], [float("nan"), 1], [float("inf"), 1]])
    )
    assert out[:2].isfinite().all() and not out[2:].isfinite().any()


@pytest.mark.parametrize("unsigned", [True, False])
def test_either_kind_of_codes_gives_the_same(unsigned, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(packed_products, "pack", lambda codes, scale: None)
    layer, x = DynamicLinear.of(nn.Linear(33, 7)), torch.randn(9, 33)
    expected = layer(x)
    monkeypatch.setattr(dynamic_layers, "takes_unsigned", lambda device: unsigned)
    assert torch.equal(layer(x), expected)
    codes, _ = quantize_rows(x, unsigned=True)
    assert codes.dtype == torch.uint8 and codes.min() >= 1
    assert torch.equal(codes.int() - 128, quantize_rows(x)[0].int())


@pytest.mark.parametrize(
    ("source", "form"),
    [
        (nn.LSTM(6, 9, num_layers=2), DynamicLSTM),
        (nn.GRU(6, 9, num_layers=3, batch_first=True), DynamicGRU),
        (nn.GRU(6, 9, bias=False), DynamicGRU),
        (nn.LSTM(6, 9, num_layers=2, bidirectional=True, batch_first=True), WeightOnly),
    ],
)
def test_recurrent_layers(source, form):
    x = torch.randn(5, 4, 6)
    with torch.no_grad():
        torch.testing.assert_close(form(source)(x), source(x), rtol=0, atol=0.02)
    with pytest.raises(ValueError, match="its weights only"):
        DynamicLSTM(nn.LSTM(3, 4, proj_size=2))


@pytest.mark.parametrize(
    ("layer", "x"),
    [
        (nn.Linear(5, 3), torch.ones(2, 5)),
        (nn.Conv1d(2, 3, 3, padding=1), torch.ones(2, 2, 5)),
        (nn.Conv2d(4, 4, 3, groups=4), torch.ones(1, 4, 5, 5)),
        (nn.Embedding(7, 3), torch.tensor([[1, 6]])),
    ],
)
def test_weight_only_layers_hold_codes_and_compute_in_floats(layer, x):
    held = WeightOnly(layer)
    torch.testing.assert_close(held(x), layer(x).detach(), rtol=0, atol=0.05)
    assert not list(held.parameters())
    assert any(b.dtype == torch.int8 for b in held.buffers())
    assert torch.equal(copy.deepcopy(held)(x), held(x))


def test_a_linear_layer_in_bfloat16():
    source, x = nn.Linear(WHOLE + 1, 4), torch.randn(2, 3, WHOLE + 1)
    found = WeightOnly(source, compute=torch.bfloat16)(x)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, WeightOnly(source)(x), rtol=0.02, atol=0.02)
    with pytest.raises(ValueError, match="bfloat16, or None"):
        WeightOnly(source, compute=torch.float16)
