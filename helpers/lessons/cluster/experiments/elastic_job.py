"""A job on two nodes, one of which is killed at random moments and comes back, again and again."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from helpers.lessons.cluster.experiments.elastic_nodes import Nodes
from helpers.lessons.cluster.experiments.elastic_training import Notes, Step, on_ranks

GAPS, AWAY = (3, 30), 15  # steps that the job gets done between two kills; without the node
WITHIN = 0.05  # seconds: a kill comes so long after its step, or sooner
TAIL, AHEAD = 5, 15  # steps on all ranks after the last kill, and from there to the end
EVERY, PACE = 10, 0.01  # steps to a checkpoint; seconds of rest for each part of a batch
STEPS, LAST_STEP = "steps.jsonl", "last-step"  # files in the nodes' folder


class Launcher:
    """What starts a job's nodes, kills them, and starts them again.

    name: of the launcher. names: of the nodes. alone: whether the job may lose its last node and go
    on. ending: the commands that end with the job. seed: of the training.
    """

    name: str
    names: tuple[str, ...]
    alone: bool
    ending: tuple[str, ...]

    def __init__(self, nodes: Nodes, seed: int) -> None:
        self.nodes = nodes
        # What the script that trains is told, whoever starts it.
        self.options = [
            "--folder", str(nodes.folder), "--steps", str(nodes.folder / LAST_STEP),
            "--every", str(EVERY), "--pace", str(PACE), "--seed", str(seed),
        ]  # fmt: skip

    def begin(self) -> None:
        """Start the job."""
        raise NotImplementedError

    def kill(self, name: str) -> None:
        """SIGKILL all of a node."""
        self.nodes.kill(name)

    def again(self, name: str) -> None:
        """Start a node that was killed, where the launcher does not find it again by itself."""


class Kill(NamedTuple):
    """When a node was killed. step: the furthest by then. at: seconds of `time.time()`."""

    node: str
    step: int
    at: float


@dataclass(frozen=True)
class Elastic:
    """A job that went on although nodes were killed.

    losses: after each step, as it was taken last. undisturbed: those of a job without kills.
    ranks: on how many each step was taken last. lost: seconds from each kill until the job was
    further than before it. restarts: how often ranks went on from what was saved, because some had
    gone or come. redone: steps that were taken again, since they lay behind that. commands: what
    was typed, in order, and where. seconds: the whole job's.
    """

    launcher: str
    losses: list[float] = field(repr=False)
    undisturbed: list[float] = field(repr=False)
    ranks: list[int] = field(repr=False)
    kills: list[Kill]
    lost: list[float]
    restarts: int
    redone: int
    seconds: float
    commands: list[str] = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether each step's loss is that of the undisturbed job, bit for bit."""
        return self.losses == self.undisturbed

    def __str__(self) -> str:
        equal = "equal, bit for bit" if self.same else "NOT equal"
        fewer = sum(each < max(self.ranks) for each in self.ranks)
        lines = [
            f"{self.launcher}: {len(self.losses)} steps in {self.seconds:.0f} s; "
            f"kills: {len(self.kills)}, restarts: {self.restarts}",
            f"loss at the end {self.losses[-1]!r}, undisturbed {self.undisturbed[-1]!r}: {equal}",
            f"{fewer} steps on fewer ranks; {self.redone} taken twice; "
            f"{self.ranks[-1]} ranks at the end",
        ]
        if self.kills:
            of = f"{min(self.lost):.1f} to " * (len(self.kills) > 1) + f"{max(self.lost):.1f}"
            all_of = f"in all {sum(self.lost):.0f} of {self.seconds:.0f}"
            lines.append(f"seconds until it was further than before: {of}, {all_of}")
        return "\n".join(lines)


def through_kills(launcher: Launcher, nodes: Nodes, kills: int, seed: int, steps: int) -> Elastic:
    """Run a job on two ranks, kill and start its nodes as the seed says, and tell what came of it.

    steps: of the job at least; it goes on until the last node that was killed is back. Raises
    ValueError for fewer kills than none, JobFailed where the job ends early, or is not done in
    time.
    """
    if kills < 0:
        raise ValueError(f"A job is killed 0 times or more, not {kills}.")
    chance, notes = random.Random(seed), Notes(nodes.folder / STEPS)
    killed = [Kill("", 0, nodes.began)]  # the start counts as one, until the job has ended
    launcher.begin()

    def wait_for(count: int, on: int = 1) -> None:
        """For steps beyond the last kill's, on so many ranks."""

        def gained() -> int:
            last = killed[-1]
            later = (each for each in notes.look() if each.at > last.at and each.ranks >= on)
            return len({each.step for each in later if each.step > last.step})

        nodes.until(lambda: gained() >= count)

    for _ in range(kills):
        wait_for(chance.randint(*GAPS), on=1 if launcher.alone else 2)
        time.sleep(chance.uniform(0, WITHIN))  # in the middle of anything
        name = chance.choice(launcher.names)
        launcher.kill(name)
        at = time.time()
        notes.look()
        killed.append(Kill(name, notes.furthest, at))
        wait_for(chance.choice([0, chance.randint(1, AWAY)]))
        launcher.again(name)
    wait_for(TAIL, on=2)
    end = max(steps, notes.furthest + AHEAD)
    write_at_once(nodes.folder / LAST_STEP, str(end))
    nodes.until(lambda: bool(notes.look()) and notes.furthest >= end)
    nodes.finish(launcher.ending)
    seconds = time.time() - nodes.began
    from helpers.engine.run import run

    calm = run(on_ranks, notes.furthest, seed, ranks=1, device="cpu", show=False)[0]
    return told(launcher.name, notes.steps, killed[1:], calm, seconds, nodes.typed)


def write_at_once(path: Path, text: str) -> None:
    """Write a file in one move."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


def told(
    launcher: str,
    notes: Sequence[Step],
    killed: Sequence[Kill],
    undisturbed: Sequence[float],
    seconds: float,
    commands: Sequence[str],
) -> Elastic:
    """The story of a job that has ended, from the notes of its steps."""
    begins = [0, *(i for i, (a, b) in enumerate(pairwise(notes), 1) if b.step <= a.step)]
    taken = [each for i, each in enumerate(notes) if i not in begins]
    # Where ranks went on from is not a step of theirs, unless nobody was left to note that step.
    final = {each.step: each for each in [*(notes[i] for i in begins), *taken]}
    in_order = [final[step] for step in sorted(final) if step]
    further = [
        min(each.at for each in notes if each.at > kill.at and each.step > kill.step)
        for kill in killed
    ]
    return Elastic(
        launcher=launcher,
        losses=[each.loss for each in in_order],
        undisturbed=list(undisturbed),
        ranks=[each.ranks for each in in_order],
        kills=list(killed),
        lost=[at - kill.at for at, kill in zip(further, killed, strict=True)],
        restarts=len(begins) - 1,
        redone=len(taken) - len({each.step for each in taken}),
        seconds=seconds,
        commands=list(commands),
    )
