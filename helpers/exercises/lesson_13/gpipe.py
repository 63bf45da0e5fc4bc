"""Exercise 13.2, GPipe's schedule.

`gpipe(stage, stages, microbatches) -> Iterator[Instruction]`: every stage goes forward with all
microbatches in order, then back with all of them, the last one first (Huang et al. 2019, section
2.3 and figure 2). The claim: each stage's list is that; played on paper it comes to its end in
(m + p − 1) slots there and as many back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from typing import Any

from helpers.algorithms.pipeline.instructions import Backward, Forward
from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing
from helpers.exercises.drives_pipeline import schedules
from helpers.exercises.lesson_13 import told
from helpers.exercises.lesson_13.told import play
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

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


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how long it takes, and the first stage that goes back too early."""
    lists, microbatches = told.lists(seen), case.facts["microbatches"]
    slots = (microbatches + case.facts["stages"] - 1) * (_FORWARD + _BACKWARD)
    ahead = [[kind for kind, _, _ in mine].index("B") for mine in lists]
    early = next((stage for stage, at in enumerate(ahead) if at < microbatches), 0)
    return {
        "slow": f"{play(lists, _FORWARD, _BACKWARD).makespan:g}",
        "quick": f"{slots:g}",
        "early": early,
        "ahead": count(ahead[early], "forward"),
        "all": microbatches,
        "last": microbatches - 1,
    }


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


Schedule = Callable[[int, int, int], Any]


def _answer(schedule: Schedule) -> Schedule:
    """An answer that tells stage s of p, with m microbatches, what `schedule` makes of these."""

    def gpipe(stage: int, stages: int, microbatches: int) -> Any:
        return schedule(stage, stages, microbatches)

    return gpipe


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
    mistakes=told.MISTAKES,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("returns the first", _returns_the_first, hint="`return` ends the function"),
        WrongAnswer("returns nothing", returns_nothing, hint="got None instead of instructions"),
        WrongAnswer("for ever", for_ever, hint="stop after the last Backward"),
        WrongAnswer("yields pairs", yields_pairs, hint="give `Forward(i)` and `Backward(i)`"),
        WrongAnswer("yields classes", _yields_classes, hint="a class without its microbatch"),
        WrongAnswer("names the stage", _names_the_stage, hint="leave it at 0"),
        WrongAnswer("counts from 1", _counts_from_1, hint="and there are microbatches"),
        WrongAnswer("forgets the last", _forgets_the_last, hint="never gets Forward"),
        WrongAnswer("back on the last alone", _back_on_the_last_alone, hint="never gets Backward"),
        WrongAnswer("back first", _back_first, hint="nothing to go back through yet"),
        WrongAnswer("first waits", _first_waits, hint="nobody moves any more"),
        WrongAnswer(
            "one microbatch at a time",
            _one_at_a_time,
            "each stage goes back with a microbatch before it starts the next one, and the others "
            "idle: the step takes {slow} slots instead of {quick}. Go forward with all "
            "microbatches first.",
        ),
        WrongAnswer(
            "goes back before all have gone forward",
            _one_forward_one_backward,
            "stage {early} goes back after {ahead}: that is the way of 1F1B, the next exercise. "
            "GPipe goes forward with all {all} first.",
        ),
        WrongAnswer(
            "goes back from the first to the last",
            _first_back_first,
            "stage 0 goes back with Backward(0) first. GPipe begins with the last one, "
            "Backward({last}), whose activations were made just now: with recomputation they need "
            "not be made again.",
        ),
        WrongAnswer(
            "goes forward from the last to the first",
            _backwards_there,
            "stage 0 goes forward from the last microbatch to the first, starting with "
            "Forward({last}): only the way back is turned round.",
        ),
    ),
    ranked=False,
)
