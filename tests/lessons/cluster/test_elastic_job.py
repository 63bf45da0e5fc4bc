"""Who is killed when, and what is told of it: with a launcher that only pretends."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from helpers.lessons.cluster.experiments import elastic_job
from helpers.lessons.cluster.experiments.elastic_job import (
    LEAST_GAP,
    MOST_GAP,
    Job,
    plans,
    through_kills,
)
from helpers.lessons.cluster.experiments.elastic_nodes import JobFailed, Nodes
from helpers.lessons.cluster.experiments.elastic_story import Moment, told
from helpers.lessons.cluster.experiments.elastic_training import Step, Training, last_step, note


class Folder(Nodes):
    """What nodes that only pretend need of real ones: a folder, and no process."""

    def __init__(self) -> None:
        self.folder, self.pids = Path(tempfile.mkdtemp(prefix="elastic-")), {}

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)  # a job closes its nodes, and so does `with`


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job without kills takes its steps here, and not on a rank of its own."""

    def run(fn: object, steps: int, seed: int, **_: object) -> list[list[float]]:
        training, losses = Training(seed), list[float]()
        for _step in range(steps):
            training.update(training.gradients(0, 1))
            losses.append(training.loss())
        return [losses]

    monkeypatch.setattr("helpers.engine.run.run", run)


class Pretends:
    """Two nodes that take a step at each look, from the last checkpoint on after each kill."""

    name, names = "pretends", ("a", "b")

    def __init__(self, nodes: Nodes, alone: bool = True, wrong: int = 0, seed: int = 0) -> None:
        self.nodes, self.alone, self.wrong = nodes, alone, wrong
        self.typed: list[str] = []
        self.notes, self.fresh = nodes.folder / elastic_job.STEPS, True
        self.up = {"a", "b"}
        self.training, self.saved = Training(seed), Training(seed).state()
        self.worst = 2  # the fewest nodes that were ever left

    def begin(self) -> None:
        self.typed += ["a$ begin", "b$ begin"]

    def kill(self, name: str) -> None:
        assert name in self.up
        self.up.remove(name)
        self.worst = min(self.worst, len(self.up))
        self.training.go_on(self.saved)
        self.fresh = True

    def again(self, name: str) -> None:
        self.typed.append(f"{name}$ begin")
        self.up.add(name)

    def check(self, down: Sequence[str]) -> None:
        assert set(down) == {"a", "b"} - self.up
        training = self.training
        if self.up and training.step < last_step(str(self.nodes.folder / elastic_job.LAST_STEP)):
            if self.fresh:
                note(self.notes, training.step, training.loss(), len(self.up))
                self.fresh = False
            training.update(training.gradients(0, 1))
            loss = training.loss() + (training.step == self.wrong)
            note(self.notes, training.step, loss, len(self.up))
            if training.step % 4 == 0:
                self.saved = training.state()

    def finish(self, seconds: float) -> None:
        pass

    def log(self) -> list[str]:
        return ["a line"]


@pytest.mark.parametrize("alone", [True, False])
def test_kills_take_place_and_the_end_is_the_same(alone: bool) -> None:
    """Also where a job may not lose its last node: then kills wait until both are back."""
    kills = 6
    with Folder() as nodes:
        launcher = Pretends(nodes, alone, seed=6)
        story = through_kills(launcher, nodes, kills, 6, 60, 2, 100.0)
    assert len(story.kills) == kills and {kill.node for kill in story.kills} == {"a", "b"}
    assert story.same and story.alike and story.restarts == kills
    assert story.redone > 0
    assert story.ranks[-1] == 2 and 1 in story.ranks and len(story.losses) >= 60
    assert all(kill.lost > 0 for kill in story.kills)
    assert len(story.commands) == 2 + kills and story.log == ["a line"]
    assert launcher.worst == (0 if alone else 1)
    assert "equal, bit for bit" in str(story) and f"kills: {kills}" in str(story)


def test_no_kill_is_an_undisturbed_job() -> None:
    with Folder() as nodes:
        story = through_kills(Pretends(nodes), nodes, 0, 0, 40, 2, 100.0)
    assert story.same and story.kills == [] and story.restarts == story.redone == 0
    assert len(story.losses) == 40 and set(story.ranks) == {2}


def test_one_loss_that_is_off_is_found() -> None:
    with Folder() as nodes:
        story = through_kills(Pretends(nodes, wrong=33), nodes, 1, 0, 40, 2, 100.0)
    assert not story.same and "NOT equal" in str(story)
    off = [a != b for a, b in zip(story.losses, story.undisturbed, strict=True)]
    assert off.index(True) == 32 and sum(off) == 1


def test_a_job_that_does_not_get_on_is_told() -> None:
    class Hangs(Pretends):
        def check(self, down: Sequence[str]) -> None:
            pass

    with Folder() as nodes:
        launcher = Hangs(nodes)
        with pytest.raises(JobFailed, match=r"at step 0 after 0\.2 s, with 0 of 3 kills"):
            through_kills(launcher, nodes, 3, 0, 40, 2, 0.2)


def test_a_job_that_ends_early_is_told_and_one_that_ended_meanwhile_is_not() -> None:
    class Ends(Pretends):
        def check(self, down: Sequence[str]) -> None:
            super().check(down)
            if self.training.step == 20:
                raise JobFailed("a ended with exit code 1.")

    with Folder() as nodes, pytest.raises(JobFailed, match="a ended with exit code 1"):
        through_kills(Ends(nodes), nodes, 0, 0, 40, 2, 100.0)
    with Folder() as nodes:
        assert len(through_kills(Ends(nodes), nodes, 0, 0, 20, 2, 100.0).losses) == 20


def test_moments_come_from_the_seed() -> None:
    made = plans(200, 3, 2)
    assert made == plans(200, 3, 2) != plans(200, 4, 2)
    assert {plan.node for plan in made} == {0, 1}
    assert all(LEAST_GAP <= plan.gap <= MOST_GAP for plan in made)
    assert 60 < sum(plan.away == 0 for plan in made) < 140
    with pytest.raises(ValueError, match="0 times or more, not -1"):
        plans(-1, 0, 2)


def test_a_node_that_is_down_is_not_killed_again() -> None:
    with Folder() as nodes:
        job = Job(Pretends(nodes), nodes, plans(2, 0, 2), 40, 2)
        node = job.planned[0].node
        job.kill(job.planned[0]._replace(away=50))
        job.kill(job.planned[1]._replace(node=node))
    assert [kill.node for kill in job.killed] == [["a", "b"][node], ["b", "a"][node]]


def test_what_is_told_of_invented_notes() -> None:
    """Two kills: one costs a second and two steps, the other falls into the first's recovery."""
    notes = [
        Step(0, 1.0, 2, 9.9), Step(1, 0.9, 2, 10.0), Step(2, 0.8, 2, 10.1), Step(3, 0.7, 2, 10.2),
        Step(1, 0.9, 1, 10.9), Step(2, 0.8, 1, 11.0), Step(3, 0.7, 1, 11.1), Step(4, 0.6, 1, 11.2),
        Step(4, 0.6, 2, 11.9), Step(5, 0.5, 2, 12.0),
    ]  # fmt: skip
    killed = [Moment("b", 3, 10.2), Moment("a", 3, 10.95)]
    story = told("x", notes, killed, [0.9, 0.8, 0.7, 0.6, 0.5], 9.0, ["c"], ["l"])
    assert story.same and story.alike and story.redone == 2 and story.restarts == 2
    assert [kill.lost for kill in story.kills] == pytest.approx([1.0, 0.25])
    assert [kill.fewer for kill in story.kills] == [0, 3]
    assert story.ranks == [2, 1, 1, 1, 2]
    notes[6] = Step(3, 0.71, 1, 11.1)
    other = told("x", notes, killed, story.undisturbed, 9.0, [], [])
    assert not other.alike and not other.same
