"""What a split is said to cost, against the clock that counts it; what can run at once."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import helpers
from helpers.lessons.data_parallel.experiments.models import mlp
from helpers.lessons.splitting.algorithms.model_split import LayerSplit
from helpers.lessons.splitting.algorithms.split_cost import (
    Rates,
    by_layer_work,
    dense_work,
    recurrent_work,
)
from helpers.lessons.splitting.algorithms.vertical_split import VerticalSplit
from helpers.lessons.splitting.algorithms.wave import Wave, diagonal
from helpers.lessons.splitting.experiments.recurrent import recurrent_layers

ALPHA, BETA = 1e-3, 1e-6
CLOCK = {"latency": ALPHA, "bandwidth": 1 / BETA}


def from_the_start(comm, step):
    """Seconds of `step()`, from all ranks together to the last one's end."""
    comm.barrier()
    start = comm.time()
    step()
    return comm.time() - start


def test_one_rank_sends_nothing():
    rates = Rates(1e9, 1.0, 1.0)
    for work in (dense_work(4, [3, 5, 2]), recurrent_work(2, 4, 3, 5), by_layer_work(4, [3, 5, 2])):
        assert (work.messages, work.nbytes) == (0, 0)
        assert work.seconds(rates) == work.computing(rates)
    # Forward, the weights' gradients, and the inputs' but for those of the first layer.
    assert dense_work(4, [3, 5, 2]).flops == 2 * 4 * (2 * 3 * 5 + 3 * 5 * 2)


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_vertical_split_takes_what_was_counted(ranks):
    widths, rows = [8, 16, 16, 8], 4

    def job(comm):
        split = VerticalSplit(comm, mlp(widths))
        x = torch.ones(rows, 8)
        return from_the_start(comm, lambda: split(x).sum().backward())

    took = helpers.run(job, ranks=ranks, engine="virtual", **CLOCK)
    work = dense_work(rows, widths, ranks)
    assert max(took) == pytest.approx(work.seconds(Rates(1e99, ALPHA, BETA)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("ranks", "chunks"), [(1, 4), (2, 8), (4, 8)])
def test_a_wave_takes_what_was_counted(ranks, chunks):
    width, rows, layers, steps = 4, 2, 4, 16
    rate = 1e6

    def seconds(kind, own, time_steps):
        cell = 2 * rows * 2 * width * width
        return (1 + (kind == "backward")) * own * time_steps * cell / rate

    def job(comm):
        split = Wave(comm, recurrent_layers(layers, width, width), chunks=chunks, seconds=seconds)
        x = torch.ones(steps, rows, width)
        return from_the_start(comm, lambda: split.step(x, x, nn.functional.mse_loss))

    took = helpers.run(job, ranks=ranks, engine="virtual", latency=0.0, bandwidth=float("inf"))
    work = recurrent_work(rows, width, layers, steps, ranks, chunks)
    assert max(took) == pytest.approx(work.flops / rate, rel=1e-9)
    alone = recurrent_work(rows, width, layers, steps).flops
    assert alone / work.flops == pytest.approx(ranks * chunks / (chunks + ranks - 1))


def test_a_split_by_layer_takes_what_was_counted():
    widths, rows = [8, 16, 12, 8], 4

    def job(comm):
        model = nn.Sequential(*[nn.Linear(a, b) for a, b in pairwise(widths)])
        split = LayerSplit(comm, model)
        x = torch.ones(rows, 8)
        return from_the_start(comm, lambda: split.step(x, x, nn.functional.mse_loss))

    took = helpers.run(job, ranks=3, engine="virtual", **CLOCK)
    work = by_layer_work(rows, widths, 3)
    assert (work.messages, work.nbytes) == (4, 2 * rows * (16 + 12) * 4)
    # And the loss, one number of 8 bytes to each of the others.
    loss = ALPHA + 2 * 8 * BETA
    assert max(took) <= work.seconds(Rates(1e99, ALPHA, BETA)) + loss + 1e-12
    assert min(took) >= work.seconds(Rates(1e99, ALPHA, BETA)) - 2 * ALPHA


@given(layers=st.integers(1, 9), steps=st.integers(1, 9))
def test_every_cell_of_a_diagonal_has_its_inputs(layers, steps):
    done: set[tuple[int, int]] = set()
    for tick in diagonal(layers, steps):
        for layer, step in tick:
            assert layer == 0 or (layer - 1, step) in done
            assert step == 0 or (layer, step - 1) in done
        done |= set(tick)
    assert len(done) == layers * steps
