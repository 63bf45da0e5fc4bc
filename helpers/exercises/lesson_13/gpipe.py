"""Exercise 13.2, GPipe's schedule.

`gpipe(stage, stages, microbatches) -> Iterator[Instruction]`: every stage goes forward with all
microbatches in order, then back with all of them, the last one first (Huang et al. 2019, section
2.3 and figure 2). The claim: each stage's list is that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from typing import Any

from helpers.algorithms.pipeline.instructions import Backward, Forward
from helpers.algorithms.pipeline.schedules import gpipe as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing
from helpers.exercises.drives_pipeline import schedules
from helpers.exercises.lesson_13 import told
from helpers.exercises.lesson_13.told import seconds
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer, first_said


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


def claim(case: Case, seen: Observation) -> str | None:
    """All forward, then all back, the last one first."""
    found = told.fault(case, seen)
    return found or next(
        filter(None, (first_said(family.look, case, seen) for family in _FAMILIES)), None
    )


def _back_too_soon(case: Case, seen: Observation) -> str | None:
    lists, pieces = told.lists(seen), case.facts["microbatches"]
    took, all_first = seconds(lists, 1.0, 2.0), 3.0 * (pieces + len(lists) - 1)
    for stage, mine in enumerate(lists):
        at = [kind for kind, _, _ in mine].index("B")
        if at < pieces:
            long = f" With 1 s forward and 2 s back the step takes {took:g} s instead"
            return (
                f"{case.name}, stage {stage} goes back after {count(at, 'forward')}; GPipe goes "
                f"forward with all {pieces} first."
                + (f"{long} of {all_first:g} s." if took > all_first else "")
            )
    return None


def _other_order(case: Case, seen: Observation) -> str | None:
    for stage, mine in enumerate(told.lists(seen)):
        there, back = ([each[1] for each in mine if each[0] == kind] for kind in "FB")
        if there != sorted(there):
            return (
                f"{case.name}, stage {stage} goes forward with {listing(there)}: from the first to "
                "the last, as they come; only the way back is turned round."
            )
        if back != sorted(back, reverse=True):
            return (
                f"{case.name}, stage {stage} goes back with {listing(back)}. GPipe begins with the "
                "last one, whose activations were made just now, and ends with the first."
            )
    return None


_FAMILIES = (
    Mistake("goes back before all have gone forward", _back_too_soon),
    Mistake("takes the microbatches in another order", _other_order),
)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    whole = seconds(told.lists(seen[0]), 1.0, 2.0)
    sizes = sorted({case.facts["stages"] for case in cases})
    return (
        f"Passed on {listing(sizes)} stages: {facts['microbatches']} microbatches on "
        f"{facts['stages']} stages take {whole:g} s, where a forward takes 1 s and a backward 2 s, "
        f"and every stage holds {facts['microbatches']} at once."
    )


Schedule = Callable[[int, int, int], Any]


def _answer(schedule: Schedule) -> Schedule:
    """An answer, of stage s of p with m microbatches."""
    return schedule


def _both_ways(there: Iterable[int], back: Iterable[int]) -> list[Any]:
    return [*map(Forward, there), *map(Backward, back)]


def _in_pairs(ahead: int, microbatches: int) -> list[Any]:
    """Some forwards, then backwards and forwards in turn."""
    made: list[Any] = _both_ways(range(ahead), [])
    for i in range(microbatches):
        made += [Backward(i), *map(Forward, range(i + ahead, microbatches)[:1])]
    return made


returns_nothing = _answer(lambda s, p, m: None)
for_ever = _answer(lambda s, p, m: cycle(_both_ways(range(m), range(m)[::-1])))
yields_pairs = _answer(lambda s, p, m: [("forward", i) for i in range(m)])
_returns_the_first = _answer(lambda s, p, m: Forward(0))
_yields_classes = _answer(lambda s, p, m: [Forward] * m + [Backward] * m)
_names_the_stage = _answer(
    lambda s, p, m: [kind(i, s + 1) for kind in (Forward, Backward) for i in range(m)]
)
_counts_from_1 = _answer(lambda s, p, m: _both_ways(range(1, m + 1), range(m, 0, -1)))
_forgets_the_last = _answer(lambda s, p, m: _both_ways(range(m - 1), range(m - 1)[::-1]))
# Takes it that autograd goes through all stages by itself.
_back_on_the_last_alone = _answer(
    lambda s, p, m: _both_ways(range(m), range(m)[::-1] if s == p - 1 else [])
)
_back_first = _answer(lambda s, p, m: _both_ways(range(m), range(m)[::-1])[::-1])
_first_waits = _answer(
    lambda s, p, m: _both_ways(range(m), range(m)[::-1]) if s or p == 1 else _in_pairs(1, m)
)
_one_at_a_time = _answer(lambda s, p, m: _in_pairs(1, m))
_one_forward_one_backward = _answer(lambda s, p, m: _in_pairs(min(p - s, m), m))
_first_back_first = _answer(lambda s, p, m: _both_ways(range(m), range(m)))
_backwards_there = _answer(lambda s, p, m: _both_ways(range(m)[::-1], range(m)[::-1]))


EXERCISE = Exercise(
    number="13.2",
    title="GPipe's schedule",
    stars=1,
    minutes=8,
    points=2,
    function="gpipe",
    asks=(
        "the instructions of one stage, in order: Forward for every microbatch from the first to "
        "the last, then Backward for every one from the last to the first."
    ),
    cases=cases,
    drive=schedules,
    claim=claim,
    mistakes=(*told.MISTAKES, *_FAMILIES),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("returns the first", _returns_the_first, hint="`return` ends the function"),
        WrongAnswer("returns nothing", returns_nothing, hint="got None instead of instructions"),
        WrongAnswer("for ever", for_ever, hint="stop after the last Backward"),
        WrongAnswer("yields pairs", yields_pairs, hint="side by side"),
        WrongAnswer("yields classes", _yields_classes, hint="a class without its microbatch"),
        WrongAnswer("names the stage", _names_the_stage, hint="leave it at 0"),
        WrongAnswer("counts from 1", _counts_from_1, hint="and there are microbatches"),
        WrongAnswer("forgets the last", _forgets_the_last, hint="never gets Forward"),
        WrongAnswer("back on the last alone", _back_on_the_last_alone, hint="never gets Backward"),
        WrongAnswer("back first", _back_first, hint="nothing to go back through yet"),
        WrongAnswer("first waits", _first_waits, hint="nobody moves any more"),
        WrongAnswer("one at a time", _one_at_a_time, hint="the step takes 36 s instead of 18 s"),
        WrongAnswer("one forward, one backward", _one_forward_one_backward, hint="3 forwards;"),
        WrongAnswer("first back first", _first_back_first, hint="GPipe begins with the last one"),
        WrongAnswer("backwards there", _backwards_there, hint="only the way back is turned round"),
    ),
    ranked=False,
)
