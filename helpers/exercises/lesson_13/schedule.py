"""Schedules, as stages are told them: played on paper, and what may be wrong with any of them.

What a stage is told is a list of ("F", microbatch, chunk) and ("B", …), as the drivers give it, or
("I", …) and ("W", …) for a backward that is cut in two; one chunk a stage. Nothing here knows what
a good schedule is. The questions about one go from what makes a list no schedule at all to what
makes it one that nobody can run. A case's "kinds" are the letters that its stages should be told.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, product
from typing import Any

from helpers.algorithms.pipeline.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
    Instruction,
    Kind,
)
from helpers.algorithms.pipeline.timetable import Span, makespan, timetable
from helpers.exercises.compare import Other, count
from helpers.exercises.drives.calling import Function, failed, wrong_signature
from helpers.exercises.drives.values import plain
from helpers.exercises.spec import Case, Look, Mistake, Observation, first_said

Told = Sequence[Any]  # of one stage: tuples

KINDS: dict[str, Kind] = {"F": Forward, "B": Backward, "I": BackwardInput, "W": BackwardWeights}


_SHORT: dict[type, str] = {Forward: "F", Backward: "B"}
_HALVES: dict[type, str] = {**_SHORT, BackwardInput: "I", BackwardWeights: "W"}
_LONG: dict[str, type[Forward] | type[Backward]] = {"F": Forward, "B": Backward}


def schedules(fn: Function, case: Case) -> Observation:
    """Call `fn(stage, stages, microbatches)` for every stage.

    A case's arguments are (stages, microbatches). `values[0][stage]` is what that stage is told:
    `{"told": tuples}`; `{"told", "endless": True}` where it goes on for ever, and the first of it
    stands here; `{"gave": value}` where it is nothing that has items. An item that is no
    instruction stands as `("?", value)`.
    """
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    stages, microbatches = case.args[0]
    most = 4 * microbatches + 16  # twice of what there is to do, and some
    try:
        told = [_told(fn(stage, stages, microbatches), most) for stage in range(stages)]
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[told])


def halves(fn: Function, case: Case) -> Observation:
    """Call `fn(stage, stages, microbatches, times)` for every stage, as `schedules` does.

    A case's arguments are (stages, microbatches, times). Halves of a backward are instructions too.
    """
    trouble = wrong_signature(fn, 4)
    if trouble:
        return trouble
    stages, microbatches, times = case.args[0]
    most = 6 * microbatches + 16
    try:
        told = [
            _told(fn(stage, stages, microbatches, times), most, _HALVES) for stage in range(stages)
        ]
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[told])


def _told(given: Any, most: int, short: Mapping[type, str] = _SHORT) -> dict[str, Any]:
    if not isinstance(given, Iterable):
        return {"gave": plain(given)}
    items = [spelled(item, short) for item in islice(given, most + 1)]
    if len(items) > most:
        return {"told": items[:most], "endless": True}
    return {"told": items}


def spelled(item: Any, short: Mapping[type, str] = _SHORT) -> tuple[Any, ...]:
    """An instruction in plain values; anything else as `("?", value)`."""
    letter = short.get(type(item))
    if letter is None:
        return ("?", plain(item))
    return (letter, _whole(item.microbatch), _whole(item.chunk))


def _whole(value: Any) -> Any:
    """A whole number of any kind as an int; anything else in plain values."""
    try:
        return operator.index(value)
    except TypeError:
        return plain(value)


def instruction(short: str, microbatch: int) -> Instruction:
    """The instruction that `("F", 0)` stands for."""
    return _LONG[short](microbatch)


def shape_case(stages: int, microbatches: int, **facts: Any) -> Case:
    """A case of so many stages and microbatches, with backwards in one piece."""
    name = f"With {count(stages, 'stage')} and {pieces(microbatches)}"
    facts |= {"stages": stages, "microbatches": microbatches, "kinds": "FB"}
    return Case(name, ((stages, microbatches),), facts=facts)


def pieces(number: int) -> str:
    """ "1 microbatch", "2 microbatches"."""
    return count(number, "microbatch", "microbatches")


def lists(seen: Observation) -> list[Any]:
    """Every stage's tuples."""
    return [mine["told"] for mine in seen.values[0]]


def played(
    told: Sequence[Told], costs: Mapping[str, float], latency: float = 0.0
) -> list[list[Span]]:
    """When each stage does what: each instruction as soon as its stage and its input are there.

    costs: seconds of each kind. latency: seconds from one stage to the next. Raises ValueError as
    `timetable` does, where stages wait for each other.
    """
    streams = [[KINDS[kind](number) for kind, number, *_ in mine] for mine in told]
    cost = {KINDS[kind]: seconds for kind, seconds in costs.items()}
    return timetable(streams, lambda stage, now: cost[type(now)], latency)


def seconds(told: Sequence[Told], forward: float, backward: float, latency: float = 0.0) -> float:
    """How long all stages take, as `played` has it."""
    return makespan(played(told, {"F": forward, "B": backward}, latency))


def held(told: Told) -> int:
    """The most microbatches that have gone forward and not yet back, at any time."""
    most = now = 0
    for kind, *_ in told:
        now += {"F": 1, "I": 0}.get(kind, -1)
        most = max(most, now)
    return most


def written(kind: str, microbatch: Any) -> str:
    """An instruction as it is written, such as "Forward(2)"."""
    return f"{KINDS[kind].__name__}({microbatch})"


def of_each_stage(ask: Callable[[Case, Any, str], Iterator[str]]) -> Look:
    """A question about a stage: of the case, what the stage is told, and its name."""

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for stage, mine in enumerate(seen.values[0]):
            yield from ask(case, mine, f"stage {stage}")

    return look


@of_each_stage
def no_list(case: Case, mine: Any, stage: str) -> Iterator[str]:
    if "told" in mine:
        return
    gave, kinds = mine["gave"], case.facts["kinds"]
    if isinstance(gave, Other) and gave.kind in [KINDS[kind].__name__ for kind in kinds + "B"]:
        yield (
            f"{stage} got a single {gave.kind}: `return` ends the function at the first one. Write "
            "`yield`, and go on."
        )
    what = _plainly(gave) if gave is None or "B" in kinds else "something else"
    yield f"{stage} got {what} instead of instructions: `yield` each of them, in order."


@of_each_stage
def no_end(case: Case, mine: Any, stage: str) -> Iterator[str]:
    kinds = case.facts["kinds"]
    if mine.get("endless"):
        work, last = len(kinds) * case.facts["microbatches"], KINDS[kinds[-1]].__name__
        yield (
            f"{stage} is still given instructions after {len(mine['told'])}, and there is work for "
            f"{work}: stop after the last {last}."
        )


@of_each_stage
def _no_instruction(case: Case, mine: Any, stage: str) -> Iterator[str]:
    for place, item in enumerate(mine["told"]):
        if item[0] not in KINDS:
            yield f"instruction {place} of {stage} is {_no_instruction_is(item[1])}."


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


@of_each_stage
def _other_numbers(case: Case, mine: Any, stage: str) -> Iterator[str]:
    last = case.facts["microbatches"] - 1
    for kind, microbatch, chunk in mine["told"]:
        if chunk != 0:
            yield (
                f"{stage} is told about chunk {_plainly(chunk)} of its own. Chunks are pieces of "
                "the model on one rank, and here each rank has one: leave it at 0."
            )
        if type(microbatch) is not int:
            yield (
                f"{stage} is given {KINDS[kind].__name__} with {_plainly(microbatch)} in the place "
                "of a microbatch's number: a whole number belongs there."
            )
        if not 0 <= microbatch <= last:
            there = f"are microbatches 0 to {last}" if last else "is microbatch 0 alone"
            yield f"{stage} is given {written(kind, microbatch)}, and there {there}."


@of_each_stage
def not_once(case: Case, mine: Any, stage: str) -> Iterator[str]:
    found = Counter((kind, microbatch) for kind, microbatch, _ in mine["told"])
    each = "every microbatch goes through every stage once forward and once backward."
    if "B" not in case.facts["kinds"]:
        each = "each part of each microbatch is done once on every stage."
    for kind, microbatch in product(case.facts["kinds"], range(case.facts["microbatches"])):
        times, what = found[kind, microbatch], written(kind, microbatch)
        if times != 1:
            said = f"gets {what} {count(times, 'time')}" if times else f"never gets {what}"
            yield f"{stage} {said}: {each}"


@of_each_stage
def _too_soon(case: Case, mine: Any, stage: str) -> Iterator[str]:
    gone = set()
    for kind, microbatch, _ in mine["told"]:
        if kind == "F":
            gone.add(microbatch)
        elif microbatch not in gone:
            yield (
                f"{stage} is told {written('B', microbatch)} before {written('F', microbatch)}: "
                "there is nothing to go back through yet."
            )


def _stuck(case: Case, seen: Observation) -> Iterator[str]:
    """A stage that waits for one behind it, and that for a forward which comes later in the first.

    Where any stages wait for each other, two neighbours do so.
    """
    for stage, (mine, behind) in enumerate(pairwise(lists(seen))):
        own, other = ([each[:2] for each in stream] for stream in (mine, behind))
        for at, back in enumerate(own):
            first = other[: other.index(("B", back[1]))] if back[0] == "B" else []
            lacks = next((each for each in first if each[0] == "F" and each in own[at:]), None)
            if lacks:
                yield (
                    f"nobody moves any more: {written(*back)} of stage {stage} waits for that of "
                    f"stage {stage + 1}, which does {written(*lacks)} first, and that waits for "
                    f"stage {stage}'s. Before a stage waits to go back, it has to go forward with "
                    "all that the stages after it need to start."
                )


NO_SCHEDULE = (
    Mistake("no instructions at all", no_list),
    Mistake("instructions without an end", no_end),
    Mistake("something that is no instruction", _no_instruction),
    Mistake("a microbatch that is not there", _other_numbers),
    Mistake("work left out or done twice", not_once),
    Mistake("backward before forward", _too_soon),
    Mistake("stages that wait for each other", _stuck),
)


def faults(case: Case, seen: Observation, mistakes: Sequence[Mistake]) -> Iterator[str | None]:
    """What some mistakes say, one after the other, of lists for as many stages as there are."""
    stages = len(seen.values[0])
    if stages != case.facts["stages"]:
        yield f"there are instructions for {stages} stages."
    for mistake in mistakes:
        yield first_said(mistake.look, case, seen)


def returns_nothing(stage: int, stages: int, microbatches: int, times: int = 1) -> None:
    """A wrong answer to all exercises that ask for a schedule."""
