"""A job on two nodes, one of which is killed at random moments and comes back, again and again."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from helpers.lessons.cluster.experiments.elastic_nodes import LOOK, Nodes
from helpers.lessons.cluster.experiments.elastic_story import Elastic, Moment, told
from helpers.lessons.cluster.experiments.elastic_training import Notes, Step, on_ranks

LEAST_GAP, MOST_GAP = 3, 30  # steps that the job gets done between two kills
WITHIN = 0.05  # seconds: a kill comes so long after its step, or sooner
FINISH_SECONDS = 240.0  # it ends what hangs
TAIL, AHEAD = 5, 15  # steps on all ranks after the last kill, and from there to the end
STEPS, LAST_STEP = "steps.jsonl", "last-step"  # files in the nodes' folder


class Launcher(Protocol):
    """What starts a job's nodes, kills them, and starts them again.

    name: of the launcher. alone: whether the job may lose its last node and go on. typed: the
    commands so far, each after its node's name and a dollar sign.
    """

    name: str
    alone: bool
    typed: list[str]

    @property
    def names(self) -> Sequence[str]:
        """Those of the nodes."""

    def begin(self) -> None:
        """Start the job."""

    def kill(self, name: str) -> None:
        """SIGKILL all of a node."""

    def again(self, name: str) -> None:
        """Start a node that was killed."""

    def check(self, down: Sequence[str]) -> None:
        """Raise JobFailed where the job has ended. down: nodes that do not run just now."""

    def finish(self, seconds: float) -> None:
        """Wait for the launcher's own end after the last step. Raises JobFailed without one."""

    def log(self) -> list[str]:
        """The lines that tell the story."""


class Plan(NamedTuple):
    """A kill to come. gap: steps that the job gets done before. wait: seconds after the last one.

    node: from 0. away: steps that the others take before it is started again; 0 starts it at once.
    """

    gap: int
    wait: float
    node: int
    away: int


def plans(kills: int, seed: int, nodes: int, away: int = 15) -> list[Plan]:
    """Kills at random moments, drawn from the seed. Raises ValueError for fewer than none."""
    if kills < 0:
        raise ValueError(f"A job is killed 0 times or more, not {kills}.")
    chance = random.Random(seed)
    return [
        Plan(
            chance.randint(LEAST_GAP, MOST_GAP), chance.uniform(0, WITHIN), chance.randrange(nodes),
            chance.choice([0, chance.randint(1, away)]),
        )
        for _ in range(kills)
    ]  # fmt: skip


def through_kills(
    launcher: Launcher,
    nodes: Nodes,
    kills: int,
    seed: int,
    steps: int,
    ranks: int,
    timeout: float,
) -> Elastic:
    """Run a job, kill and start its nodes as the seed says, and tell what came of it.

    steps: of the job at least; it goes on until the last node that was killed is back. ranks: of
    all nodes together. timeout: seconds for all. Raises JobFailed where the job ends early, or is
    not done in time.
    """
    job = Job(launcher, nodes, plans(kills, seed, len(launcher.names)), steps, ranks)
    began = time.time()
    launcher.begin()
    while not job.done:
        job.look()
        if time.time() - began > timeout:
            raise nodes.failed(
                f"The job was at step {job.record} after {timeout:g} s, with {len(job.killed)} of "
                f"{kills} kills, and was to take {steps} steps or more."
            )
        time.sleep(LOOK)
    launcher.finish(FINISH_SECONDS)
    log = launcher.log()
    nodes.close()
    from helpers.engine.run import run

    calm = run(on_ranks, job.record, seed, ranks=1, device="cpu", show=False)[0]
    return told(launcher.name, job.notes.steps, job.killed, calm, began, launcher.typed, log)


class Job:
    """How far a job is, and what is to be done to it next. record: the furthest step noted."""

    def __init__(
        self, launcher: Launcher, nodes: Nodes, planned: Sequence[Plan], steps: int, ranks: int
    ) -> None:
        self.launcher, self.planned = launcher, list(planned)
        self.steps, self.ranks = steps, ranks
        self.notes, self.last = Notes(nodes.folder / STEPS), nodes.folder / LAST_STEP
        self.killed: list[Moment] = []
        self.down: dict[str, int] = {}  # nodes, and the steps after which each is started again
        self.record = self.gained = self.full = 0  # since the last kill: steps gained, on all ranks
        self.end: int | None = None

    @property
    def done(self) -> bool:
        """Whether the last step has been taken."""
        return self.end is not None and self.record >= self.end

    def look(self) -> None:
        """Once: what is new, who is due to be killed, who is due to come back."""
        self.count(self.notes.look())
        gained = self.gained if self.launcher.alone else self.full
        if self.planned and gained >= self.planned[0].gap:
            self.kill(self.planned.pop(0))
        for name in list(self.down):
            # Where nobody is left to take steps, waiting for some would be for ever.
            if self.gained >= self.down[name] or len(self.down) == len(self.launcher.names):
                del self.down[name]
                self.launcher.again(name)
        if self.end is None and not (self.planned or self.down) and self.full >= TAIL:
            self.end = max(self.steps, self.record + AHEAD)
            self.last.with_suffix(".new").write_text(str(self.end))
            self.last.with_suffix(".new").rename(self.last)
        if not self.done:
            try:
                self.launcher.check(list(self.down))
            except Exception:
                self.count(self.notes.look())  # its last step may have come since
                if not self.done:
                    raise

    def count(self, new: Sequence[Step]) -> None:
        """Take up what was noted."""
        for each in new:
            if each.step > self.record:
                self.record = each.step
                self.gained += 1
                self.full += each.ranks == self.ranks

    def kill(self, plan: Plan) -> None:
        """Kill a node, in the middle of anything."""
        time.sleep(plan.wait)
        names = self.launcher.names
        up = [name for name in (names[plan.node], *names) if name not in self.down]
        name = up[0]  # that of the plan, where it runs
        self.launcher.kill(name)
        at = time.time()
        self.count(self.notes.look())
        self.killed.append(Moment(name, self.record, at))
        self.gained = self.full = 0
        self.down[name] = plan.away
