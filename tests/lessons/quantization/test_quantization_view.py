"""Figures of lesson 11 say what they were given, and what the widget counts is right."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.lessons.quantization.algorithms.quantization import quantize
from helpers.lessons.quantization.figures import (
    forms_view,
    quantization_knobs,
    quantization_view,
)

WEIGHTS = torch.randn(4000, generator=torch.Generator().manual_seed(0))


def test_figures_say_what_they_were_given(shown: Any) -> None:
    found = shown(forms_view, quantization_view)
    weight = WEIGHTS.view(8, 500)
    quantization_view.show_channels({"one": weight, "other": 3 * weight})
    quantization_view.show_codes(weight[0], {"wide": 2.0, "own": 0.1})
    errors = {8: [3e-3, 1e-4, 2e-4], 4: [4e-2, 2e-2, 3e-2]}
    quantization_view.show_bounds([1.0, 2.0, 3.0], errors, {8: (2, 1e-4), 4: (2, 2e-2)})
    row = torch.cat([WEIGHTS[:63], torch.tensor([20.0])])
    quantization_view.show_blocks(row, {"one": torch.zeros(64), "other": row.clamp(min=0)})
    assert "one: 32 and 32 of 32 lie at 0" in f"{found[-1]}"
    blocks, bits = {"a": [0.7, 4.5], "b": [2.9, 57.3]}, {"a": 8.06, "b": 4.25}
    quantization_view.show_block_errors((0, 4), blocks, bits)
    assert "a: 0.7, 4.5; b: 2.9, 57.3" in f"{found[-1]}"
    forms_view.show_fewer(97.5, {8: 97.4, 4: 60.0}, 80.0, 95.0, {8: "well", 4: "ill"}, "mended")
    assert "8 bits well, 4 bits ill" in f"{found[-1]}"
    forms_view.show_forms({"float32": (650.0, 30.0, 97.5), "8 bits": (170.0, 60.0, 97.4)}, 0.1)
    assert "8 bits: 170 KB, 60 ms, 97.4 % right" in f"{found[-1]}"
    forms_view.show_products({"float32": {1: 10.0, 32: 20.0}, "8 bits": {1: 2.0, 32: 5.0}})
    assert "8 bits: 2.0 ms for 1, 5.0 ms for 32" in f"{found[-1]}"
    forms_view.show_losses({"net, trained so": 1.5}, {"ours": -0.1}, ["well", "ill", "mended"])
    assert "cost 1.5 to 1.5 points" in f"{found[-1]}"


@pytest.mark.parametrize(("bits", "reach"), [(2, 5), (8, 100)])
def test_the_widget_draws_all_of_its_corners(bits, reach):
    found = quantization_knobs.outcome(WEIGHTS, quantize, bits, reach)
    codes, scale, zero_point = quantize(WEIGHTS, -found.bound, found.bound, bits)
    error = ((codes.double() - zero_point) * scale - WEIGHTS.double()).square().mean()
    assert found.rounding + found.cutting == pytest.approx(float(error))
    assert found.cut == 0 if reach >= 100 else found.cut > 0.5
    figure = quantization_knobs.draw_codes(WEIGHTS, quantize, bits, reach)
    assert f"{2**bits} codes" in figure.axes[0].get_title()
    said = quantization_knobs.words(WEIGHTS, quantize)(bits, reach)
    assert f"{bits} bits" in said and f"{reach} per cent" in said
    assert ("cutting off" in said) == (found.cutting > found.rounding)
