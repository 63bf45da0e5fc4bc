"""Batch norms folded away: the same outputs to twelve digits."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from helpers.lessons.quantization.algorithms.folding import fold


def lived_in(norm: nn.Module, seed: int = 0) -> nn.Module:
    """A batch norm whose numbers are those of a trained one: none is 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    for tensor in [*norm.parameters(), norm.running_mean, norm.running_var]:
        tensor.data.copy_(torch.rand(tensor.shape, generator=generator) * 3 + 0.1)
    return norm


@pytest.mark.parametrize(
    ("layer", "norm", "shape"),
    [
        (nn.Linear(5, 4), nn.BatchNorm1d(4), (7, 5)),
        (nn.Conv1d(2, 4, 3, bias=False), nn.BatchNorm1d(4, affine=False), (3, 2, 6)),
        (nn.Conv2d(4, 4, 3, 2, 1, groups=4), nn.BatchNorm2d(4, eps=0.5), (3, 4, 5, 6)),
        (nn.Conv3d(1, 4, 2, bias=False), nn.BatchNorm3d(4), (2, 1, 3, 3, 3)),
    ],
)
def test_a_folded_model_gives_the_same(layer, norm, shape):
    model = nn.Sequential(layer, lived_in(norm), nn.ReLU()).double().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x = torch.randn(shape, dtype=torch.float64)
    folded = fold(model)
    torch.testing.assert_close(folded(x), model(x), rtol=1e-12, atol=1e-12)
    assert isinstance(folded[1], nn.Identity) and len(folded) == 3
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])  # the model itself is left as it was


@pytest.mark.parametrize("kind", ["norm first", "a layer between", "no statistics", "other shape"])
def test_what_cannot_be_folded_is_left(kind):
    norm = lived_in(nn.BatchNorm1d(4))
    made = {
        "norm first": [norm, nn.Linear(4, 4)],
        "a layer between": [nn.Linear(4, 4), nn.ReLU(), norm],
        "no statistics": [nn.Linear(4, 4), nn.BatchNorm1d(4, track_running_stats=False)],
        "other shape": [nn.Linear(4, 4), lived_in(nn.BatchNorm2d(4))],
    }[kind]
    model = nn.Sequential(*made).eval()
    shape = (3, 4, 2, 4) if kind == "other shape" else (3, 4)
    x = torch.randn(shape)
    assert torch.equal(fold(model)(x), model(x))
