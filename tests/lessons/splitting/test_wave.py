"""The wave of a deep recurrent network against the whole network without ranks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from split_models import assert_same, dense, gradients, optimizer_of
from torch import nn

import helpers
from helpers.lessons.splitting.algorithms.wave import Wave, diagonal, wave_speedup
from helpers.lessons.splitting.experiments.recurrent import DeepRecurrent, recurrent_layers

SIZES = [1, 2, 3, 5]
TIME, ROWS, WIDTH = 11, 3, 5


def network(name: str) -> tuple[list[nn.Module], nn.Module]:
    """Layers and head, from torch's own random state."""
    kind = name if name in ("rnn", "gru", "lstm") else "rnn"
    tied = name == "tied"
    layers = recurrent_layers(
        4, WIDTH, WIDTH if tied else 6, kind, tied=tied, dtype=torch.float64, seed=None
    )
    head = nn.Linear(WIDTH if tied else 6, 2, dtype=torch.float64)
    if name == "frozen":
        layers[0].requires_grad_(False)
        layers[2].weight_hh_l0.requires_grad_(False)
        head.bias.requires_grad_(False)
    return layers, head


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    return (
        torch.randn(TIME, ROWS, WIDTH, generator=generator, dtype=torch.float64),
        torch.randn(TIME, ROWS, 2, generator=generator, dtype=torch.float64),
    )


def wave(comm, name, kind, chunks, bounds=None):
    """Five steps, each rank with other random weights."""
    torch.manual_seed(comm.rank)
    layers, head = network(name)
    split = Wave(comm, layers, head, chunks=chunks, bounds=bounds)
    optimizer, record = optimizer_of(split.parameters(), kind), []
    for step in range(5):
        inputs, targets = batch(step)
        split.zero_grad()
        value = split.step(inputs, targets, nn.functional.mse_loss)
        record.append((value, gradients(split.names.items())))
        optimizer.step()
    return record


def wanted(name: str, kind: str):
    torch.manual_seed(0)
    layers, head = network(name)
    return dense(DeepRecurrent(layers, head), batch, nn.functional.mse_loss, kind)


NAMES = ("rnn", "lstm", "tied", "frozen")


def each_network(comm, names, *args):
    """The wave of every network, in one run."""
    return {name: wave(comm, name, *args) for name in names}


@pytest.mark.parametrize("size", SIZES)
def test_the_wave_equals_the_whole_network(engine, size):
    results = helpers.run(each_network, NAMES, "sgd", 4, ranks=size, engine=engine)
    for name in NAMES:
        right, found = wanted(name, "sgd"), [result[name] for result in results]
        for record in found:
            assert_same(record, right)
        # Together the ranks have every gradient that the whole network has.
        assert {n for record in found for n in record[0][1]} == set(right[0][1])


@pytest.mark.parametrize("chunks", [1, 3])
def test_any_number_of_chunks_and_an_uneven_cut(engine, chunks):
    bounds = [(0, 1), (1, 1), (1, 4)]
    names = ("gru", "tied")
    for result in helpers.run(each_network, names, "adam", chunks, bounds, ranks=3, engine=engine):
        for name, record in result.items():
            assert_same(record, wanted(name, "adam"))


@pytest.mark.parametrize(("ranks", "chunks"), [(1, 3), (2, 8), (4, 12)])
def test_the_clock_shows_m_plus_p_minus_1_turns(ranks, chunks):
    def job(comm):
        layers = recurrent_layers(4, 2, 2, dtype=torch.float64)
        seconds = lambda kind, layers, steps: layers * steps * (1 + (kind == "backward"))  # noqa: E731
        split = Wave(comm, layers, chunks=chunks, seconds=seconds)
        comm.barrier()
        start = comm.time()
        inputs = torch.ones(24, 1, 2, dtype=torch.float64)
        split.step(inputs, inputs, nn.functional.mse_loss)
        return comm.time() - start

    took = helpers.run(job, ranks=ranks, engine="virtual", latency=0.0, bandwidth=float("inf"))
    alone = 4 * 24 * 3.0
    assert max(took) == pytest.approx(alone / wave_speedup(ranks, chunks), rel=1e-12)


@given(layers=st.integers(1, 9), steps=st.integers(1, 9))
def test_every_cell_of_a_diagonal_has_its_inputs(layers, steps):
    done: set[tuple[int, int]] = set()
    for tick in diagonal(layers, steps):
        for layer, step in tick:
            assert layer == 0 or (layer - 1, step) in done
            assert step == 0 or (layer, step - 1) in done
        done |= set(tick)
    assert len(done) == layers * steps


def test_misuse_is_told():
    with pytest.raises(RuntimeError, match="11 time steps make no 12 chunks"):
        helpers.run(wave, "rnn", "sgd", 12, ranks=2, engine="virtual")
    with pytest.raises(RuntimeError, match="give at least one"):
        helpers.run(wave, "rnn", "sgd", 0, ranks=2, engine="virtual")
    with pytest.raises(ValueError, match="no network"):
        diagonal(0, 3)
    with pytest.raises(ValueError, match="no wave"):
        wave_speedup(2, 0)
