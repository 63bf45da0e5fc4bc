"""Models at the edge of what a split takes: layers that come twice, write in place, have names."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

import helpers
from helpers.engine.errors import RunError
from helpers.lessons.pipelines.algorithms.pipeline import Pipeline, cut, microbatches
from helpers.lessons.pipelines.algorithms.schedules import gpipe, one_forward_one_backward
from helpers.lessons.sharding.algorithms.vocabulary_parallel import VocabularyEmbedding
from helpers.lessons.splitting.algorithms.halo_split import HaloSplit
from helpers.lessons.splitting.algorithms.model_split import LayerSplit
from helpers.lessons.splitting.algorithms.partly_connected import PartlyConnected, UnitSplit
from helpers.lessons.splitting.algorithms.wave import Wave

ROWS, WIDTH = 12, 4
X, Y = torch.randn(
    2, ROWS, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
)  # fmt: skip
PICTURES = torch.randn(3, 2, 7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
Named = dict[str, Tensor]


def linear() -> nn.Linear:
    return nn.Linear(WIDTH, WIDTH, dtype=torch.float64)


def model_of(kind: str) -> nn.Sequential:
    torch.manual_seed(0)
    act, layer = nn.Tanh(), linear()
    if kind == "an activation that comes twice":
        return nn.Sequential(linear(), act, linear(), act, linear())
    if kind == "a layer that comes twice":
        return nn.Sequential(layer, act, linear(), nn.Tanh(), layer)
    if kind == "in place":
        elu = nn.ELU(inplace=True)
        return nn.Sequential(nn.LeakyReLU(0.5, inplace=True), linear(), elu, linear())
    names = ("first", "act", "second", "last")
    return nn.Sequential(OrderedDict(zip(names, (layer, act, linear(), linear()), strict=True)))


TWICE, AGAIN, IN_PLACE, NAMES = (
    "an activation that comes twice", "a layer that comes twice", "in place", "names",
)  # fmt: skip


def gradients(model: nn.Module) -> Named:
    named = model.named_parameters(remove_duplicate=False)
    return {name: p.grad for name, p in named if p.grad is not None}


def in_stages(comm: Any, kind: str, schedule: Any, recompute: bool) -> tuple[float | None, Named]:
    stages = cut(model_of(kind), comm.size)
    pipeline = Pipeline(comm, stages, schedule, mse_loss, recompute=recompute)
    loss = pipeline.step(microbatches(X.clone(), 4), microbatches(Y, 4))
    return loss, gradients(pipeline.chunks[0])


def by_layer(comm: Any, kind: str) -> tuple[float, Named]:
    split = LayerSplit(comm, model_of(kind))
    loss = split.step(X.clone(), Y, mse_loss)
    return loss, {name: p.grad for name, p in split.names.items() if p.grad is not None}


@pytest.mark.parametrize(
    ("job", "size"),
    [
        ((in_stages, TWICE, gpipe, True), 2),
        ((in_stages, AGAIN, one_forward_one_backward, True), 3),
        ((in_stages, IN_PLACE, one_forward_one_backward, False), 2),
        ((in_stages, IN_PLACE, gpipe, True), 1),
        ((in_stages, NAMES, gpipe, False), 4),
        *(((by_layer, kind), size) for kind, size in ((AGAIN, 3), (IN_PLACE, 5), (NAMES, 2))),
    ],
)
def test_a_split_is_the_model(job: Any, size: int) -> None:
    model = model_of(job[1])
    loss = mse_loss(model(X.clone()), Y)
    loss.backward()
    whole, found = gradients(model), helpers.run(*job, ranks=size, engine="virtual")
    assert found[-1][0] == pytest.approx(loss.item(), rel=1e-10)
    assert {name for _, mine in found for name in mine} == set(whole)
    for _, mine in found:
        for name, gradient in mine.items():
            torch.testing.assert_close(gradient, whole[name], rtol=1e-10, atol=1e-10)


def tied_convolutions() -> nn.Sequential:
    torch.manual_seed(0)
    shared, own = (nn.Conv2d(2, 2, 3, padding=1, dtype=torch.float64) for _ in range(2))
    return nn.Sequential(shared, nn.ReLU(), own, nn.MaxPool2d(2), shared, nn.Flatten())


def halo(comm: Any) -> Named:
    model = tied_convolutions()
    split = HaloSplit(comm, model)
    split(PICTURES).square().mean().backward()
    split.finish()
    return gradients(model)


@pytest.mark.parametrize("size", [1, 3])
def test_a_filter_in_body_and_head_gets_the_whole_gradient_once(size: int) -> None:
    model = tied_convolutions()
    model(PICTURES).square().mean().backward()
    for found in helpers.run(halo, ranks=size, engine="virtual"):
        for name, gradient in gradients(model).items():
            torch.testing.assert_close(found[name], gradient, rtol=1e-10, atol=1e-10)


def test_one_rank_lends_nothing() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 1, 5, padding=2, dtype=torch.float64))
    flat = PICTURES[:, :, :1]
    (found,) = helpers.run(lambda comm: HaloSplit(comm, model)(flat), ranks=1, engine="virtual")
    torch.testing.assert_close(found, model(flat))


PARTLY = nn.Sequential(PartlyConnected(torch.ones(3, 3)))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda comm: UnitSplit(comm, PARTLY, [[0, 1, 1], [0, 1, 2]]), "none of the ranks 0 to 1"),
        (lambda comm: UnitSplit(comm, nn.Sequential(nn.Tanh())), "no PartlyConnected layer"),
        (
            lambda comm: VocabularyEmbedding(nn.Embedding(7, 2, padding_idx=0), comm),
            "has no padding_idx",
        ),
        (lambda comm: Wave(comm, [nn.GRU(2, 2, bidirectional=True)]), "goes through time once"),
    ],
)
def test_what_no_split_can_carry_out_is_told(wrong: Any, says: str) -> None:
    with pytest.raises(RunError, match=says):
        helpers.run(wrong, ranks=2, engine="virtual")
