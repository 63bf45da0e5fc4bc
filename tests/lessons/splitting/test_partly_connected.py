"""Partly connected and convolutional networks split between ranks, against the whole network."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from split_models import Record, assert_same, dense, gradients, optimizer_of
from torch import nn

import helpers
from helpers.lessons.splitting.algorithms import partly_connected as pc
from helpers.lessons.splitting.algorithms.halo_split import HaloSplit

SIZES = [1, 2, 3, 5]
WIDTHS = (9, 11, 11, 11, 4)
ROWS = 5


def masks(shuffled: bool = False) -> list[np.ndarray]:
    """Local connections, two units to each side; shuffled: the units numbered at random."""
    found = [pc.band(above, below, 2) for below, above in itertools.pairwise(WIDTHS)]
    if shuffled:
        random = np.random.default_rng(3)
        orders = [random.permutation(width) for width in WIDTHS]
        found = [m[np.ix_(orders[i + 1], orders[i])] for i, m in enumerate(found)]
    return found


def network(name: str) -> nn.Sequential:
    layers: list[nn.Module] = []
    for mask in masks(shuffled=name == "shuffled"):
        layers += [pc.PartlyConnected(mask, torch.float64), nn.Tanh()]
    model = nn.Sequential(*layers[:-1])
    if name == "tied":  # the second and the third layer share weights, not biases
        model[4].weight = model[2].weight
        model[0].bias.requires_grad_(False)
        model[6].weight.requires_grad_(False)
    return model


def owners_of(name: str, size: int) -> list[np.ndarray] | None:
    if name == "shuffled":
        return pc.spectral_owners(masks(shuffled=True), size)
    if name == "anyhow":  # every level in its own way, uneven, rank 0 with nothing at some
        random = np.random.default_rng(size)
        return [
            random.integers(min(size - 1, level % 2), size, w) for level, w in enumerate(WIDTHS)
        ]
    return None


NAMES = ("blocks", "shuffled", "anyhow", "tied")


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    return (
        torch.randn(ROWS, WIDTHS[0], generator=generator, dtype=torch.float64),
        torch.randn(ROWS, WIDTHS[-1], generator=generator, dtype=torch.float64),
    )


def by_units(comm, names):
    """Five steps of each network; gradients put back into the places of the whole model's."""
    found = {}
    for name in names:
        torch.manual_seed(comm.rank)
        whole = network(name)
        split = pc.UnitSplit(comm, whole, owners_of(name, comm.size))
        optimizer, record = optimizer_of(split.parameters(), "adam"), []
        for step in range(5):
            inputs, targets = batch(step)
            optimizer.zero_grad()
            value = nn.functional.mse_loss(split(inputs), targets)
            value.backward()
            named = split.layers.named_parameters(remove_duplicate=False)
            record.append((value.item(), gradients(named)))
            optimizer.step()
        places = {
            str(i): (layer.units, layer.needed)
            for i, layer in enumerate(split.layers)
            if isinstance(layer, pc.UnitSlice)
        }
        found[name] = record, places
    return found


def wanted(name: str) -> Record:
    torch.manual_seed(0)
    return dense(network(name), batch, nn.functional.mse_loss, "adam")


@pytest.mark.parametrize("size", SIZES)
def test_a_split_by_units_equals_the_whole_network(engine, size):
    results = helpers.run(by_units, NAMES, ranks=size, engine=engine)
    for name in NAMES:
        right = wanted(name)
        for result in results:
            record, places = result[name]

            def mine(parameter, gradient, places=places):
                units, needed = places[parameter.partition(".")[0]]
                part = gradient[units]
                return part[:, needed] if part.ndim == 2 else part

            assert record[0][1].keys() == right[0][1].keys()
            assert_same(record, right, mine)


def forward_alone(comm, name, used):
    split = pc.UnitSplit(comm, network(name), owners_of(name, comm.size))
    if used:
        split(batch(0)[0])


@pytest.mark.parametrize("name", ["shuffled", "anyhow"])
def test_what_is_sent_is_what_crosses(engine, name):
    size = 3
    sent = [
        sum(helpers.run(forward_alone, name, used, ranks=size, engine=engine).stats.bytes)
        for used in (True, False)
    ]
    owners = owners_of(name, size) or pc.block_owners(WIDTHS, size)
    crossing = sum(pc.crossings_by_layer(masks(shuffled=name == "shuffled"), owners))
    last = (size - 1) * WIDTHS[-1]  # and the outputs to every rank
    assert sent[0] - sent[1] == (crossing + last) * ROWS * 8


def test_crossings_of_connections():
    assert pc.crossings([(0, 0), (0, 1)], below=[0], above=[1, 1]) == 1
    assert pc.crossings([(0, 0), (0, 0), (1, 0), (1, 2)], [0, 1], [1, 1, 2]) == 2
    assert pc.crossings([], [0], [1]) == 0
    for pair in ((1, 0), (0, 2), (-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="no connection from unit"):
            pc.crossings([pair], [0], [1, 1])


@settings(max_examples=6, deadline=None)
@given(ranks=st.integers(2, 4), seed=st.integers(0, 99))
def test_the_spectral_split_crosses_less_than_chance_and_is_balanced(ranks, seed):
    random = np.random.default_rng(seed)
    orders = [random.permutation(24) for _ in range(4)]
    local = [pc.band(24, 24, 1)[np.ix_(orders[i + 1], orders[i])] for i in range(3)]
    owners = pc.spectral_owners(local, ranks)
    by_number = pc.block_owners([24] * 4, ranks)
    assert all(
        (np.bincount(o) == np.bincount(b)).all() for o, b in zip(owners, by_number, strict=True)
    )
    # As few as if the units had never been shuffled: two values a border and layer.
    assert sum(pc.crossings_by_layer(local, owners)) == 3 * 2 * (ranks - 1)
    assert sum(pc.crossings_by_layer(local, owners)) < sum(pc.crossings_by_layer(local, by_number))


# --- convolutions ---------------------------------------------------------------------------------


def convolutional(name: str) -> nn.Sequential:
    """Convolutions of 3 and 5 rows, the inner two alike; tied: these two share weights."""
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(4, 4, (5, 3), padding=(2, 1)),
        nn.Tanh(),
        nn.Conv2d(4, 4, (5, 3), padding=(2, 1), groups=1),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(4 * 13 * 6, 3),
    ).double()
    if name == "tied":
        model[4].weight, model[4].bias = model[2].weight, model[2].bias
        model[0].bias.requires_grad_(False)
        model[7].weight.requires_grad_(False)
    return model


def pictures(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(3, 2, 13, 6, generator=generator, dtype=torch.float64)
    return x, torch.randint(3, (3,), generator=generator)


def by_rows(comm):
    found = {}
    for name in ("plain", "tied"):
        torch.manual_seed(comm.rank)
        model = convolutional(name)
        split = HaloSplit(comm, model)
        optimizer, record = optimizer_of(split.parameters(), "sgd"), []
        for step in range(5):
            inputs, targets = pictures(step)
            optimizer.zero_grad()
            value = nn.functional.cross_entropy(split(inputs), targets)
            value.backward()
            split.finish()
            named = model.named_parameters(remove_duplicate=False)
            record.append((value.item(), gradients(named)))
            optimizer.step()
        found[name] = record
    return found


@pytest.mark.parametrize("size", SIZES)
def test_a_split_by_rows_equals_the_whole_network(engine, size):
    results = helpers.run(by_rows, ranks=size, engine=engine)
    for name in ("plain", "tied"):
        torch.manual_seed(0)
        right = dense(convolutional(name), pictures, nn.functional.cross_entropy)
        for result in results:
            assert result[name][0][1].keys() == right[0][1].keys()
            assert_same(result[name], right)


def test_what_has_no_halo_is_told():
    def job(comm, layer, rows=13):
        HaloSplit(comm, nn.Sequential(layer))(torch.ones(1, 1, rows, 6))

    for layer in (nn.Conv2d(1, 1, 3), nn.Conv2d(1, 1, 3, padding=1, stride=2)):
        with pytest.raises(RuntimeError, match="does not keep its rows"):
            helpers.run(job, layer, ranks=2, engine="virtual")
    circular = nn.Conv2d(1, 1, 3, padding=1, padding_mode="circular")
    with pytest.raises(RuntimeError, match="pads with circular"):
        helpers.run(job, circular, ranks=2, engine="virtual")
    with pytest.raises(RuntimeError, match="1 rows and has to lend 2: take fewer ranks"):
        helpers.run(job, nn.Conv2d(1, 1, 5, padding=2), 3, ranks=3, engine="virtual")
    with pytest.raises(RuntimeError, match="Layer 0 is a Linear"):
        helpers.run(
            lambda comm: pc.UnitSplit(comm, nn.Sequential(nn.Linear(2, 2))),
            ranks=1,
            engine="virtual",
        )
