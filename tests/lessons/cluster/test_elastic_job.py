"""Who is killed when, and what is told of it: with a launcher that only pretends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import psutil
import pytest

from helpers.lessons.cluster.experiments import elastic_job
from helpers.lessons.cluster.experiments.elastic_job import Kill, Launcher, through_kills, told
from helpers.lessons.cluster.experiments.elastic_nodes import Command, JobFailed, Nodes
from helpers.lessons.cluster.experiments.elastic_training import Step, Training, last_step, note


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    me = psutil.Process()
    before, files = set(me.children(recursive=True)), me.num_fds()
    yield
    assert set(me.children(recursive=True)) <= before
    assert me.num_fds() <= files


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


class Looks(Nodes):
    """Nodes without a process: at each look of whoever waits, the job takes a step."""

    step: Callable[[], None]

    def until(self, happens: Callable[[], bool]) -> None:
        super().until(lambda: (self.step(), happens())[1])  # type: ignore[func-returns-value]


class Pretends(Launcher):
    """Two nodes that take a step at each look, from the last checkpoint on after each kill."""

    name, names, ending = "pretends", ("a", "b"), ()

    def __init__(self, nodes: Looks, alone: bool = True, wrong: int = 0, seed: int = 0) -> None:
        super().__init__(nodes, seed)
        self.alone, self.wrong = alone, wrong
        self.notes, self.fresh = nodes.folder / elastic_job.STEPS, True
        self.up = {"a", "b"}
        self.training, self.saved = Training(seed), Training(seed).state()
        nodes.step = self.step

    def begin(self) -> None:
        self.nodes.typed += ["a$ begin", "b$ begin"]

    def kill(self, name: str) -> None:
        self.up.remove(name)
        self.training.go_on(self.saved)
        self.fresh = True

    def again(self, name: str) -> None:
        self.nodes.typed.append(f"{name}$ begin")
        self.up.add(name)

    def step(self) -> None:
        training = self.training
        if training.step < last_step(str(self.nodes.folder / elastic_job.LAST_STEP)):
            if self.fresh:
                note(self.notes, training.step, training.loss(), len(self.up))
                self.fresh = False
            training.update(training.gradients(0, 1))
            loss = training.loss() + (training.step == self.wrong)
            note(self.notes, training.step, loss, len(self.up))
            if training.step % 4 == 0:
                self.saved = training.state()


@pytest.mark.parametrize("alone", [True, False])
def test_kills_take_place_and_the_end_is_the_same(alone: bool) -> None:
    kills = 6
    with Looks() as nodes:
        story = through_kills(Pretends(nodes, alone, seed=6), nodes, kills, 6, 60)
    assert len(story.kills) == kills and {kill.node for kill in story.kills} == {"a", "b"}
    assert story.same and story.restarts == kills and story.redone > 0
    assert story.ranks[-1] == 2 and 1 in story.ranks and len(story.losses) >= 60
    assert len(story.lost) == kills and min(story.lost) > 0
    assert len(story.commands) == 2 + kills
    assert "equal, bit for bit" in str(story) and f"kills: {kills}" in str(story)


def test_one_loss_that_is_off_is_found() -> None:
    with Looks() as nodes:
        story = through_kills(Pretends(nodes, wrong=33), nodes, 1, 0, 40)
    assert not story.same and "NOT equal" in str(story)
    off = [a != b for a, b in zip(story.losses, story.undisturbed, strict=True)]
    assert off.index(True) == 32 and sum(off) == 1


def test_what_is_told_of_invented_notes() -> None:
    """Two kills: one costs a second and two steps, the other falls into the first's recovery."""
    notes = [
        Step(0, 1.0, 2, 9.9), Step(1, 0.9, 2, 10.0), Step(2, 0.8, 2, 10.1), Step(3, 0.7, 2, 10.2),
        Step(1, 0.9, 1, 10.9), Step(2, 0.8, 1, 11.0), Step(3, 0.7, 1, 11.1), Step(4, 0.6, 1, 11.2),
        Step(4, 0.6, 2, 11.9), Step(5, 0.5, 2, 12.0),
    ]  # fmt: skip
    killed = [Kill("b", 3, 10.2), Kill("a", 3, 10.95)]
    story = told("x", notes, killed, [0.9, 0.8, 0.7, 0.6, 0.5], 3.0, ["c"])
    assert story.same and story.redone == 2 and story.restarts == 2
    assert story.lost == pytest.approx([1.0, 0.25])
    assert story.ranks == [2, 1, 1, 1, 2]


# --- nodes ----------------------------------------------------------------------------------------


@pytest.mark.real
def test_a_job_that_does_not_get_on_or_ends_early_is_told_with_its_logs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Nodes() as nodes:
        nodes.start("a", Command(["sh", "-c", "echo once; exit 3"]))
        with pytest.raises(JobFailed) as failed:
            nodes.until(lambda: False)
        assert str(failed.value) == "a ended with exit code 3.\n\na wrote last:\n  once"
        with pytest.raises(JobFailed, match="a ended with exit code 3 after the last step"):
            nodes.finish(["a"])
        nodes.until(lambda: nodes.guards["a"].poll() == 3)  # what was waited for may come with it
        nodes.start("a", Command(["sleep", "600"]))
        monkeypatch.setattr("helpers.lessons.cluster.experiments.elastic_nodes.TIMEOUT", 0.1)
        with pytest.raises(JobFailed, match=r"The job was not done after 0\.1 s\.\n\na wrote last"):
            nodes.until(lambda: False)
        folder = nodes.folder
    assert not folder.exists()


@pytest.mark.real
def test_a_node_is_killed_and_started_again_while_the_other_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RANK", "7")  # of a job that this process is in
    command = Command(["sh", "-c", 'echo "$MARK/$RANK/$OMP_NUM_THREADS"; sleep 600'], {"MARK": "x"})
    assert str(command).startswith("MARK=x sh -c 'echo")
    with Nodes() as nodes:

        def said(name: str, count: int) -> bool:
            return nodes.output(name).read_text() == "x//1\n" * count

        for name in ("a", "b"):
            nodes.start(name, command)
            nodes.until(lambda name=name: said(name, 1))  # type: ignore[misc]
        below = psutil.Process(nodes.guards["a"].pid).children(recursive=True)
        nodes.kill("a")
        assert below and not any(one.is_running() for one in below)
        nodes.start("a", command)
        nodes.until(lambda: said("a", 2))
        assert all(guard.poll() is None for guard in nodes.guards.values())
        nodes.kill("b")
        nodes.start("b", command)
        nodes.kill("b")  # before its guard has begun
        assert [re.sub(r"\$.*", "", line) for line in nodes.typed] == ["a", "b", "a", "b"]
