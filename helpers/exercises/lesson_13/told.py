"""Schedules, as stages are told them: played on paper, and what may be wrong with any of them.

What a stage is told is a list of ("F", microbatch, chunk) and ("B", microbatch, chunk), as the
drivers give it; one chunk a stage. Nothing here knows what a good schedule is. Each question about
one gives the hint, or None; they go from what makes a list no schedule at all to what makes it one
that nobody can run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from helpers.exercises.compare import Other, count, describe
from helpers.exercises.spec import Case, Look, Mistake, Observation

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


def _of_each_stage(ask: Callable[[Any, int, str], str | None]) -> Look:
    """A question about a stage: of what it is told, how many microbatches there are, its name."""

    def look(case: Case, seen: Observation) -> str | None:
        for stage, mine in enumerate(seen.values[0]):
            said = ask(mine, case.facts["microbatches"], f"stage {stage}")
            if said:
                return f"{case.name}, {said}"
        return None

    return look


@_of_each_stage
def _no_list(mine: Any, microbatches: int, stage: str) -> str | None:
    if "told" in mine:
        return None
    gave = mine["gave"]
    if isinstance(gave, Other) and gave.kind in WORDS.values():
        return (
            f"{stage} got a single {gave.kind}: `return` ends the function at the first one. Write "
            "`yield`, and go on."
        )
    return f"{stage} got {describe(gave)} instead of instructions: `yield` each of them, in order."


@_of_each_stage
def _no_end(mine: Any, microbatches: int, stage: str) -> str | None:
    if not mine.get("endless"):
        return None
    return (
        f"{stage} is still given instructions after {len(mine['told'])}, and there is work for "
        f"{2 * microbatches}: stop after the last Backward."
    )


@_of_each_stage
def _no_instruction(mine: Any, microbatches: int, stage: str) -> str | None:
    for place, item in enumerate(mine["told"]):
        if item[0] in WORDS:
            continue
        said = f"{describe(item[1])}: give `Forward(i)` and `Backward(i)` alone"
        if isinstance(item[1], Other) and item[1].kind == "type":
            said = "a class without its microbatch: write `Forward(i)`"
        return f"instruction {place} of {stage} is {said}."
    return None


@_of_each_stage
def _other_numbers(mine: Any, microbatches: int, stage: str) -> str | None:
    last = microbatches - 1
    for kind, microbatch, chunk in mine["told"]:
        if chunk != 0:
            return (
                f"{stage} is told about chunk {describe(chunk)} of its own. A chunk is one of "
                "several pieces of the model on one rank, and here each rank has one: leave it at "
                "0."
            )
        if type(microbatch) is not int:
            return f"{stage} is given microbatch {describe(microbatch)}, which is no whole number."
        if not 0 <= microbatch <= last:
            there = f"are microbatches 0 to {last}" if last else "is microbatch 0 alone"
            return f"{stage} is given {written(kind, microbatch)}, and there {there}."
    return None


@_of_each_stage
def _not_once(mine: Any, microbatches: int, stage: str) -> str | None:
    found = Counter((kind, microbatch) for kind, microbatch, _ in mine["told"])
    for kind, microbatch in product(WORDS, range(microbatches)):
        times, total = found[kind, microbatch], sum(found[kind, i] for i in range(microbatches))
        if times == 1:
            continue
        what = written(kind, microbatch)
        said = f"gets {what} {count(times, 'time')}" if times else f"never gets {what}"
        return (
            f"{stage} {said} ({total} of {microbatches} in all): every microbatch goes through "
            "every stage once forward and once backward."
        )
    return None


@_of_each_stage
def _too_soon(mine: Any, microbatches: int, stage: str) -> str | None:
    gone = set()
    for kind, microbatch, _ in mine["told"]:
        if kind == "F":
            gone.add(microbatch)
        elif microbatch not in gone:
            return (
                f"{stage} is told {written('B', microbatch)} before {written('F', microbatch)}: "
                "there is nothing to go back through yet."
            )
    return None


def _stuck(case: Case, seen: Observation) -> str | None:
    waiting = play(lists(seen), 1.0, 2.0).waiting
    if not waiting:
        return None
    words = [
        f"stage {stage} waits with {written(*own)} for {written(*other[:2])} of stage {other[2]}"
        for stage, (own, other) in sorted(waiting.items())
    ]
    return (
        f"{case.name}, nobody moves any more: {'; '.join(words)}. "
        "Before a stage waits to go back, it has to go forward with all that the stages after it "
        "need to start."
    )


MISTAKES = (
    Mistake("no instructions at all", _no_list),
    Mistake("instructions without an end", _no_end),
    Mistake("something that is no instruction", _no_instruction),
    Mistake("a microbatch that is not there", _other_numbers),
    Mistake("work left out or done twice", _not_once),
    Mistake("backward before forward", _too_soon),
    Mistake("stages that wait for each other", _stuck),
)


def fault(case: Case, seen: Observation) -> str | None:
    """Why the lists are no schedule that can be run; None where they are one."""
    stages = seen.values[0]
    if len(stages) != case.facts["stages"]:
        return f"{case.name}, there are instructions for {len(stages)} stages."
    return next(filter(None, (mistake.look(case, seen) for mistake in MISTAKES)), None)


def lists(seen: Observation) -> list[Any]:
    """Every stage's tuples."""
    return [mine["told"] for mine in seen.values[0]]
