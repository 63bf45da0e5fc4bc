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
from helpers.lessons.splitting.algorithms.model_split import LayerSplit
from helpers.lessons.splitting.algorithms.wave import Wave

ROWS, WIDTH = 12, 4
X = torch.randn(ROWS, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
Y = torch.randn(ROWS, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(2))

Named = dict[str, Tensor]


def linear() -> nn.Linear:
    return nn.Linear(WIDTH, WIDTH, dtype=torch.float64)


def model_of(kind: str) -> nn.Sequential:
    torch.manual_seed(0)
    if kind == "an activation that comes twice":
        act = nn.Tanh()
        return nn.Sequential(linear(), act, linear(), act, linear())
    if kind == "a layer that comes twice":
        layer = linear()
        return nn.Sequential(layer, nn.Tanh(), linear(), nn.Tanh(), layer)
    if kind == "in place":
        return nn.Sequential(
            nn.LeakyReLU(0.5, inplace=True), linear(), nn.ELU(inplace=True), linear()
        )
    names = ("first", "act", "second", "last")
    layers = (linear(), nn.Tanh(), linear(), linear())
    return nn.Sequential(OrderedDict(zip(names, layers, strict=True)))


KINDS = ("an activation that comes twice", "a layer that comes twice", "in place", "names")


def gradients(model: nn.Module) -> Named:
    named = model.named_parameters(remove_duplicate=False)
    return {name: p.grad for name, p in named if p.grad is not None}


def dense(kind: str) -> tuple[float, Named]:
    model = model_of(kind)
    loss = mse_loss(model(X.clone()), Y)
    loss.backward()
    return loss.item(), gradients(model)


def same(found: Named, wanted: Named) -> None:
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, wanted[name], rtol=1e-10, atol=1e-10)


def in_stages(comm: Any, kind: str, schedule: Any, recompute: bool) -> tuple[float | None, Named]:
    stages = cut(model_of(kind), comm.size)
    pipeline = Pipeline(comm, stages, schedule, mse_loss, recompute=recompute)
    loss = pipeline.step(microbatches(X.clone(), 4), microbatches(Y, 4))
    return loss, gradients(pipeline.chunks[0])


@pytest.mark.parametrize(
    ("kind", "size", "schedule", "recompute"),
    [
        (KINDS[0], 2, gpipe, True),
        (KINDS[1], 3, one_forward_one_backward, True),
        (KINDS[2], 2, one_forward_one_backward, False),
        (KINDS[2], 1, gpipe, True),
        (KINDS[3], 4, gpipe, False),
    ],
)
def test_a_pipeline_is_the_model(size: int, kind: str, schedule: Any, recompute: bool) -> None:
    wanted, whole = dense(kind)
    found = helpers.run(in_stages, kind, schedule, recompute, ranks=size, engine="virtual")
    assert found[-1][0] == pytest.approx(wanted, rel=1e-10)
    assert {name for _, mine in found for name in mine} == set(whole)
    for _, mine in found:
        same(mine, whole)


def by_layer(comm: Any, kind: str) -> tuple[float, Named]:
    split = LayerSplit(comm, model_of(kind))
    loss = split.step(X.clone(), Y, mse_loss)
    return loss, {name: p.grad for name, p in split.names.items() if p.grad is not None}


@pytest.mark.parametrize(("kind", "size"), [*zip(KINDS, (2, 3, 5, 1), strict=True)])
def test_layers_on_ranks_are_the_model(size: int, kind: str) -> None:
    wanted, whole = dense(kind)
    found = helpers.run(by_layer, kind, ranks=size, engine="virtual")
    assert {name for _, mine in found for name in mine} == set(whole)
    for loss, mine in found:
        assert loss == pytest.approx(wanted, rel=1e-10)
        same(mine, whole)


# --- what is refused, and what is counted ---------------------------------------------------------


def padding_token(comm: Any) -> None:
    VocabularyEmbedding(nn.Embedding(7, 2, padding_idx=0), comm)


def both_ways(comm: Any) -> None:
    Wave(comm, [nn.GRU(2, 2, bidirectional=True)])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (padding_token, "has no padding_idx"),
        (both_ways, "goes through time once"),
    ],
)
def test_what_no_split_can_carry_out_is_told(wrong: Any, says: str) -> None:
    with pytest.raises(RunError, match=says):
        helpers.run(wrong, ranks=2, engine="virtual")
