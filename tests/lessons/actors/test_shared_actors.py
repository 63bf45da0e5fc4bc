"""Actors in shared memory: the same again on the clock, counted right, and sound under a lock."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.actors.algorithms.rms_prop import shared_rms_prop
from helpers.lessons.actors.experiments.actor_settings import TIC_TAC_TOE
from helpers.lessons.actors.experiments.shared_actors import (
    FileLock,
    Pace,
    take_number,
    train_shared,
)
from helpers.lessons.parameter_servers.experiments.train import one_thread

SHORT = TIC_TAC_TOE._replace(games=2, steps=3, updates=12)


@pytest.mark.parametrize(("engine", "actors"), [("virtual", 5), ("processes", 3)])
def test_under_a_lock_no_update_is_lost_and_none_too_many(engine: str, actors: int) -> None:
    done = train_shared(SHORT, actors, locked=True, engine=engine, look=4)
    assert sum(done.updates) == SHORT.updates
    assert done.counter == SHORT.updates + actors
    assert done.lost == 0
    assert done.steps == SHORT.updates * SHORT.steps_per_update == 72
    assert sorted(look.steps for look in done.looks) == [24, 48, 72]
    assert bool(torch.isfinite(done.weights).all())
    assert done.seconds > 0


def test_without_a_lock_counts_are_lost_where_two_actors_read_one_number() -> None:
    # All take as long, so all read the counter within the gap in which nobody has written.
    together = Pace((1.0,) * 3, gap=0.01)
    done = train_shared(SHORT, 3, engine="virtual", pace=together)
    assert done.updates == (12, 12, 12)
    assert done.counter == 13
    assert done.lost == 3 * 13 - 13
    alone = train_shared(SHORT, 3, engine="virtual", pace=Pace((1.0,) * 3, gap=0.0))
    assert (sum(alone.updates), alone.lost) == (12, 0)


def test_one_actor_is_a_plain_loop_bit_for_bit() -> None:
    shared = train_shared(SHORT, 1, engine="virtual")
    task, rates = SHORT.task(), SHORT.rates()
    weights = task.initial()
    squares = torch.zeros_like(weights)
    with one_thread():
        for step in range(SHORT.updates):
            shared_rms_prop(weights, squares, task.gradient(weights, 0, step), rates(step))
    assert torch.equal(shared.weights, weights)


@pytest.mark.real
def test_functions_of_a_cell_go_to_real_ranks_and_are_used() -> None:
    def worthless(rewards: Tensor, discounts: Tensor, bootstrap: Tensor) -> Tensor:
        return torch.zeros_like(rewards)

    plain, other = train_shared(SHORT, 1), train_shared(SHORT, 1, returns=worthless)
    assert not torch.equal(plain.weights, other.weights)
    again = train_shared(SHORT, 1, engine="virtual", returns=worthless)
    assert torch.equal(other.weights, again.weights)


def raise_counter(comm: Comm, path: str, times: int) -> int:
    counter = comm.shared((1,), torch.int64)[0]
    lock = FileLock(comm, path)
    comm.barrier()
    for _ in range(times):
        with lock:
            take_number(comm, counter)
    comm.barrier()
    return int(counter[0])


@pytest.mark.real
def test_the_lock_keeps_every_count_of_real_ranks(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    assert list(helpers.run(raise_counter, path, 300, ranks=3)) == [900] * 3


def held_for(comm: Comm, path: str) -> tuple[float, float]:
    with FileLock(comm, path):
        begin = comm.time()
        comm.compute(0.01)
        return begin, comm.time()


def test_on_the_clock_one_rank_holds_the_lock_at_a_time_and_the_others_go_on(
    tmp_path: Path,
) -> None:
    spans = sorted(helpers.run(held_for, str(tmp_path / "lock"), ranks=4, engine="virtual"))
    for (_, end), (begin, _) in pairwise(spans):
        assert end <= begin < end + 0.001
