"""A model cut by layer and through every layer, against the whole model without ranks."""

from __future__ import annotations

import pytest
import torch
from split_models import Record, assert_same, dense, gradients, optimizer_of
from torch import nn

import helpers
from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.lessons.splitting.algorithms.model_split import LayerSplit
from helpers.lessons.splitting.algorithms.vertical_split import VerticalSplit
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

SIZES = [1, 2, 3, 5]
ROWS = 7


def plain() -> nn.Sequential:
    """Widths that few numbers of ranks divide."""
    return nn.Sequential(
        nn.Linear(6, 11), nn.Tanh(), nn.Linear(11, 7), nn.Sigmoid(), nn.Linear(7, 3)
    ).double()


def tied_and_frozen() -> nn.Sequential:
    """The first, third and last layer share a weight; the second has a bias that is frozen."""
    model = nn.Sequential(
        nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6, bias=False)
    ).double()
    model[2].weight = model[0].weight
    model[4].weight = model[0].weight
    model[2].bias.requires_grad_(False)
    return model


def all_frozen_below() -> nn.Sequential:
    """Only the last layer learns."""
    model = plain()
    for parameter in model[:4].parameters():
        parameter.requires_grad_(False)
    return model


MODELS = {"plain": (plain, 3), "tied": (tied_and_frozen, 6), "frozen": (all_frozen_below, 3)}


def batch(step: int, outputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    return (
        torch.randn(ROWS, 6, generator=generator, dtype=torch.float64),
        torch.randn(ROWS, outputs, generator=generator, dtype=torch.float64),
    )


def wanted(name: str, kind: str) -> Record:
    make, outputs = MODELS[name]
    torch.manual_seed(0)
    return dense(make(), lambda step: batch(step, outputs), nn.functional.mse_loss, kind)


# --- by layer -------------------------------------------------------------------------------------


def by_layer(comm, name, kind, bounds=None):
    """Five steps of a split by layer, each rank with other random weights."""
    make, outputs = MODELS[name]
    torch.manual_seed(comm.rank)
    split = LayerSplit(comm, make(), bounds)
    optimizer, record = optimizer_of(split.parameters(), kind), []
    for step in range(5):
        inputs, targets = batch(step, outputs)
        split.zero_grad()
        value = split.step(inputs, targets, nn.functional.mse_loss)
        record.append((value, gradients(split.names.items())))
        optimizer.step()
    return record


def each_model(comm, fn, *args):
    """`fn` for every model, in one run."""
    return {name: fn(comm, name, *args) for name in MODELS}


@pytest.mark.parametrize("size", SIZES)
def test_by_layer_equals_the_whole_model(engine, size):
    results = helpers.run(each_model, by_layer, "sgd", ranks=size, engine=engine)
    for name in MODELS:
        right, found = wanted(name, "sgd"), [result[name] for result in results]
        for record in found:
            assert_same(record, right)
        # Together the ranks have every gradient that the whole model has.
        assert {n for record in found for n in record[0][1]} == set(right[0][1])


def test_by_layer_uneven_and_with_adam(engine):
    # A rank with one layer, one with none, one with the rest.
    bounds = [(0, 1), (1, 1), (1, 5)]
    for result in helpers.run(each_model, by_layer, "adam", bounds, ranks=3, engine=engine):
        for name, record in result.items():
            assert_same(record, wanted(name, "adam"))


def tied_transformer(comm):
    torch.manual_seed(comm.rank)
    model = transformer(width=8, heads=2, blocks=2, tied=True, dtype=torch.float64, seed=None)
    split = LayerSplit(comm, model)
    optimizer, record = optimizer_of(split.parameters(), "adam"), []
    for step in range(5):
        split.zero_grad()
        value = split.step(*text(3, 16, 64, step), token_loss)
        record.append((value, gradients(split.names.items())))
        optimizer.step()
    return record


@pytest.mark.parametrize("size", [2, 6])
def test_embedding_and_head_that_share_a_weight(engine, size):
    torch.manual_seed(0)
    model = transformer(width=8, heads=2, blocks=2, tied=True, dtype=torch.float64, seed=None)
    right = dense(model, lambda step: text(3, 16, 64, step), token_loss, "adam")
    # The tied weight lies on the first and on the last rank; on 6 ranks some pass tokens on.
    for record in helpers.run(tied_transformer, ranks=size, engine=engine):
        assert_same(record, right)


# --- through every layer --------------------------------------------------------------------------


def vertical(comm, name, how, kind):
    """Five steps of a vertical split; the gradients of this rank's slices, by name."""
    make, outputs = MODELS[name]
    torch.manual_seed(comm.rank)
    split = VerticalSplit(comm, make(), how)
    optimizer, record = optimizer_of(split.parameters(), kind), []
    for step in range(5):
        inputs, targets = batch(step, outputs)
        optimizer.zero_grad()
        value = nn.functional.mse_loss(split(inputs), targets)
        value.backward()
        named = split.layers.named_parameters(remove_duplicate=False)
        record.append((value.item(), gradients(named)))
        optimizer.step()
    return record


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("how", ["columns", "rows"])
def test_a_vertical_split_equals_the_whole_model(engine, how, size):
    kind = "adam" if how == "rows" else "sgd"
    results = helpers.run(each_model, vertical, how, kind, ranks=size, engine=engine)
    for name in MODELS:
        right = wanted(name, kind)
        for rank, result in enumerate(results):

            def mine(parameter, gradient, rank=rank):
                along = 1 if how == "rows" and parameter.endswith("weight") else 0
                start, stop = chunk_bounds(gradient.shape[along], size)[rank]
                return gradient.narrow(along, start, stop - start)

            assert result[name][0][1].keys() == right[0][1].keys()
            assert_same(result[name], right, mine)


def built(comm, how, used):
    """Three layers of 8 units, cut; and used, forward and backward."""
    layers = [nn.Linear(8, 8, dtype=torch.float64) for _ in range(3)]
    split = VerticalSplit(comm, nn.Sequential(*layers), how)
    if used:
        split(torch.ones(ROWS, 8, dtype=torch.float64)).sum().backward()


@pytest.mark.parametrize("how", ["columns", "rows"])
def test_a_vertical_split_sends_every_activation(engine, how):
    sent = [
        helpers.run(built, how, used, ranks=2, engine=engine).stats.bytes[1]
        for used in (True, False)
    ]
    # Half of 8 units a row: between the layers (by rows: after each) and at the end; backward as
    # well, but for the end, where each rank has the loss's gradient already.
    gathered = {"columns": 2 + 1 + 2, "rows": 3 + 1 + 3}[how]
    assert sent[0] - sent[1] == gathered * ROWS * 4 * 8


def test_what_cannot_be_cut_is_told():
    def job(comm, how, *layers):
        VerticalSplit(comm, nn.Sequential(*layers), how)

    with pytest.raises(RuntimeError, match="Layer 1 is a LayerNorm"):
        helpers.run(job, "rows", nn.Linear(2, 2), nn.LayerNorm(2), ranks=2, engine="virtual")
    with pytest.raises(RuntimeError, match='"columns" or "rows"'):
        helpers.run(job, "diagonal", nn.Linear(2, 2), ranks=2, engine="virtual")
    with pytest.raises(RuntimeError, match="no Linear layer"):
        helpers.run(job, "rows", nn.Tanh(), ranks=2, engine="virtual")
