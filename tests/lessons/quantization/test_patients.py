"""The patients, and what each treatment costs them: figures that lesson 11 rests on."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.calibration import Percentile
from helpers.lessons.quantization.algorithms.folding import fold
from helpers.lessons.quantization.algorithms.quantized_model import (
    in_dtype,
    quantize_dynamic,
    quantize_static,
    quantize_weights,
)
from helpers.lessons.quantization.algorithms.quantized_training import convert
from helpers.lessons.quantization.experiments import patients
from helpers.lessons.quantization.experiments.model_file import save
from helpers.lessons.quantization.experiments.patients import (
    Patient,
    accuracy,
    agreement,
    reader,
    separable,
    train_rounded,
    wild_channel,
    wild_picture,
)

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2))]
PATIENTS: dict[str, Callable[[int], Patient]] = {"separable": separable, "reader": reader}

each_seed = pytest.mark.parametrize("seed", SEEDS)
each_patient = pytest.mark.parametrize(
    "name", ["separable", pytest.param("reader", marks=pytest.mark.thorough)]
)


@lru_cache
def health(name: str, seed: int) -> float:
    """What a patient's own model gets right."""
    patient = PATIENTS[name](seed)
    return accuracy(patient.model, patient)


def static(patient: Patient, bits: int = 8, **options: object) -> nn.Sequential:
    return quantize_static(patient.model, patient.calibration(), bits, **options)  # type: ignore


# --- treatments ---------------------------------------------------------------------------------


@each_patient
@each_seed
def test_patients_are_well(name: str, seed: int) -> None:
    assert health(name, seed) >= 0.95


@each_patient
@each_seed
def test_eight_bits_cost_at_most_a_point(name: str, seed: int) -> None:
    patient = PATIENTS[name](seed)
    for treated in (quantize_dynamic(patient.model), quantize_weights(patient.model)):
        assert accuracy(treated, patient) >= health(name, seed) - 0.01
    if name == "separable":
        for observer in ("percentile", "min-max"):
            assert accuracy(static(patient, observer=observer), patient) >= (
                health(name, seed) - 0.01
            )


@each_patient
def test_half_precision_costs_next_to_nothing(name: str) -> None:
    patient = PATIENTS[name](0)
    for dtype in (torch.bfloat16, torch.float16):
        assert agreement(in_dtype(patient.model, dtype), patient.model, patient) >= 0.99


@each_patient
def test_files_are_a_quarter_as_large(name: str, tmp_path: Path) -> None:
    patient = PATIENTS[name](0)
    # The batch norms are folded first, which makes the file in floats smaller, and the test harder.
    whole = save(fold(patient.model), tmp_path / "floats")
    treated = static(patient) if name == "separable" else quantize_dynamic(patient.model)
    assert save(treated, tmp_path / "codes") <= 0.27 * whole
    assert save(quantize_weights(patient.model, bits=4), tmp_path / "four") <= 0.15 * whole


@pytest.mark.thorough
@each_seed
def test_training_wins_back_what_four_bits_lose(seed: int) -> None:
    patient, before = separable(seed), health("separable", seed)
    trained = accuracy(convert(train_rounded(patient, bits=4)), patient)
    lost = before - accuracy(static(patient, bits=4, observer="min-max"), patient)
    assert lost >= 0.08  # seen: 0.117 and more
    assert trained >= before - 0.2 * lost  # seen: 0.92 of it won back, and more
    # Ranges that cut the largest values off lose less, and training wins back most of that too.
    lost = before - accuracy(static(patient, bits=4), patient)
    assert lost >= 0.02
    assert trained >= before - 0.5 * lost
    assert health("separable", seed) == accuracy(patient.model, patient)


def test_rounded_training_of_weights_alone() -> None:
    patient = separable(0)
    prepared = train_rounded(patient, bits=3, activation_bits=8, epochs=2)
    assert not prepared.training
    after_training = accuracy(static(patient, bits=3, activation_bits=8), patient)
    assert accuracy(convert(prepared), patient) > after_training


# --- what upsets ranges -------------------------------------------------------------------------


@each_seed
def test_one_wild_picture_spoils_ranges(seed: int) -> None:
    patient = separable(seed)
    upset = wild_picture(patient.calibration(512))
    spoilt = quantize_static(patient.model, upset, observer="min-max")
    assert accuracy(spoilt, patient) <= health("separable", seed) - 0.1
    mended = quantize_static(patient.model, upset, observer=lambda bits: Percentile(99.7, bits))
    assert accuracy(mended, patient) >= health("separable", seed) - 0.03


def test_a_wild_picture_is_one_of_all() -> None:
    calm = [torch.rand(4, 64), torch.rand(4, 64)]
    kept = [batch.clone() for batch in calm]
    wild = wild_picture(calm, 10)
    assert torch.equal(wild[0][0], 10 * kept[0][0])
    assert torch.equal(wild[0][1:], kept[0][1:]) and torch.equal(wild[1], kept[1])
    assert all(torch.equal(a, b) for a, b in zip(calm, kept, strict=True))


@each_seed
def test_wild_channels_need_a_scale_of_their_own(seed: int) -> None:
    patient = separable(seed)
    wild = wild_channel(patient.model, 32)
    close(wild(patient.test_x), patient.model(patient.test_x))
    lost = {
        per_channel: health("separable", seed)
        - accuracy(quantize_weights(wild, per_channel=per_channel), patient)
        for per_channel in (True, False)
    }
    assert abs(lost[True]) <= 0.01 and lost[False] >= 0.05


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Linear(8, 18), nn.Unflatten(1, (2, 3, 3)), nn.Conv2d(2, 4, 3)],
        [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, affine=False), nn.ReLU(), nn.Conv2d(4, 2, 1)],
        [nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Linear(6, 5)],
    ],
    ids=["unflatten", "no factors", "no flatten"],
)
def test_layers_that_do_not_meet_channel_by_channel_get_no_wild_one(
    layers: list[nn.Module],
) -> None:
    with pytest.raises(TypeError, match="needs an"):
        wild_channel(nn.Sequential(*layers), 32)


def close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4, bias=False), nn.Linear(4, 2)),
        nn.Sequential(
            nn.Unflatten(1, (1, 2, 3)),
            nn.Conv2d(1, 4, 2, padding=1),
            nn.BatchNorm2d(4, affine=True),
            nn.ReLU(),
            nn.MaxPool2d(2, 1),
            nn.Conv2d(4, 8, 1, groups=2),
            nn.AvgPool2d(2, 1),
            nn.Flatten(),
            nn.Linear(16, 3),
        ),
    ],
)
def test_a_wild_channel_changes_no_output(model: nn.Sequential) -> None:
    torch.manual_seed(0)
    x = torch.randn(20, 6)
    model.train()(x)  # batch norms that have lived
    wild = wild_channel(model.eval(), 100)
    close(wild(x), model(x))
    pairs = [
        (a.weight, b.weight)
        for a, b in zip(model, wild, strict=True)
        if isinstance(a, nn.Linear | nn.Conv2d)
    ]
    assert any(not torch.equal(a, b) for a, b in pairs)
    first = fold(wild)[0 if isinstance(wild[0], nn.Linear) else 1].weight
    ends = first.flatten(1).abs().amax(1).sort().values
    assert ends[-1] > 50 * ends[-2]


def test_where_no_channel_can_be_wild() -> None:
    with pytest.raises(TypeError, match="nothing but a batch norm"):
        wild_channel(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)), 2)
    with pytest.raises(TypeError, match="needs an nn"):
        wild_channel(nn.LSTM(2, 2), 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="above 0"):
        wild_channel(separable(0).model, -1)


# --- patients -----------------------------------------------------------------------------------


def test_a_patient_is_trained_once_and_each_copy_is_one_s_own() -> None:
    first, second = separable(0), separable(0)
    assert first.model is not second.model and first.test_x is second.test_x
    with torch.no_grad():
        first.model[1].weight.zero_()  # type: ignore[index]
    assert accuracy(separable(0).model, second) == health("separable", 0)
    assert len(first.test_x) == 719 and len(first.train_x) == 1078
    assert sum(len(batch) for batch in first.calibration(100, 30)) == 100


@pytest.mark.thorough
def test_training_leaves_torch_s_generator_alone() -> None:
    state = torch.get_rng_state()
    patients._trained_separable.__wrapped__(0)  # not the one that is kept
    train_rounded(separable(0), epochs=2)
    assert torch.equal(torch.get_rng_state(), state)


def test_accuracy_is_measured_in_eval_mode_and_leaves_no_trace() -> None:
    patient = separable(0)
    patient.model.train()
    part: nn.Module = patient.model[5]  # type: ignore[index]
    part.eval()
    assert accuracy(patient.model, patient) == health("separable", 0)
    assert patient.model.training and not part.training
    assert agreement(patient.model, patient.model, patient) == 1
    assert accuracy(lambda x: torch.eye(10)[patient.test_y], patient) == 1
