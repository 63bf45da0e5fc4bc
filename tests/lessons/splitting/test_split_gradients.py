"""Gradients that a split adds to what is there, and those of its inputs, as the whole model's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

import helpers
from helpers.lessons.splitting.algorithms.halo_split import HaloSplit
from helpers.lessons.splitting.algorithms.model_split import LayerSplit
from helpers.lessons.splitting.algorithms.partly_connected import PartlyConnected, UnitSplit, band
from helpers.lessons.splitting.algorithms.vertical_split import VerticalSplit
from helpers.lessons.splitting.algorithms.wave import Wave
from helpers.lessons.splitting.experiments.recurrent import recurrent_layers

SIZES = [1, 2, 3, 5]
ROWS, WIDTH, TIME = 6, 7, 4


def random(step: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(step), dtype=torch.float64)


def tied() -> nn.Sequential:
    """Five layers of which the first and the last share a weight."""
    torch.manual_seed(0)
    layers = [nn.Linear(WIDTH, WIDTH, dtype=torch.float64) for _ in range(3)]
    layers[2].weight = layers[0].weight
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def recurrent() -> tuple[list[nn.Module], nn.Module]:
    """Three layers that share their weights, and a head."""
    torch.manual_seed(0)
    layers = recurrent_layers(3, WIDTH, WIDTH, tied=True, dtype=torch.float64, seed=None)
    return layers, nn.Linear(WIDTH, WIDTH, dtype=torch.float64)


def assert_equal(found: Tensor | None, wanted: Tensor | None) -> None:
    assert found is not None and wanted is not None
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)


# --- two steps with nothing cleared between them --------------------------------------------------


def by_layer_twice(comm: Any) -> dict[str, Tensor | None]:
    split = LayerSplit(comm, tied())
    for step in range(2):
        split.step(random(step, ROWS, WIDTH), random(step + 9, ROWS, WIDTH), mse_loss)
    return {name: parameter.grad for name, parameter in split.names.items()}


def wave_twice(comm: Any) -> dict[str, Tensor | None]:
    split = Wave(comm, *recurrent(), chunks=2)
    for step in range(2):
        split.step(random(step, TIME, ROWS, WIDTH), random(step + 9, TIME, ROWS, WIDTH), mse_loss)
    return {name: parameter.grad for name, parameter in split.names.items()}


@pytest.mark.parametrize("size", SIZES)
def test_a_second_backward_adds_to_shared_weights(engine: str, size: int) -> None:
    model = tied()
    for step in range(2):
        mse_loss(model(random(step, ROWS, WIDTH)), random(step + 9, ROWS, WIDTH)).backward()
    wanted = dict(model.named_parameters(remove_duplicate=False))
    for found in helpers.run(by_layer_twice, ranks=size, engine=engine):
        for name, gradient in found.items():
            assert_equal(gradient, wanted[name].grad)


@pytest.mark.parametrize("size", [1, 3])
def test_a_second_wave_adds_to_shared_weights(engine: str, size: int) -> None:
    layers, head = recurrent()
    for step in range(2):
        out = random(step, TIME, ROWS, WIDTH)
        for layer in layers:
            out, _ = layer(out)
        mse_loss(head(out), random(step + 9, TIME, ROWS, WIDTH)).backward()
    whole = nn.ModuleDict({"layers": nn.ModuleList(layers), "head": head})
    wanted = dict(whole.named_parameters(remove_duplicate=False))
    for found in helpers.run(wave_twice, ranks=size, engine=engine):
        for name, gradient in found.items():
            assert_equal(gradient, wanted[name].grad)


# --- the gradient of the inputs -------------------------------------------------------------------


def dense() -> nn.Sequential:
    """Widths that few numbers of ranks divide, one of them smaller than five ranks."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, 3), nn.Tanh(), nn.Linear(3, WIDTH)).double()


def partly() -> nn.Sequential:
    torch.manual_seed(0)
    layers = [PartlyConnected(band(WIDTH, WIDTH, 1), torch.float64) for _ in range(2)]
    return nn.Sequential(layers[0], nn.Tanh(), layers[1])


def convolutional() -> nn.Sequential:
    torch.manual_seed(0)
    body = [nn.Conv2d(2, 3, 3, padding=1), nn.Tanh(), nn.Conv2d(3, 2, 3, padding=1)]
    return nn.Sequential(*body, nn.Flatten(), nn.Linear(2 * 11 * 5, 4)).double()


Split = Callable[[Any, nn.Sequential], nn.Module]
SPLITS: dict[str, tuple[Callable[[], nn.Sequential], Split, tuple[int, ...]]] = {
    "columns": (dense, lambda comm, model: VerticalSplit(comm, model, "columns"), (ROWS, WIDTH)),
    "rows": (dense, lambda comm, model: VerticalSplit(comm, model, "rows"), (ROWS, WIDTH)),
    "units": (partly, UnitSplit, (ROWS, WIDTH)),
    "pictures": (convolutional, HaloSplit, (3, 2, 11, 5)),
}


def below(shape: tuple[int, ...]) -> nn.Parameter:
    """What learns below the split: here the inputs themselves, the same on every rank."""
    return nn.Parameter(random(3, *shape))


def inputs_of(comm: Any) -> list[Tensor | None]:
    found = []
    for make, split, shape in SPLITS.values():
        inputs = below(shape)
        split(comm, make())(inputs).square().sum().backward()
        found.append(inputs.grad)
    return found


@pytest.mark.parametrize("size", SIZES)
def test_every_rank_has_the_whole_gradient_of_the_inputs(engine: str, size: int) -> None:
    results = helpers.run(inputs_of, ranks=size, engine=engine)
    for number, (make, _, shape) in enumerate(SPLITS.values()):
        inputs = below(shape)
        make()(inputs).square().sum().backward()
        for found in results:
            assert_equal(found[number], inputs.grad)
