"""Exercise 13.2, GPipe's schedule.

`gpipe(stage, stages, microbatches) -> Iterator[Instruction]`: every stage goes forward with all
microbatches in order, then back with all of them, the last one first (Huang et al. 2019, section
2.3 and figure 2). The claim: each stage's list is that; played on paper it comes to its end in
(m + p − 1) slots there and as many back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing
from helpers.exercises.drives_pipeline import schedules
from helpers.exercises.lesson_13 import gpipe_wrong as wrong
from helpers.exercises.lesson_13 import told
from helpers.exercises.lesson_13.play import held, play, written
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_FORWARD, _BACKWARD = 1.0, 2.0


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 stages; fewer microbatches than stages too; else other numbers."""
    random = rng(seed, "13.2")
    shapes = [(3, 4), (1, 3), (2, 5), (5, 3), (3, 1)]
    if seed:
        shapes = [(stages, int(random.integers(3, 13))) for stages in (3, 1, 2, 5)]
        shapes.append((int(random.integers(6, 10)), int(random.integers(2, 5))))
    return [shape_case(stages, microbatches) for stages, microbatches in shapes]


def shape_case(stages: int, microbatches: int, **facts: Any) -> Case:
    """A case of so many stages and microbatches."""
    pieces = count(microbatches, "microbatch", "microbatches")
    name = f"With {count(stages, 'stage')} and {pieces}"
    facts |= {"stages": stages, "microbatches": microbatches}
    return Case(name, ((stages, microbatches),), facts=facts)


def _kinds(mine: Sequence[Any], kind: str) -> list[int]:
    """The microbatches of one kind of instruction, in order."""
    return [microbatch for each, microbatch, _ in mine if each == kind]


def claim(case: Case, seen: Observation) -> str | None:
    """All forward, then all back, the last one first."""
    found = told.fault(case, seen)
    if found:
        return found
    microbatches = case.facts["microbatches"]
    for stage, mine in enumerate(told.lists(seen)):
        if any(kind == "B" for kind, _, _ in mine[:microbatches]):
            at = next(place for place, each in enumerate(mine) if each[0] == "B")
            return (
                f"{case.name}, stage {stage} goes back after {count(at, 'forward')}; GPipe goes "
                f"forward with all {microbatches} first."
            )
        there, back = _kinds(mine, "F"), _kinds(mine, "B")
        if there != sorted(there) or back != sorted(back, reverse=True):
            return (
                f"{case.name}, stage {stage} goes forward with {listing(there)} and back with "
                f"{listing(back)}; there from the first to the last, back from the last to the "
                "first."
            )
    return None


def _whole(look: Any) -> Any:
    """A question about lists that are schedules at all, and can be played to their end."""

    def asked(case: Case, seen: Observation) -> str | None:
        if told.fault(case, seen):
            return None
        found: str | None = look(case, told.lists(seen))
        return found

    return asked


@_whole
def _one_at_a_time(case: Case, lists: list[Any]) -> str | None:
    stages, microbatches = case.facts["stages"], case.facts["microbatches"]
    if microbatches == 1 or any(held(mine) > 1 for mine in lists):
        return None
    slow = play(lists, _FORWARD, _BACKWARD).makespan
    quick = (microbatches + stages - 1) * (_FORWARD + _BACKWARD)
    return (
        f"{case.name}, each stage goes back with a microbatch before it starts the next one, and "
        f"the others idle: the step takes {slow:g} slots instead of {quick:g}. Go forward with all "
        "microbatches first."
    )


@_whole
def _interleaves(case: Case, lists: list[Any]) -> str | None:
    early = [
        stage
        for stage, mine in enumerate(lists)
        if any(kind == "B" for kind, _, _ in mine[: case.facts["microbatches"]])
    ]
    if not early:
        return None
    mine = lists[early[0]]
    at = next(place for place, each in enumerate(mine) if each[0] == "B")
    return (
        f"{case.name}, stage {early[0]} goes back after {count(at, 'forward')}: that is the way of "
        f"1F1B, the next exercise. GPipe goes forward with all {case.facts['microbatches']} first."
    )


@_whole
def _first_back_first(case: Case, lists: list[Any]) -> str | None:
    for stage, mine in enumerate(lists):
        there, back = _kinds(mine, "F"), _kinds(mine, "B")
        if len(back) > 1 and there == sorted(there) and back == sorted(back):
            return (
                f"{case.name}, stage {stage} goes back with {written('B', back[0])} first. GPipe "
                f"begins with the last one, {written('B', back[-1])}, whose activations were "
                "made just now: with recomputation they need not be made again."
            )
    return None


@_whole
def _backwards_there(case: Case, lists: list[Any]) -> str | None:
    for stage, mine in enumerate(lists):
        there = _kinds(mine, "F")
        if len(there) > 1 and there == sorted(there, reverse=True):
            return (
                f"{case.name}, stage {stage} goes forward from the last microbatch to the first, "
                f"starting with {written('F', there[0])}: only the way back is turned round."
            )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    whole = play(told.lists(seen[0]), _FORWARD, _BACKWARD).makespan
    sizes = sorted({case.facts["stages"] for case in cases})
    return (
        f"Passed on {listing(sizes)} stages: {facts['microbatches']} microbatches on "
        f"{facts['stages']} stages take {whole:g} slots, where a forward takes one and a backward "
        f"two, and every stage holds {facts['microbatches']} at once."
    )


def reference(stage: int, stages: int, microbatches: int) -> Any:
    """The course's own."""
    from helpers.algorithms.pipeline.schedules import gpipe

    return gpipe(stage, stages, microbatches)


EXERCISE = Exercise(
    number="13.2",
    title="GPipe's schedule",
    stars=2,
    minutes=12,
    points=3,
    function="gpipe",
    asks=(
        "the instructions of one stage, in order: Forward for every microbatch from the first to "
        "the last, then Backward for every one from the last to the first."
    ),
    cases=cases,
    drive=schedules,
    claim=claim,
    mistakes=(
        *told.MISTAKES,
        Mistake("one microbatch at a time", _one_at_a_time),
        Mistake("goes back before all have gone forward", _interleaves),
        Mistake("goes back from the first to the last", _first_back_first),
        Mistake("goes forward from the last to the first", _backwards_there),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "returns the first", wrong.returns_the_first, hint="`return` ends the function"
        ),
        WrongAnswer(
            "returns nothing", wrong.returns_nothing, hint="got None instead of instructions"
        ),
        WrongAnswer("for ever", wrong.for_ever, hint="stop after the last Backward"),
        WrongAnswer("yields pairs", wrong.yields_pairs, hint="give `Forward(i)` and `Backward(i)`"),
        WrongAnswer("yields classes", wrong.yields_classes, hint="a class without its microbatch"),
        WrongAnswer("names the stage", wrong.names_the_stage, hint="leave it at 0"),
        WrongAnswer("counts from 1", wrong.counts_from_1, hint="and there are microbatches"),
        WrongAnswer("forgets the last", wrong.forgets_the_last, hint="never gets Forward"),
        WrongAnswer(
            "back on the last alone", wrong.back_on_the_last_alone, hint="never gets Backward"
        ),
        WrongAnswer("one at a time", wrong.one_at_a_time, hint="and the others idle"),
        WrongAnswer("1F1B", wrong.one_forward_one_backward, hint="the next exercise"),
        WrongAnswer("first back first", wrong.first_back_first, hint="need not be made again"),
        WrongAnswer("backwards there", wrong.backwards_there, hint="only the way back is turned"),
        WrongAnswer("first waits", wrong.first_stage_waits, hint="nobody moves any more"),
    ),
    ranked=False,
)
