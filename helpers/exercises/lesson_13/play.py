"""A schedule on paper: when each instruction runs, and what a stage holds meanwhile.

What is said of a stage is a list of ("F", microbatch, chunk) and ("B", microbatch, chunk), as the
drivers give it; one chunk a stage. Nothing here knows what a good schedule is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Told = Sequence[Any]  # of one stage: tuples

WORDS = {"F": "Forward", "B": "Backward"}


@dataclass(frozen=True)
class Played:
    """How a schedule went. ends: of each stage, in seconds. waiting: who waits for what, for ever.

    waiting: for each stage that is stuck, its instruction and the one that it waits for, as
    (kind, microbatch) and (kind, microbatch, stage).
    """

    ends: list[float]
    waiting: dict[int, tuple[tuple[str, int], tuple[str, int, int]]]

    @property
    def makespan(self) -> float:
        """When the last stage is done, in seconds."""
        return max(self.ends)


def play(told: Sequence[Told], forward: float, backward: float, latency: float = 0.0) -> Played:
    """Run every stage's list, each instruction as soon as its stage and its input are there.

    forward, backward: seconds of an instruction. latency: seconds from one stage to the next.
    """
    stages, at = len(told), [0] * len(told)
    clock = [0.0] * stages
    done: dict[tuple[str, int, int], float] = {}
    moved = True
    while moved:
        moved = False
        for stage, mine in enumerate(told):
            while at[stage] < len(mine):
                kind, microbatch = mine[at[stage]][:2]
                before = _before(kind, microbatch, stage, stages)
                if before is not None and before not in done:
                    break
                there = 0.0 if before is None else done[before]
                if before is not None and before[2] != stage:
                    there += latency
                seconds = forward if kind == "F" else backward
                clock[stage] = max(clock[stage], there) + seconds
                done[kind, microbatch, stage] = clock[stage]
                at[stage] += 1
                moved = True
    waiting = {}
    for stage, mine in enumerate(told):
        if at[stage] < len(mine):
            kind, microbatch = mine[at[stage]][:2]
            before = _before(kind, microbatch, stage, stages)
            assert before is not None
            waiting[stage] = ((kind, microbatch), before)
    return Played(clock, waiting)


def _before(kind: str, microbatch: int, stage: int, stages: int) -> tuple[str, int, int] | None:
    """What has to be done before an instruction, None where nothing has."""
    if kind == "F":
        return None if stage == 0 else ("F", microbatch, stage - 1)
    if stage == stages - 1:
        return ("F", microbatch, stage)
    return ("B", microbatch, stage + 1)


def held(told: Told) -> int:
    """The most microbatches that have gone forward and not yet back, at any time."""
    most = now = 0
    for each in told:
        now += 1 if each[0] == "F" else -1
        most = max(most, now)
    return most


def written(kind: str, microbatch: Any) -> str:
    """An instruction as it is written, such as "Forward(2)"."""
    return f"{WORDS[kind]}({microbatch})"
