"""The patients, and what each treatment costs them: figures that lesson 11 rests on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers.lessons.quantization.algorithms.folding import fold
from helpers.lessons.quantization.algorithms.quantized_model import (
    in_dtype,
    quantize_dynamic,
    quantize_static,
    quantize_weights,
)
from helpers.lessons.quantization.experiments.model_file import save
from helpers.lessons.quantization.experiments.patients import (
    Patient,
    accuracy,
    agreement,
    reader,
    separable,
    wild_channel,
)


@cache
def health(make: Callable[[], Patient]) -> float:
    """What a patient's own model gets right."""
    patient = make()
    return accuracy(patient.model, patient)


def static(patient: Patient, bits: int = 8, **options: object) -> nn.Sequential:
    return quantize_static(patient.model, patient.calibration(), bits, **options)  # type: ignore


@pytest.mark.parametrize("make", [separable, pytest.param(reader, marks=pytest.mark.thorough)])
def test_eight_bits_cost_at_most_a_point_and_files_are_a_quarter_as_large(
    make: Callable[[], Patient], tmp_path: Path
) -> None:
    patient = make()
    assert health(make) >= 0.95
    # The batch norms are folded first, which makes the file in floats smaller, and the test harder.
    whole = save(fold(patient.model), tmp_path / "floats")
    forms = [quantize_dynamic(patient.model), quantize_weights(patient.model)]
    if make is separable:
        forms += [static(patient, observer=observer) for observer in ("percentile", "min-max")]
    for treated in forms:
        assert accuracy(treated, patient) >= health(make) - 0.01
    assert save(forms[-1] if make is separable else forms[0], tmp_path / "codes") <= 0.27 * whole
    assert save(quantize_weights(patient.model, bits=4), tmp_path / "four") <= 0.15 * whole
    for dtype in (torch.bfloat16, torch.float16):
        assert agreement(in_dtype(patient.model, dtype), patient.model, patient) >= 0.99


def test_wild_channels_change_no_output_and_have_scales_of_their_own() -> None:
    patient = separable()
    wild = wild_channel(patient.model, 32)
    x, y = patient.test_x, patient.model(patient.test_x)
    torch.testing.assert_close(wild(x), y, rtol=1e-3, atol=1e-3)
    for layer in fold(wild)[:-1]:  # type: ignore[index]
        if isinstance(layer, nn.Linear | nn.Conv2d):
            ends = layer.weight.flatten(1).abs().amax(1).sort().values
            assert ends[-1] > 10 * ends[-2]
    assert accuracy(quantize_weights(wild), patient) >= health(separable) - 0.01
    with pytest.raises(TypeError, match="nothing but a batch norm"):
        wild_channel(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)), 2)
