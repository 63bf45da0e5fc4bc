"""Real jobs whose nodes are killed: under torchrun, elastic Horovod and torchft."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from helpers.lessons.cluster.experiments.elastic_job import Elastic
from helpers.lessons.cluster.experiments.elastic_launchers import on_horovod, on_torchrun
from helpers.lessons.cluster.experiments.elastic_quorum import (
    Quorum,
    lost,
    together,
    with_quorum,
)
from helpers.lessons.cluster.experiments.elastic_training import Step

pytestmark = pytest.mark.real

needs_torchft = pytest.mark.skipif(
    find_spec("torchft") is None, reason="torchft is not installed here."
)


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No folder, and no process more than there were, but for the server of `helpers.run`."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other tests have folders in /tmp
    me = psutil.Process()
    before = set(me.children(recursive=True))
    yield
    left = set(me.children(recursive=True)) - before
    assert not [each for each in left if "engine.launch" not in " ".join(each.cmdline())]
    assert not list(tmp_path.iterdir())


def holds(story: Elastic, kills: int) -> None:
    """What is claimed: as many kills, the same losses bit for bit, and all ranks at the end."""
    assert len(story.kills) == kills
    assert story.same and story.losses[-1] == story.undisturbed[-1]
    assert story.ranks[-1] == max(story.ranks) == 2
    assert all(lost > 0 for lost in story.lost)


def stays(found: Quorum, kills: int) -> None:
    """The survivor took every step once, in one life, and both ended with the same weights."""
    assert len(found.kills) == kills
    assert found.whole and found.equal
    assert all(kill.alone > 0 for kill in found.kills)
    assert found.loss < 0.5


@pytest.mark.thorough
@pytest.mark.timeout(3000)
def test_torchrun_ends_with_the_same_loss_after_ten_kills() -> None:
    calm = on_torchrun(kills=0, seed=1, steps=200)
    holds(calm, 0)
    assert set(calm.ranks) == {2} and calm.restarts == calm.redone == 0
    story = on_torchrun(kills=10, seed=1, steps=200)
    holds(story, 10)
    assert 1 in story.ranks and {kill.node for kill in story.kills} == {"node-0", "node-1"}
    assert story.losses[:200] == calm.losses


@pytest.mark.thorough
@pytest.mark.horovod
@pytest.mark.timeout(3000)
def test_horovod_ends_with_the_same_loss_after_ten_kills() -> None:
    calm = on_horovod(kills=0, seed=1)
    holds(calm, 0)
    story = on_horovod(kills=10, seed=1)
    holds(story, 10)
    assert 1 in story.ranks and story.losses[:150] == calm.losses


@needs_torchft
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_with_torchft_both_replicas_end_with_the_same_weights_whoever_began_first() -> None:
    for _ in range(3):
        stays(with_quorum(kills=0, syncs=20), 0)


@needs_torchft
@pytest.mark.thorough
@pytest.mark.timeout(3000)
def test_with_torchft_the_surviving_replica_never_stops_through_ten_kills() -> None:
    stays(with_quorum(kills=10, seed=1), 10)


# --- what is read from notes ----------------------------------------------------------------------


def test_a_death_that_the_survivor_has_not_heard_of_is_not_over() -> None:
    steps = [Step(i, 0.5, ranks, float(i)) for i, ranks in enumerate([1, 2, 2, 2, 1, 2, 2], 1)]
    assert [together(steps[:n], None) for n in range(8)] == [0, 0, 1, 2, 3, 0, 1, 2]
    assert [together(steps[:n], 2.5) for n in range(3, 8)] == [0, 0, 0, 1, 2]
    assert together(steps, 5.5) == 0


def test_how_a_kill_is_read_from_the_survivors_notes() -> None:
    """Killed at 10.35, seen at 12.4, back at 13.0: a gap of 2.1 s, and two steps alone."""
    at = [(10.0, 2), (10.1, 2), (10.2, 2), (10.3, 2), (12.4, 1), (12.5, 1), (13.0, 2), (15.0, 2)]
    steps = [Step(i, 0.5, ranks, when) for i, (when, ranks) in enumerate(at, 1)]
    found = lost(steps, 10.35)
    assert found.alone == 2
    assert (found.gap, found.back) == pytest.approx((2.1, 2.65))
