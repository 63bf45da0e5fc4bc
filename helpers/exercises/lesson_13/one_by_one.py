"""Exercise 13.3, one forward, one backward.

`one_forward_one_backward(stage, stages, microbatches) -> Iterator[Instruction]` (Narayanan et al.
2019, section 3.2, with the flush of Narayanan et al. 2021, section 2.2.1). The claim: a schedule
that runs, in which stage s holds at most p − s microbatches at once, and which is as short as any
can be, (m + p − 1) slots there and as many back. Any order that does this is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing
from helpers.exercises.drives_pipeline import schedules
from helpers.exercises.lesson_13 import one_by_one_wrong as wrong
from helpers.exercises.lesson_13 import told
from helpers.exercises.lesson_13.gpipe import shape_case
from helpers.exercises.lesson_13.play import held, play, written
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2, 5 and 4 stages; fewer microbatches than stages too; else other numbers."""
    random = rng(seed, "13.3")
    shapes = [(3, 5, 1.0, 2.0), (1, 3, 1.0, 2.0), (2, 4, 1.0, 1.0), (5, 8, 1.0, 2.0)]
    shapes += [(4, 2, 1.0, 3.0)]
    if seed:
        shapes = []
        for stages in (3, 1, 2, 5, int(random.integers(6, 9))):
            pieces = int(random.integers(stages + 1, stages + 9))
            if stages > 5:  # fewer than it takes to fill the pipeline
                pieces = int(random.integers(2, stages - 1))
            times = [float(random.integers(1, 5)) for _ in range(2)]
            shapes.append((stages, pieces, times[0], times[1]))
    return [shape_case(p, m, forward=f, backward=b) for p, m, f, b in shapes]


def _seconds(case: Case, lists: Sequence[Any]) -> float:
    return play(lists, case.facts["forward"], case.facts["backward"]).makespan


def _shortest(case: Case) -> float:
    """No schedule is shorter: the last stage starts after p − 1 forwards, and then all go back."""
    slots = case.facts["microbatches"] + case.facts["stages"] - 1
    return float(slots * (case.facts["forward"] + case.facts["backward"]))


def _may_hold(case: Case, stage: int) -> int:
    """The most microbatches that a stage may hold at once."""
    return int(min(case.facts["stages"] - stage, case.facts["microbatches"]))


def _holds_too_much(case: Case, lists: Sequence[Any]) -> int | None:
    """The first stage that holds more than it may."""
    return next((s for s, mine in enumerate(lists) if held(mine) > _may_hold(case, s)), None)


def claim(case: Case, seen: Observation) -> str | None:
    """It runs, holds little, and is as short as can be."""
    found = told.fault(case, seen)
    if found:
        return found
    lists = told.lists(seen)
    stage = _holds_too_much(case, lists)
    if stage is not None:
        return (
            f"{case.name}, stage {stage} holds {_pieces(held(lists[stage]))} at once; with 1F1B "
            f"{_may_hold(case, stage)} at most."
        )
    took, shortest = _seconds(case, lists), _shortest(case)
    if took > shortest * (1 + 1e-9):
        return f"{case.name}, the step takes {took:g} s; it can be done in {shortest:g} s."
    return None


def _pieces(number: int) -> str:
    return count(number, "microbatch", "microbatches")


def _whole(look: Callable[[Case, list[Any]], str | None]) -> Any:
    """A question about lists that are schedules at all, and can be played to their end."""

    def asked(case: Case, seen: Observation) -> str | None:
        return None if told.fault(case, seen) else look(case, told.lists(seen))

    return asked


def _ahead(mine: Sequence[Any]) -> int:
    """The forwards before the first backward."""
    return next((place for place, each in enumerate(mine) if each[0] == "B"), len(mine))


@_whole
def _all_first(case: Case, lists: list[Any]) -> str | None:
    microbatches = case.facts["microbatches"]
    if _holds_too_much(case, lists) is None or any(_ahead(m) < microbatches for m in lists):
        return None
    return (
        f"{case.name}, every stage goes forward with all {microbatches} first, as in GPipe, and "
        f"holds {microbatches} at once. Stage s needs p − s at most: after its first forwards it "
        "goes back with one before it goes forward with the next."
    )


@_whole
def _too_many_ahead(case: Case, lists: list[Any]) -> str | None:
    more = [held(mine) - _may_hold(case, stage) for stage, mine in enumerate(lists)]
    if max(more) <= 0:
        return None
    stage = more.index(max(more))
    most, may = held(lists[stage]), _may_hold(case, stage)
    if max(more) == 1 and more[0] == 1:
        return (
            f"{case.name}, stage {stage} holds {_pieces(most)} at once, one more than it needs: "
            f"the forward of the pair comes on top of the {_ahead(lists[stage]) - 1} before. Start "
            "with p − s − 1."
        )
    return (
        f"{case.name}, stage {stage} holds {_pieces(most)} at once, and needs {may}: the "
        "further back a stage, the sooner its first backward can come."
    )


def _takes(case: Case, lists: list[Any]) -> str:
    took, shortest = _seconds(case, lists), _shortest(case)
    return f"the step takes {took:g} s instead of {shortest:g} s"


@_whole
def _one_at_a_time(case: Case, lists: list[Any]) -> str | None:
    slow = _seconds(case, lists) > _shortest(case) * (1 + 1e-9)
    if not slow or any(held(mine) > 1 for mine in lists):
        return None
    return (
        f"{case.name}, every stage goes back with a microbatch before it starts the next one: "
        f"{_takes(case, lists)}. The stages in front have to go ahead, stage 0 with p − 1 "
        "forwards, before the pairs begin."
    )


@_whole
def _too_few_ahead(case: Case, lists: list[Any]) -> str | None:
    if _seconds(case, lists) <= _shortest(case) * (1 + 1e-9):
        return None
    for stage, mine in enumerate(lists):
        if held(mine) < _may_hold(case, stage):
            return (
                f"{case.name}, stage {stage} holds {_pieces(held(mine))} at once, and "
                f"{_takes(case, lists)}: it waits to go back while it could go forward. Start "
                f"with p − s − 1 forwards, and each pair is a forward and then a backward."
            )
    return None


@_whole
def _turned_round(case: Case, lists: list[Any]) -> str | None:
    if _seconds(case, lists) <= _shortest(case) * (1 + 1e-9):
        return None
    for stage, mine in enumerate(lists):
        back = [microbatch for kind, microbatch, _ in mine if kind == "B"]
        if back != sorted(back):
            at = next(i for i in range(1, len(back)) if back[i] < back[i - 1])
            return (
                f"{case.name}, stage {stage} goes back with {written('B', back[at - 1])} before "
                f"{written('B', back[at])}, whose gradient is there first: {_takes(case, lists)}. "
                "Go back from the first to the last."
            )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts, lists = cases[0].facts, told.lists(seen[0])
    sizes = sorted({case.facts["stages"] for case in cases})
    return (
        f"Passed on {listing(sizes)} stages: {_pieces(facts['microbatches'])} on "
        f"{facts['stages']} stages take {_seconds(cases[0], lists):g} s, as short as with GPipe, "
        f"and the stages hold {listing(held(mine) for mine in lists)} at once instead of "
        f"{facts['microbatches']} each."
    )


EXERCISE = Exercise(
    number="13.3",
    title="One forward, one backward",
    stars=3,
    minutes=25,
    points=4,
    function="one_forward_one_backward",
    asks=(
        "the instructions of one stage, in order: a schedule as short as GPipe's, in which stage s "
        "of p holds at most p − s microbatches at once."
    ),
    cases=cases,
    drive=schedules,
    claim=claim,
    mistakes=(
        *told.MISTAKES,
        Mistake("all forwards first", _all_first),
        Mistake("too many forwards ahead", _too_many_ahead),
        Mistake("one microbatch at a time", _one_at_a_time),
        Mistake("too few forwards ahead", _too_few_ahead),
        Mistake("goes back from the last to the first", _turned_round),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("GPipe", wrong.gpipe, hint="as in GPipe, and holds"),
        WrongAnswer(
            "one at a time", wrong.one_at_a_time, hint="The stages in front have to go ahead"
        ),
        WrongAnswer("one too many", wrong.one_too_many, hint="one more than it needs"),
        WrongAnswer(
            "as many everywhere", wrong.as_many_everywhere, hint="the further back a stage"
        ),
        WrongAnswer("one too few", wrong.one_too_few, hint="it waits to go back while it could"),
        WrongAnswer("wrong end", wrong.wrong_end, hint="nobody moves any more"),
        WrongAnswer("no end of the way back", wrong.no_cool_down, hint="never gets Backward"),
        WrongAnswer(
            "more than there are", wrong.more_than_there_are, hint="and there are microbatches"
        ),
        WrongAnswer("backward first", wrong.backward_first, hint="nothing to go back through yet"),
        WrongAnswer("last back first", wrong.last_back_first, hint="whose gradient is there first"),
        WrongAnswer("same number", wrong.same_number, hint="2 times ("),
    ),
    ranked=False,
)
