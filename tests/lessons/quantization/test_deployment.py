"""Models in other libraries' hands: torchao's and LiteRT's say what ours say."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.quantized_model import (
    quantize_dynamic,
    quantize_static,
)
from helpers.lessons.quantization.experiments.litert_model import LiteRT, to_litert
from helpers.lessons.quantization.experiments.patients import agreement, separable
from helpers.lessons.quantization.experiments.torchao_model import torchao_dynamic
from tests.selection import everyday


@pytest.fixture
def litert(tensorflow):
    """LiteRT, for which TensorFlow's converter makes the files."""
    pytest.importorskip("ai_edge_litert")


def test_torchao_s_model_says_what_ours_says():
    pytest.importorskip("torchao")
    patient = separable()
    found = torchao_dynamic(patient.model)
    assert agreement(found, quantize_dynamic(patient.model), patient) >= 0.99
    assert any(type(p.data).__name__ == "Int8Tensor" for p in found.parameters())
    assert all(type(p.data) is Tensor for p in patient.model.parameters())


@pytest.mark.tensorflow
def test_litert_s_model_says_what_ours_says(litert):
    patient = separable()
    batches = patient.calibration()
    content = to_litert(patient.model, batches)
    theirs = LiteRT(content)
    ours = quantize_static(patient.model, batches, observer="min-max")  # as the converter does
    assert agreement(theirs, ours, patient) >= 0.99
    floats = sum(p.numel() * 4 for p in patient.model.parameters())
    assert len(content) <= 0.3 * floats
    x = patient.test_x
    assert theirs(x[:0]).shape == (0, 10)
    together = theirs(x[:7])
    assert together.dtype == torch.float32
    for row in range(7):
        assert torch.equal(theirs(x[row : row + 1])[0], together[row])


LAYERS = {
    "uneven": [nn.Conv2d(3, 4, (1, 3), stride=(1, 2), padding=(2, 1), bias=False)],
    "depthwise": [nn.Conv2d(3, 6, 3, groups=3, padding=1), nn.ReLU(), nn.Conv2d(6, 2, 1)],
    "flattened": [nn.AvgPool2d((3, 2)), nn.Flatten(), nn.Linear(36, 5, bias=False)],
    "unflattened": [
        nn.Flatten(), nn.Linear(216, 24), nn.Unflatten(1, (2, 3, 4)), nn.Conv2d(2, 1, 2),
    ],
    "a norm inside": [nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4)), nn.Dropout()],
}  # fmt: skip


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", everyday(list(LAYERS), 2))
def test_layers_are_built_again_as_they_were(kind, litert):
    model = nn.Sequential(*LAYERS[kind]).eval()
    x = torch.rand(12, 3, 9, 8, generator=torch.Generator().manual_seed(0))
    wanted = model(x).detach()
    found = LiteRT(to_litert(model, x.split(4)))(x)
    assert found.shape == wanted.shape
    step = float(wanted.max().clamp(min=0) - wanted.min().clamp(max=0)) / 255  # 0 has a code
    assert (found - wanted).abs().max() < 5 * step
    assert (found - wanted).abs().mean() < 1.5 * step
    with pytest.raises(TypeError, match="Tanh cannot go into a LiteRT file"):
        to_litert(nn.Sequential(nn.Linear(8, 2), nn.Tanh()), [torch.ones(2, 8)])
