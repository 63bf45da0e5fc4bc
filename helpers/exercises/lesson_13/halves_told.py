"""Schedules whose backward is cut in two, played on paper, and what may be wrong with any of them.

What a stage is told is a list of ("F", microbatch, chunk), ("I", …) for the half of a backward that
makes the gradient of the input, and ("W", …) for that of the weights; ("B", …) is one in one piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

from helpers.algorithms.pipeline.instructions import (
    BackwardInput,
    BackwardWeights,
    Forward,
    Kind,
)
from helpers.algorithms.pipeline.timetable import Span, timetable
from helpers.exercises.compare import Other, count
from helpers.exercises.spec import Case, Mistake, Observation, first_said

Told = Sequence[Any]  # of one stage: tuples

WORDS = {"F": "Forward", "I": "BackwardInput", "W": "BackwardWeights"}
_KINDS: dict[str, Kind] = {"F": Forward, "I": BackwardInput, "W": BackwardWeights}


def lists(seen: Observation) -> list[Any]:
    """Every stage's tuples."""
    return [mine["told"] for mine in seen.values[0]]


def played(told: Sequence[Told]) -> list[list[Span]]:
    """When each stage does what, where each part takes a second. Raises ValueError as `timetable`
    does, where stages wait for each other."""
    streams = [[_KINDS[kind](microbatch) for kind, microbatch, _ in mine] for mine in told]
    return timetable(streams, lambda stage, now: 1.0)


def takes(told: Sequence[Told]) -> float:
    """Seconds of a step."""
    return max(row[-1].end for row in played(told))


def idles(told: Sequence[Told]) -> float:
    """The most seconds that a stage idles between its first instruction and its last."""
    return max(row[-1].end - row[0].start - len(row) for row in played(told))


def held(told: Told) -> int:
    """The most microbatches that have gone forward and whose W is still to come, at any time."""
    most = now = 0
    for kind, _, _ in told:
        now += {"F": 1, "I": 0, "W": -1}[kind]
        most = max(most, now)
    return most


def _of_each(case: Case, seen: Observation, ask: Any) -> str | None:
    for stage, mine in enumerate(seen.values[0]):
        said = ask(mine, case.facts["microbatches"], f"stage {stage}")
        if said:
            return f"{case.name}, {said}"
    return None


def _no_list(mine: Any, microbatches: int, stage: str) -> str | None:
    if "told" in mine:
        return None
    gave = mine["gave"]
    if isinstance(gave, Other) and gave.kind in (*WORDS.values(), "Backward"):
        return (
            f"{stage} got a single {gave.kind}: `return` ends the function at the first one. Write "
            "`yield`, and go on."
        )
    what = "None" if gave is None else "something else"
    return f"{stage} got {what} instead of instructions: `yield` each of them, in order."


def _no_end(mine: Any, microbatches: int, stage: str) -> str | None:
    if not mine.get("endless"):
        return None
    return (
        f"{stage} is still given instructions after {len(mine['told'])}, and there is work for "
        f"{3 * microbatches}: stop after the last BackwardWeights."
    )


def _no_instruction(mine: Any, microbatches: int, stage: str) -> str | None:
    for place, item in enumerate(mine["told"]):
        if item[0] == "B":
            return (
                f"{stage} gets a Backward in one piece, as instruction {place}: cut it in "
                "two, `BackwardInput(i)` and, later, `BackwardWeights(i)`."
            )
        if item[0] not in WORDS:
            return (
                f"instruction {place} of {stage} is none: give `Forward(i)`, `BackwardInput(i)` "
                "and `BackwardWeights(i)` alone, as calls."
            )
        if item[2] != 0 or type(item[1]) is not int or not 0 <= item[1] < microbatches:
            return (
                f"{stage} is given {WORDS[item[0]]}({item[1]!r}), and there are microbatches 0 to "
                f"{microbatches - 1}, in one chunk."
            )
    return None


def _not_once(mine: Any, microbatches: int, stage: str) -> str | None:
    found = Counter((kind, microbatch) for kind, microbatch, _ in mine["told"])
    for kind, microbatch in product(WORDS, range(microbatches)):
        times, what = found[kind, microbatch], f"{WORDS[kind]}({microbatch})"
        if times != 1:
            said = f"gets {what} {count(times, 'time')}" if times else f"never gets {what}"
            return f"{stage} {said}: each part of each microbatch is done once on every stage."
    return None


def _too_soon(mine: Any, microbatches: int, stage: str) -> str | None:
    place = {item[:2]: at for at, item in enumerate(mine["told"])}
    steps = (("F", "I"), ("I", "W"))
    for (sooner, later), microbatch in product(steps, range(microbatches)):
        if place[later, microbatch] < place[sooner, microbatch]:
            one, other = (f"{WORDS[kind]}({microbatch})" for kind in (later, sooner))
            return f"{stage} is told {one} before {other}, which makes what it needs."
    return None


def _stuck(case: Case, seen: Observation) -> str | None:
    try:
        played(lists(seen))
    except ValueError:
        return (
            f"{case.name}, nobody moves any more: a stage waits for a gradient before it has gone "
            "forward with all that the stages after it need to start."
        )
    return None


def _each(ask: Any) -> Any:
    return lambda case, seen: _of_each(case, seen, ask)


MISTAKES = (
    Mistake("no instructions at all", _each(_no_list)),
    Mistake("instructions without an end", _each(_no_end)),
    Mistake("something that is no half", _each(_no_instruction)),
    Mistake("work left out or done twice", _each(_not_once)),
    Mistake("a half before what it needs", _each(_too_soon)),
    Mistake("stages that wait for each other", _stuck),
)


def fault(case: Case, seen: Observation) -> str | None:
    """Why the lists are no schedule that can be run; None where they are one."""
    return next(filter(None, (first_said(mistake.look, case, seen) for mistake in MISTAKES)), None)
