"""Figures of lesson 11: every one draws, and what the widget counts is right."""

from __future__ import annotations

import pytest
import torch

from helpers.lessons.quantization.algorithms.quantization import affine_grid
from helpers.lessons.quantization.figures import (
    blocks_view,
    forms_view,
    quantization_knobs,
    quantization_view,
)
from helpers.notebook.figures import png

WEIGHTS = torch.randn(4000, generator=torch.Generator().manual_seed(0))


def quantize(values: torch.Tensor, low: float, high: float, bits: int = 8):
    grid = affine_grid(low, high, bits)
    return grid.quantize(values), float(grid.scale), int(grid.zero_point)


def test_figures_are_drawn():
    weight = WEIGHTS.view(8, 500)
    errors = {8: [3e-3, 1e-4, 2e-4], 4: [4e-2, 2e-2, 3e-2]}
    rows = {"float32": (650.0, 30.0, 97.5), "8 bits, static": (170.0, 60.0, 97.4)}
    for figure in (
        quantization_view.number_line(40 / 15, -4, -8, 7, -10, 30),
        quantization_view.channel_ranges({"one": weight, "other": 3 * weight}),
        quantization_view.channel_ranges({"alone": weight}),
        quantization_view.codes_over_weights(weight[0], {"wide": 2.0, "own": 0.1}, 6),
        quantization_view.bound_error([1.0, 2.0, 3.0], errors, {8: (2, 1e-4), 4: (2, 2e-2)}),
        forms_view.by_bits(97.5, {8: 97.4, 4: 60.0}, {4: 80.0}, {4: 95.0}, "test pictures"),
        forms_view.models(rows),
        forms_view.drops({"printed": 1.5}, {"ours": 0.2, "ours too": -0.1}),
        forms_view.products({"float32": {1: 10.0, 32: 20.0}, "8 bits": {1: 2.0, 32: 5.0}}),
    ):
        assert png(figure).startswith(b"\x89PNG")


def test_blocks_are_drawn_with_what_lies_outside_in_words():
    row = torch.cat([WEIGHTS[:63], torch.tensor([20.0])])
    figure = blocks_view.one_row(row, {"one": torch.zeros(64), "other": row.round()})
    assert [ax.texts[0].get_text() for ax in figure.axes] == ["↑ the wild one, 20"] * 2
    assert png(figure).startswith(b"\x89PNG")
    figure = blocks_view.errors((0, 4), {"a": [0.7, 4.5], "b": [2.9, 57.3]}, {"a": 8.06, "b": 4.25})
    (ax,) = figure.axes
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a: 8.06", "b: 4.25"]
    assert png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize(("bits", "reach"), [(2, 5), (8, 100)])
def test_the_widget_draws_all_of_its_corners(bits, reach):
    found = quantization_knobs.outcome(WEIGHTS, quantize, bits, reach)
    codes, scale, zero_point = quantize(WEIGHTS, -found.bound, found.bound, bits)
    error = ((codes.double() - zero_point) * scale - WEIGHTS.double()).square().mean()
    assert found.rounding + found.cutting == pytest.approx(float(error))
    assert found.cut == 0 if reach >= 100 else found.cut > 0.5
    figure = quantization_knobs.draw_codes(WEIGHTS, quantize, bits, reach)
    assert len(figure.axes) == 2 and f"{2**bits} codes" in figure.axes[0].get_title(loc="left")
    said = quantization_knobs.words(WEIGHTS, quantize)(bits, reach)
    assert f"{bits} bits" in said and f"{reach} per cent" in said
    assert ("cutting off" in said) == (found.cutting > found.rounding)
