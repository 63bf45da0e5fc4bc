"""Schedules: asked for, played on paper, and what may be wrong with any of them.

What a stage is told is a list of ("F", microbatch, chunk) and ("B", …), or ("I", …) and ("W", …)
for a backward that is cut in two; one chunk a stage. Nothing here knows what a good schedule is.
The questions about one go from what makes a list no schedule at all to what makes it one that
nobody can run. A case's "kinds" are the letters that its stages should be told, in their order.
"""

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise, product
from typing import Any

from helpers.checks.compare import Other, count, listing
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Mistake, Observation, first_said
from helpers.lessons.pipelines.algorithms import instructions
from helpers.lessons.pipelines.algorithms.timetable import Span, makespan, timetable

Told = Sequence[Any]  # of one stage: tuples
Faults = Callable[[Case, Observation], Iterator[str]]

KINDS: dict[str, instructions.Kind] = {
    "F": instructions.Forward,
    "B": instructions.Backward,
    "I": instructions.BackwardInput,
    "W": instructions.BackwardWeights,
}


def schedules(fn: Function, case: Case) -> Observation:
    """Call `fn(stage, *the case's arguments)` for every stage.

    These are (stages, microbatches), and times where backwards are cut in two.
    `values[0][stage]` is what that stage is told: `{"told": tuples}`, the first of them where it
    goes on for ever; `{"gave": value}` where it is nothing that has items. An item that is no
    instruction stands as `("?", value)`.
    """
    args = case.args[0]
    trouble = wrong_signature(fn, 1 + len(args))
    if trouble:
        return trouble
    most = 2 * len(args) * args[1] + 16  # twice of what there is to do, and some
    told: list[dict[str, Any]] = []
    try:
        for stage in range(args[0]):
            given = fn(stage, *args)
            if isinstance(given, Iterable):
                told.append({"told": [spelled(item) for item in islice(given, most)]})
            else:
                told.append({"gave": plain(given)})
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[told])


def spelled(item: Any) -> tuple[Any, ...]:
    """An instruction in plain values; anything else as `("?", value)`."""
    for letter, kind in KINDS.items():
        if type(item) is kind:
            return letter, _whole(item.microbatch), _whole(item.chunk)
    return "?", plain(item)


def _whole(value: Any) -> Any:
    """A whole number of any kind as an int; anything else in plain values."""
    try:
        return operator.index(value)
    except TypeError:
        return plain(value)


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
    told: Sequence[Told], forward: float = 1.0, backward: float = 1.0, latency: float = 0.0
) -> list[list[Span]]:
    """When each stage does what: each instruction as soon as its stage and its input are there.

    forward, backward: their seconds; half a backward takes one. latency: seconds from one stage to
    the next. Raises ValueError as `timetable` does, where stages wait for each other.
    """
    takes = {"F": forward, "B": backward, "I": 1.0, "W": 1.0}
    cost = {KINDS[kind]: takes[kind] for kind in KINDS}
    streams = [[KINDS[kind](number) for kind, number, *_ in mine] for mine in told]
    return timetable(streams, lambda stage, now: cost[type(now)], latency)


def seconds(
    told: Sequence[Told], forward: float = 1.0, backward: float = 1.0, latency: float = 0.0
) -> float:
    """How long all stages take, as `played` has it."""
    return makespan(played(told, forward, backward, latency))


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


def of_each_stage(ask: Callable[[Case, Any, str], Iterator[str]]) -> Faults:
    """A question about a stage: of the case, what the stage is told, and its name."""

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for stage, mine in enumerate(seen.values[0]):
            yield from ask(case, mine, f"stage {stage}")

    return look


@of_each_stage
def no_list(case: Case, mine: Any, stage: str) -> Iterator[str]:
    if "told" in mine:
        return
    gave = mine["gave"]
    if isinstance(gave, Other) and gave.kind in [kind.__name__ for kind in KINDS.values()]:
        yield (
            f"{stage} got a single {gave.kind}: `return` ends the function at the first one. Write "
            "`yield`, and go on."
        )
    yield f"{stage} got {_plainly(gave)} instead of instructions: `yield` each of them, in order."


@of_each_stage
def no_end(case: Case, mine: Any, stage: str) -> Iterator[str]:
    kinds, given = case.facts["kinds"], len(mine["told"])
    work = len(kinds) * case.facts["microbatches"]
    if given > 2 * work:
        yield (
            f"{stage} is still given instructions after {given}, and there is work for {work}: "
            f"stop after the last {KINDS[kinds[-1]].__name__}."
        )


@of_each_stage
def no_instruction(case: Case, mine: Any, stage: str) -> Iterator[str]:
    """In words of the lesson, what stands where an instruction should, and what to write."""
    right = listing(f"`{KINDS[each].__name__}(i)`" for each in case.facts["kinds"])
    for place, (letter, item, *_) in enumerate(mine["told"]):
        if letter in case.facts["kinds"]:
            continue
        other = _plainly(item) if letter == "?" else written(letter, item)
        what = f"{other}: give {right} alone"
        kind = item.kind if isinstance(item, Other) else ""
        if isinstance(item, tuple) and len(item) == 2:
            first = "a class" if item[0] == Other("type") else _plainly(item[0])
            what = f"{first} and {_plainly(item[1])} side by side: write `Forward(i)`, as a call"
        elif isinstance(item, list | tuple) or kind in ("generator", "map", "list_iterator"):
            what = (
                "something that holds several things: hand out each instruction by itself, by a "
                "loop or by `yield from`"
            )
        elif kind == "type":
            what = "a class without its microbatch: write `Forward(i)`"
        yield f"instruction {place} of {stage} is {what}."


def _plainly(value: Any) -> str:
    """A number or a text as it is, None, or "something else"."""
    if isinstance(value, str):
        return f'the text "{value}"' if len(value) < 20 else "a text"
    if value is None or type(value) in (int, float):
        return f"{value!r}"
    return "something else"


@of_each_stage
def other_numbers(case: Case, mine: Any, stage: str) -> Iterator[str]:
    last, whole = case.facts["microbatches"] - 1, "B" in case.facts["kinds"]
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
            there = there if whole else f"{there}, in one chunk"
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
def too_soon(case: Case, mine: Any, stage: str) -> Iterator[str]:
    kinds, at = case.facts["kinds"], {item[:2]: place for place, item in enumerate(mine["told"])}
    why = ", which makes what it needs"
    if kinds == "FB":
        why = ": there is nothing to go back through yet"
    for (sooner, later), i in product(pairwise(kinds), range(case.facts["microbatches"])):
        if at[later, i] < at[sooner, i]:
            yield f"{stage} is told {written(later, i)} before {written(sooner, i)}{why}."


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
    Mistake("something that is no instruction", no_instruction),
    Mistake("a microbatch that is not there", other_numbers),
    Mistake("work left out or done twice", not_once),
    Mistake("backward before forward", too_soon),
    Mistake("stages that wait for each other", _stuck),
)


def faults(case: Case, seen: Observation, mistakes: Sequence[Mistake]) -> Iterator[str | None]:
    """What some mistakes say, one after the other."""
    for mistake in mistakes:
        yield first_said(mistake.look, case, seen)


def returns_nothing(stage: int, stages: int, microbatches: int, times: int = 1) -> None:
    """A wrong answer to all exercises that ask for a schedule."""
