"""From N ranks on M: every element in its place, bit for bit, parameters and optimizer alike."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import helpers
from helpers.lessons.cluster.algorithms.files import RealFolder
from helpers.lessons.cluster.algorithms.format import opened, read_part
from helpers.lessons.cluster.algorithms.order import Order
from helpers.lessons.cluster.algorithms.randomness import go_on_randomly, random_states
from helpers.lessons.cluster.algorithms.resharding import resharded
from helpers.lessons.cluster.algorithms.saving import save_sharded
from helpers.lessons.cluster.algorithms.sharded_state import load_state, state_of
from helpers.lessons.sharding.algorithms.sharding import Sharded


def test_a_rank_reads_only_the_parts_that_it_needs() -> None:
    read = []

    def part(number: int) -> Any:
        read.append(number)
        return {"rows": {"a": {"length": 8, "values": {"x": torch.ones(2)}}}, "common": number}

    state = resharded(part, 4, 1, 2)
    assert (
        read == [0, 2, 3] and state["common"] == 0 and len(state["rows"]["a"]["values"]["x"]) == 4
    )


# --- whole models ---------------------------------------------------------------------------------


def make(comm: Any, stage: int = 3, mixed: bool = False) -> Sharded:
    """A model of uneven rows, one norm with buffers, and one number alone."""
    torch.manual_seed(1 + comm.rank)  # rank 0's values are everybody's
    norm = nn.Identity() if mixed else nn.BatchNorm1d(5)  # whose buffers are not in bfloat16
    model = nn.Sequential(nn.Linear(3, 5), norm, nn.Linear(5, 1, False), nn.Linear(1, 1, False))
    adam = partial(torch.optim.Adam, lr=0.01)
    return Sharded(model.double(), comm, adam, stage, mixed=mixed)


def steps(model: Sharded, begin: int, end: int) -> dict[str, torch.Tensor]:
    """Train on rows that every rank has alike, so that any number of ranks does the same."""
    for number in range(begin, end):
        inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(number)).double()
        model.zero_grad()
        model(inputs).float().square().mean().backward()
        model.step()
    return model.full_state()


def saves(comm: Any, path: str, stage: int, mixed: bool = False) -> Any:
    model = make(comm, stage, mixed)
    steps(model, 0, 3)
    save_sharded(comm, RealFolder(path), 3, state_of(model))
    return model.full_state(), steps(model, 3, 5)


def loads(comm: Any, path: str, stage: int, mixed: bool = False) -> Any:
    model, folder = make(comm, stage, mixed), RealFolder(path)
    checkpoint = opened(folder, 3)
    read = partial(read_part, folder, checkpoint)
    load_state(model, resharded(read, len(checkpoint.parts), comm.rank, comm.size))
    return model.full_state(), steps(model, 3, 5), state_of(model)["common"]["groups"]


@pytest.mark.parametrize(("size", "mixed"), [(1, False), (2, False), (3, False), (3, True)])
def test_a_model_goes_on_on_every_number_of_ranks(size: int, mixed: bool, tmp_path: Path) -> None:
    where = {"engine": "virtual", "show": False}
    saved, after = helpers.run(saves, tmp_path, 3, mixed, ranks=size, **where)[0]
    for other in (1, 2, 3, 5):
        found = helpers.run(loads, tmp_path, 1 + other % 3, mixed, ranks=other, **where)
        for now, later, groups in found:
            assert now.keys() == saved.keys() and groups[0]["lr"] == 0.01
            assert all(torch.equal(now[name], saved[name]) for name in saved)
            # Adam's moments as well: without them the next steps are others.
            near = 1e-2 if mixed else 1e-12
            close = partial(torch.testing.assert_close, rtol=near, atol=near)
            [close(later[name], after[name]) for name in after]


def test_another_models_checkpoint_is_told_and_changes_nothing(tmp_path: Path) -> None:
    def other(comm: Any) -> str:
        model = make(comm)
        before = model.full_state()
        state = state_of(model)
        state["rows"]["row 0"]["length"] += 1
        with pytest.raises(ValueError, match="of another model, or in other units") as told:
            load_state(model, state)
        after = model.full_state()
        assert all(torch.equal(before[name], after[name]) for name in before)
        return str(told.value)

    assert "rows of [" in helpers.run(other, ranks=2, engine="virtual", show=False)[0]


# --- what else a training has to know -------------------------------------------------------------


@settings(deadline=None)
@given(batch=st.integers(1, 7), before=st.integers(0, 12), seed=st.integers(0, 3))
def test_the_order_goes_on_from_any_place(batch: int, before: int, seed: int) -> None:
    calm, saved, again = (Order(7, batch, seed) for _ in range(3))
    for _ in range(before):
        calm.next()
        saved.next()
    again.go_on(saved.state())
    assert all(torch.equal(calm.next(), again.next()) for _ in range(9))


def test_random_numbers_go_on_where_they_were_saved() -> None:
    def draw() -> list[float]:
        drawn = [torch.randn(()).item(), np.random.randn(), random.random(), random.gauss()]
        return [float(number) for number in drawn]

    draw()  # numpy and Python keep a second normal number ready
    from helpers.lessons.cluster.algorithms.format import pack, unpack

    states = unpack(pack(random_states()))
    calm = [draw() for _ in range(3)]
    go_on_randomly(states)
    assert [draw() for _ in range(3)] == calm
