"""Lesson 04: one training in every framework ends where the run in one process ends."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from helpers.lessons.frameworks.experiments import setting
from helpers.lessons.frameworks.experiments.in_torch import train_alone
from helpers.lessons.frameworks.experiments.measure import Measured, measure
from helpers.lessons.frameworks.experiments.ways import WAYS, train
from helpers.lessons.frameworks.figures.frameworks_view import train_wrong

STEPS = 50
EVERYDAY = {"own", "torch DDP", "multi-worker", "horovod torch", "horovod keras"}
CLOSE = 1e-5  # float32; what is seen is below 2e-7


def needs(framework: str) -> list[Any]:
    """The marks of a test that runs a framework's ranks."""
    if framework == "torch":
        return []
    horovod = [pytest.mark.horovod] if framework == "horovod" else []
    return [pytest.mark.tensorflow, *horovod]


def each_way(*names: str) -> list[Any]:
    """Ways as parameters, with their marks; those that others stand for everyday are thorough."""
    thorough = {n: [] if n in EVERYDAY else [pytest.mark.thorough] for n in names}
    return [pytest.param(n, marks=[*needs(WAYS[n].framework), *thorough[n]]) for n in names]


@lru_cache
def alone() -> setting.Part:
    """The run that all others are held to."""
    return train_alone(STEPS)


# --- the setting --------------------------------------------------------------------------------


def test_the_shares_of_a_step_are_its_rows() -> None:
    whole = setting.task(30)
    assert whole.x.shape == (30, 60, 64) and whole.x.dtype == np.float32
    assert whole.x.min() >= 0 and whole.x.max() == 1
    for size in (2, 3, 5):
        shares = [setting.share(whole, rank, size) for rank in range(size)]
        assert np.array_equal(np.concatenate([part.x for part in shares], axis=1), whole.x)
        assert np.array_equal(np.concatenate([part.y for part in shares], axis=1), whole.y)
    with pytest.raises(ValueError, match="60 rows do not divide evenly among 7 ranks"):
        setting.share(whole, 0, 7)
    # A shorter run is the beginning of a longer one.
    assert np.array_equal(setting.task(7).x, whole.x[:7])


def test_every_rank_starts_elsewhere_and_the_run_alone_learns() -> None:
    weights, losses = setting.weights(), alone().losses
    assert setting.furthest(weights, setting.weights(1)) > 0.05
    assert losses[0] == pytest.approx(np.log(10), abs=0.1) and losses[-1] < 0.7
    # The checksum sees the order of weights.
    flipped = [weights[0][::-1], *weights[1:]]
    assert abs(setting.checksum(weights) - setting.checksum(flipped)) > 0.01


def test_the_widget_trains_as_the_ranks_do() -> None:
    right = train_wrong("nothing", 3)
    assert max(right.apart) == 0 and max(right.away) < 1e-12
    assert np.abs(np.array(right.alone) - alone().losses).max() < CLOSE
    assert train_wrong("no broadcast", 3).apart[-1] > 0.05
    assert train_wrong("averaged twice", 3).apart[-1] == 0 < train_wrong("summed", 2).away[-1]


# --- the seven ways, two of them in two variants -------------------------------------------------


@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("way", each_way(*WAYS))
def test_every_way_ends_where_one_process_ends(
    way: str, ranks: int, capfd: pytest.CaptureFixture[str]
) -> None:
    run = train(way, ranks=ranks, steps=STEPS)
    assert setting.furthest(run.weights, alone().weights) < CLOSE
    # Each step's loss is that of the whole batch.
    assert np.abs(np.array(run.losses) - alone().losses).max() < CLOSE
    # Replicas have the very same bits.
    assert run.apart == 0 and len(run.notes) == ranks
    # The frameworks' chatter stays out of the notebook.
    assert capfd.readouterr() == ("", "")
    if way == "horovod keras":
        # fit tells the mean since the last reset: here that of the last step, averaged.
        assert {note["epoch loss"] for note in run.notes} == {run.notes[0]["epoch loss"]}
        assert run.notes[0]["epoch loss"] == pytest.approx(run.losses[-1], abs=1e-6)
        # Rank 0 alone writes checkpoints.
        written = [note["checkpoints"] for note in run.notes]
        assert written == [["epoch-1.weights.h5"], *[[]] * (ranks - 1)]


def test_wrong_names_say_which_there_are() -> None:
    with pytest.raises(ValueError, match="no way 'ddp'; there are own, torch DDP"):
        train("ddp")
    with pytest.raises(TypeError, match="takes prepare of one's own, not 'wrap'"):
        train("horovod torch", wrap=abs)
    with pytest.raises(ValueError, match="do not divide evenly among 7 ranks"):
        train("own", ranks=7)


# --- what can be seen of the sums ----------------------------------------------------------------


@pytest.mark.real
@pytest.mark.parametrize("way", each_way("own", "horovod torch", "mirrored"))
def test_a_small_network_is_one_sum_that_waits_for_the_last_gradient(way: str) -> None:
    seen = measure(way, widths=setting.WIDTHS, steps=6)
    strategy = WAYS[way].framework == "tensorflow"
    assert isinstance(seen, Measured) and seen.gradients == 4
    assert (seen.given, seen.used) == (60 if strategy else 30, 30)
    # Horovod's fusion takes what is there when its turn comes: one sum most often, not always.
    assert sum(seen.sums) == 4 * (64 * 32 + 32 + 32 * 10 + 10)
    if WAYS[way].framework != "horovod":
        assert len(seen.sums) == 1 and not seen.early


@pytest.mark.real
@pytest.mark.parametrize("way", each_way("own", "torch DDP"))
def test_buckets_of_a_large_network_start_before_the_last_gradient(way: str) -> None:
    seen = measure(way, steps=6)
    assert len(seen.sums) >= 2 and seen.early
    assert sum(seen.sums) == 8704040
