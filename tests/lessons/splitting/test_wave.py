"""The wave on the clock, and the cells that can run at once; its numbers are in `test_splits`."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import helpers
from helpers.lessons.splitting.algorithms.wave import Wave, diagonal
from helpers.lessons.splitting.experiments.recurrent import recurrent_layers


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
    turns = (chunks + ranks - 1) / (chunks * ranks)
    assert max(took) == pytest.approx(4 * 24 * 3.0 * turns, rel=1e-12)


@given(layers=st.integers(1, 9), steps=st.integers(1, 9))
def test_every_cell_of_a_diagonal_has_its_inputs(layers, steps):
    done: set[tuple[int, int]] = set()
    for tick in diagonal(layers, steps):
        for layer, step in tick:
            assert layer == 0 or (layer - 1, step) in done
            assert step == 0 or (layer, step - 1) in done
        done |= set(tick)
    assert len(done) == layers * steps
