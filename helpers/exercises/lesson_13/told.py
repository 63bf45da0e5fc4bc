"""Schedules, as stages are told them: played on paper, and what may be wrong with any of them.

What a stage is told is a list of ("F", microbatch, chunk) and ("B", microbatch, chunk), as the
drivers give it; one chunk a stage. Nothing here knows what a good schedule is. Each question about
one gives the hint, or None; they go from what makes a list no schedule at all to what makes it one
that nobody can run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

from helpers.algorithms.pipeline.instructions import Backward, Forward
from helpers.algorithms.pipeline.timetable import makespan, timetable
from helpers.exercises.compare import Other, count
from helpers.exercises.spec import Case, Look, Mistake, Observation, first_said

Told = Sequence[Any]  # of one stage: tuples

WORDS = {"F": "Forward", "B": "Backward"}


def seconds(told: Sequence[Told], forward: float, backward: float, latency: float = 0.0) -> float:
    """How long all stages take, each instruction as soon as its stage and its input are there.

    forward, backward: seconds of an instruction. latency: seconds from one stage to the next.
    """
    streams = [
        [(Forward if each[0] == "F" else Backward)(each[1]) for each in mine] for mine in told
    ]
    costs = {Forward: forward, Backward: backward}
    return makespan(timetable(streams, lambda stage, now: costs[type(now)], latency))


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
    return f"{stage} got {_plainly(gave)} instead of instructions: `yield` each of them, in order."


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
        if item[0] not in WORDS:
            return f"instruction {place} of {stage} is {_no_instruction_is(item[1])}."
    return None


def _no_instruction_is(item: Any) -> str:
    """In words of the lesson, what stands where an instruction should, and what to write."""
    kind = item.kind if isinstance(item, Other) else ""
    if isinstance(item, tuple) and len(item) == 2:
        first = "a class" if item[0] == Other("type") else _plainly(item[0])
        return f"{first} and {_plainly(item[1])} side by side: write `Forward(i)`, as a call"
    if isinstance(item, list | tuple) or kind in ("generator", "map", "list_iterator"):
        return (
            "something that holds several things: hand out each instruction by itself, by a loop "
            "or by `yield from`"
        )
    if kind == "type":
        return "a class without its microbatch: write `Forward(i)`"
    return f"{_plainly(item)}: give `Forward(i)` and `Backward(i)` alone"


def _plainly(value: Any) -> str:
    """A number or a text as it is, None, or "something else"."""
    if isinstance(value, str):
        return f'the text "{value}"' if len(value) < 20 else "a text"
    if value is None or type(value) in (int, float):
        return f"{value!r}"
    return "something else"


@_of_each_stage
def _other_numbers(mine: Any, microbatches: int, stage: str) -> str | None:
    last = microbatches - 1
    for kind, microbatch, chunk in mine["told"]:
        if chunk != 0:
            return (
                f"{stage} is told about chunk {_plainly(chunk)} of its own. Chunks are pieces of "
                "the model on one rank, and here each rank has one: leave it at 0."
            )
        if type(microbatch) is not int:
            return (
                f"{stage} is given {WORDS[kind]} with {_plainly(microbatch)} in the place of a "
                "microbatch's number: a whole number belongs there."
            )
        if not 0 <= microbatch <= last:
            there = f"are microbatches 0 to {last}" if last else "is microbatch 0 alone"
            return f"{stage} is given {written(kind, microbatch)}, and there {there}."
    return None


@_of_each_stage
def _not_once(mine: Any, microbatches: int, stage: str) -> str | None:
    found = Counter((kind, microbatch) for kind, microbatch, _ in mine["told"])
    for kind, microbatch in product(WORDS, range(microbatches)):
        times, what = found[kind, microbatch], written(kind, microbatch)
        if times == 1:
            continue
        said = f"gets {what} {count(times, 'time')}" if times else f"never gets {what}"
        return (
            f"{stage} {said}: every microbatch goes through every stage once forward and once "
            "backward."
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
    """A stage that waits for one behind it, and that for a forward which comes later in the first.

    Where any stages wait for each other, two neighbours do so.
    """
    for stage, (mine, behind) in enumerate(pairwise(lists(seen))):
        own, other = ([each[:2] for each in stream] for stream in (mine, behind))
        for at, back in enumerate(own):
            first = other[: other.index(("B", back[1]))] if back[0] == "B" else []
            lacks = next((each for each in first if each[0] == "F" and each in own[at:]), None)
            if lacks:
                return (
                    f"{case.name}, nobody moves any more: {written(*back)} of stage {stage} waits "
                    f"for that of stage {stage + 1}, which does {written(*lacks)} first, and that "
                    f"waits for stage {stage}'s. Before a stage waits to go back, it has to go "
                    "forward with all that the stages after it need to start."
                )
    return None


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
    return next(filter(None, (first_said(mistake.look, case, seen) for mistake in MISTAKES)), None)


def lists(seen: Observation) -> list[Any]:
    """Every stage's tuples."""
    return [mine["told"] for mine in seen.values[0]]
