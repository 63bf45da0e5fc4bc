"""Exercise 13.3, one forward, one backward.

`one_forward_one_backward(stage, stages, microbatches) -> Iterator[Instruction]` (Narayanan et al.
2019, section 3.2, with the flush of Narayanan et al. 2021, section 2.2.1). The claim: a schedule
that runs, in which stage s holds at most p − s microbatches at once, and which is as short as any
can be, (m + p − 1) slots there and as many back. Any order that does this is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from helpers.algorithms.pipeline.instructions import Backward, Forward
from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing
from helpers.exercises.drives_pipeline import schedules
from helpers.exercises.lesson_13 import told
from helpers.exercises.lesson_13.gpipe import for_ever, returns_nothing, shape_case, yields_pairs
from helpers.exercises.lesson_13.told import held, play
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


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


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the time, who holds most too much, who too little, who turns round."""
    lists = told.lists(seen)
    more = [held(mine) - _may_hold(case, stage) for stage, mine in enumerate(lists)]
    full, idle = more.index(max(more)), next((s for s, n in enumerate(more) if n < 0), 0)
    backs = [[microbatch for kind, microbatch, _ in mine if kind == "B"] for mine in lists]
    turned = [(s, pair) for s, back in enumerate(backs) for pair in pairwise(back)]
    turner, (sooner, later) = next((t for t in turned if t[1][1] < t[1][0]), (0, (0, 0)))
    return {
        "all": case.facts["microbatches"],
        "takes": f"the step takes {_seconds(case, lists):g} s instead of {_shortest(case):g} s",
        "full": full,
        "most": _pieces(held(lists[full])),
        "may": _may_hold(case, full),
        "before": [kind for kind, _, _ in lists[full]].index("B") - 1,
        "idle": idle,
        "few": _pieces(held(lists[idle])),
        "turner": turner,
        "sooner": sooner,
        "later": later,
    }


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


def reference(stage: int, stages: int, microbatches: int) -> Any:
    """The course's own."""
    from helpers.algorithms.pipeline.schedules import one_forward_one_backward

    return one_forward_one_backward(stage, stages, microbatches)


def _answer(schedule: Callable[[int, int, int], Any]) -> Callable[..., Any]:
    """An answer that tells stage s of p, with m microbatches, what `schedule` makes of these."""

    def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> Any:
        return schedule(stage, stages, microbatches)

    return one_forward_one_backward


def _pairs(ahead: int, microbatches: int, last: Iterable[int] | None = None) -> list[Any]:
    """Some forwards, then pairs, then the rest of the way back, in the order `last`."""
    ahead = min(ahead, microbatches)
    made: list[Any] = [Forward(i) for i in range(ahead)]
    for i in range(microbatches - ahead):
        made += [Forward(i + ahead), Backward(i)]
    rest = range(microbatches - ahead, microbatches) if last is None else last
    return made + [Backward(i) for i in rest]


def _more_than_there_are(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    ahead = stages - stage - 1
    yield from map(Forward, range(ahead))
    for i in range(microbatches):
        yield from map(Forward, range(i + ahead, microbatches)[:1])
        yield Backward(i)


def _backward_first(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    ahead = min(stages - stage - 1, microbatches)
    yield from map(Forward, range(ahead))
    for i in range(microbatches):
        yield Backward(i)
        yield from map(Forward, range(i + ahead, microbatches)[:1])


def _same_number(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    ahead = min(stages - stage - 1, microbatches)
    yield from map(Forward, range(ahead))
    for i in range(microbatches):
        yield from [Forward(i)] * (i < microbatches - ahead)
        yield Backward(i)


_wrong_end = _answer(lambda s, p, m: _pairs(s, m))
_no_cool_down = _answer(lambda s, p, m: _pairs(p - s - 1, m, last=[]))
_gpipe = _answer(lambda s, p, m: _pairs(m, m, last=range(m)[::-1]))
_all_in_order = _answer(lambda s, p, m: _pairs(m, m))
# p − s forwards ahead, and then a pair starts with one more.
_one_too_many = _answer(lambda s, p, m: _pairs(p - s, m))
_as_many_everywhere = _answer(lambda s, p, m: _pairs(p - 1, m))
_one_at_a_time = _answer(lambda s, p, m: _pairs(0, m))
_one_too_few = _answer(lambda s, p, m: _pairs(max(0, p - s - 2), m))
_last_back_first = _answer(
    lambda s, p, m: _pairs(p - s - 1, m, last=range(max(0, m - (p - s - 1)), m)[::-1])
)

_ALL_FIRST = (
    "every stage goes forward with all {all} first, as in GPipe, and holds {all} at once. Stage s "
    "needs p − s at most: after its first forwards it goes back with one before it goes forward "
    "with the next."
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
    mistakes=told.MISTAKES,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("returns nothing", returns_nothing, hint="got None instead of instructions"),
        WrongAnswer("for ever", for_ever, hint="stop after the last Backward"),
        WrongAnswer("yields pairs", yields_pairs, hint="give `Forward(i)` and `Backward(i)`"),
        WrongAnswer("wrong end", _wrong_end, hint="nobody moves any more"),
        WrongAnswer("no end of the way back", _no_cool_down, hint="never gets Backward"),
        WrongAnswer("more than there are", _more_than_there_are, hint="and there are microbatches"),
        WrongAnswer("backward first", _backward_first, hint="nothing to go back through yet"),
        WrongAnswer("same number", _same_number, hint="2 times ("),
        WrongAnswer("all forwards first", _gpipe, _ALL_FIRST),
        WrongAnswer("all forwards first, then back in order", _all_in_order, _ALL_FIRST),
        WrongAnswer(
            "one forward too many ahead",
            _one_too_many,
            "stage {full} holds {most} at once, one more than it needs: the forward of the pair "
            "comes on top of the {before} before. Start with p − s − 1.",
        ),
        WrongAnswer(
            "too many forwards ahead",
            _as_many_everywhere,
            "stage {full} holds {most} at once, and needs {may}: the further back a stage, the "
            "sooner its first backward can come.",
        ),
        WrongAnswer(
            "one microbatch at a time",
            _one_at_a_time,
            "every stage goes back with a microbatch before it starts the next one: {takes}. The "
            "stages in front have to go ahead, stage 0 with p − 1 forwards, before the pairs "
            "begin.",
        ),
        WrongAnswer(
            "too few forwards ahead",
            _one_too_few,
            "stage {idle} holds {few} at once, and {takes}: it waits to go back while it could go "
            "forward. Start with p − s − 1 forwards, and each pair is a forward and then a "
            "backward.",
        ),
        WrongAnswer(
            "goes back from the last to the first",
            _last_back_first,
            "stage {turner} goes back with Backward({sooner}) before Backward({later}), whose "
            "gradient is there first: {takes}. Go back from the first to the last.",
        ),
    ),
    ranked=False,
)
