"""What came of a job whose nodes were killed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from helpers.lessons.cluster.experiments.elastic_training import Step


class Moment(NamedTuple):
    """When a node was killed. step: the furthest by then. at: seconds of `time.time()`."""

    node: str
    step: int
    at: float


class Kill(NamedTuple):
    """A kill that took place. step: the furthest that the job had been.

    lost: seconds from the kill until the job was further than that. fewer: steps that were taken
    on fewer ranks between this kill and the next.
    """

    node: str
    step: int
    lost: float
    fewer: int


@dataclass(frozen=True)
class Elastic:
    """A job that went on although nodes were killed.

    losses: after each step, as it was taken last. undisturbed: those of a job without kills.
    ranks: on how many each step was taken last. restarts: how often ranks went on from what was
    saved, because some had gone or come. redone: steps that were taken again, since they lay behind
    that; alike: whether each gave the same loss as before, and what was saved too. commands: what
    was typed, in order, and where. log: lines of the launcher's that tell the story. seconds: the
    whole job's.
    """

    launcher: str
    losses: list[float] = field(repr=False)
    undisturbed: list[float] = field(repr=False)
    ranks: list[int] = field(repr=False)
    kills: list[Kill]
    restarts: int
    redone: int
    alike: bool
    seconds: float
    commands: list[str] = field(repr=False)
    log: list[str] = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether each step's loss is that of the undisturbed job, bit for bit."""
        return self.losses == self.undisturbed

    @property
    def lost(self) -> list[float]:
        """Seconds that each kill took."""
        return [kill.lost for kill in self.kills]

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


def told(
    launcher: str,
    notes: Sequence[Step],
    killed: Sequence[Moment],
    undisturbed: Sequence[float],
    began: float,
    commands: Sequence[str],
    log: Sequence[str],
) -> Elastic:
    """The story of a job that has ended, from the notes of its steps."""
    losses: dict[int, float] = {}
    alike = all(losses.setdefault(each.step, each.loss) == each.loss for each in notes)
    begins = [0, *(i for i, (a, b) in enumerate(pairwise(notes), 1) if b.step <= a.step)]
    taken = [each for i, each in enumerate(notes) if i not in begins]
    # Where ranks went on from is not a step of theirs, unless nobody was left to note that step.
    final = {each.step: each for each in [*(notes[i] for i in begins), *taken]}
    in_order = [final[step] for step in sorted(final) if step]
    most = max(each.ranks for each in notes)
    ends = [*(kill.at for kill in killed[1:]), float("inf")]
    kills = [
        Kill(
            node=kill.node,
            step=kill.step,
            lost=round(regained(notes, kill) - kill.at, 3),
            fewer=sum(kill.at < each.at <= end and each.ranks < most for each in taken),
        )
        for kill, end in zip(killed, ends, strict=False)
    ]
    return Elastic(
        launcher=launcher,
        losses=[each.loss for each in in_order],
        undisturbed=list(undisturbed),
        ranks=[each.ranks for each in in_order],
        kills=kills,
        restarts=len(begins) - 1,
        redone=len(taken) - len({each.step for each in taken}),
        alike=alike,
        seconds=round(time.time() - began, 3),
        commands=list(commands),
        log=list(log),
    )


def regained(notes: Sequence[Step], kill: Moment) -> float:
    """When the job was further than it had been when the node was killed."""
    return min(each.at for each in notes if each.at > kill.at and each.step > kill.step)
