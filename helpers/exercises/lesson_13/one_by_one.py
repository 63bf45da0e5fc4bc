"""Exercise 13.3, one forward, one backward.

`one_forward_one_backward(stage, stages, microbatches) -> Iterator[Instruction]` (Narayanan et al.
2019, section 3.2, with the flush of Narayanan et al. 2021, section 2.2.1). The claim: a schedule
that runs and is as short as any can be, (m + p − 1) forwards and as many backwards, in which stage
s holds at most p − s microbatches at once; with fewer none is as short. Any such order is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from helpers.algorithms.pipeline.instructions import Backward, Forward
from helpers.algorithms.pipeline.schedules import one_forward_one_backward as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing
from helpers.exercises.drives_pipeline import schedules
from helpers.exercises.lesson_13 import told
from helpers.exercises.lesson_13.gpipe import for_ever, returns_nothing, shape_case, yields_pairs
from helpers.exercises.lesson_13.told import held, seconds
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer, first_said


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
    return seconds(lists, case.facts["forward"], case.facts["backward"])


def _shortest(case: Case) -> float:
    """No schedule is shorter: the last stage starts after p − 1 forwards, and then all go back."""
    slots = case.facts["microbatches"] + case.facts["stages"] - 1
    return float(slots * (case.facts["forward"] + case.facts["backward"]))


def _may_hold(case: Case, stage: int) -> int:
    """The most microbatches that a stage may hold at once."""
    return int(min(case.facts["stages"] - stage, case.facts["microbatches"]))


def claim(case: Case, seen: Observation) -> str | None:
    """It runs, holds little, and is as short as can be."""
    found = told.fault(case, seen)
    if found:
        return found
    found = next(
        filter(None, (first_said(mistake.look, case, seen) for mistake in _FAMILIES)), None
    )
    return found or (f"{case.name}, {_takes(case, seen)}." if _is_long(case, seen) else None)


def _is_long(case: Case, seen: Observation) -> bool:
    return _seconds(case, told.lists(seen)) > _shortest(case) * (1 + 1e-9)


def _takes(case: Case, seen: Observation) -> str:
    took = _seconds(case, told.lists(seen))
    return f"the step takes {took:g} s instead of {_shortest(case):g} s"


def _holds_more(case: Case, seen: Observation) -> str | None:
    for stage, mine in enumerate(told.lists(seen)):
        if held(mine) > _may_hold(case, stage):
            return (
                f"{case.name}, stage {stage} holds {_pieces(held(mine))} at once, and "
                f"needs {_may_hold(case, stage)} to be kept at work: by then the gradient of the "
                "first one can be back."
            )
    return None


def _turned_round(case: Case, seen: Observation) -> str | None:
    for stage, mine in enumerate(told.lists(seen)):
        there, back = ([each[1] for each in mine if each[0] == kind] for kind in "FB")
        for sooner, later in pairwise(back):
            if _is_long(case, seen) and there.index(later) < there.index(sooner):
                return (
                    f"{case.name}, stage {stage} goes back with Backward({sooner}) before "
                    f"Backward({later}), and went forward the other way round: "
                    f"{_takes(case, seen)}. Go back in the order of the forwards."
                )
    return None


def _holds_less(case: Case, seen: Observation) -> str | None:
    for stage, mine in enumerate(told.lists(seen)):
        if _is_long(case, seen) and held(mine) < _may_hold(case, stage):
            return (
                f"{case.name}, stage {stage} never holds more than {_pieces(held(mine))}, and "
                f"waits to go back while it could go forward: {_takes(case, seen)}."
            )
    return None


_FAMILIES = (
    Mistake("too many forwards ahead", _holds_more),
    Mistake("goes back in another order", _turned_round),
    Mistake("too few forwards ahead", _holds_less),
)


def _pieces(number: int) -> str:
    return count(number, "microbatch", "microbatches")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the time, and who holds most too much."""
    lists = told.lists(seen)
    more = [held(mine) - _may_hold(case, stage) for stage, mine in enumerate(lists)]
    full = more.index(max(more))
    return {
        "all": case.facts["microbatches"],
        "takes": _takes(case, seen),
        "full": full,
        "most": _pieces(held(lists[full])),
        "before": count([kind for kind, _, _ in lists[full]].index("B") - 1, "forward"),
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


def _answer(schedule: Callable[[int, int, int], Any]) -> Callable[..., Any]:
    """An answer, of stage s of p with m microbatches."""
    return schedule


def _pairs(ahead: int, microbatches: int, last: Iterable[int] | None = None) -> list[Any]:
    """Some forwards, then pairs, then the rest of the way back, in the order `last`."""
    ahead = min(ahead, microbatches)
    made: list[Any] = [Forward(i) for i in range(ahead)]
    for i in range(microbatches - ahead):
        made += [Forward(i + ahead), Backward(i)]
    rest = range(microbatches - ahead, microbatches) if last is None else last
    return made + [Backward(i) for i in rest]


def _in_turn(ahead: int, forwards: Iterable[int], m: int, turn: int = 1) -> list[Any]:
    """Some forwards, then the others and all backwards in turn. turn: -1 for backwards first."""
    there = [Forward(i) for i in forwards]
    pairs = zip_longest(there[ahead:], [Backward(i) for i in range(m)])
    return there[:ahead] + [each for pair in pairs for each in pair[::turn] if each]


_more_than_there_are = _answer(lambda s, p, m: _in_turn(p - s - 1, range(max(m, p - s - 1)), m))
_backward_first = _answer(lambda s, p, m: _in_turn(p - s - 1, range(m), m, turn=-1))
_same_number = _answer(
    lambda s, p, m: _in_turn(p - s - 1, [*range(p - s - 1), *range(m - p + s + 1)], m)
)
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
    "every stage goes forward with all {all} first, as in GPipe, and holds {all} at once: after "
    "its first forwards a stage goes back with one before it goes forward with the next."
)


EXERCISE = Exercise(
    number="13.3",
    title="One forward, one backward",
    stars=3,
    minutes=25,
    points=4,
    function="one_forward_one_backward",
    asks=(
        "the instructions of one stage, in order: a schedule as short as GPipe's, in which every "
        "stage holds as few microbatches at once as it can."
    ),
    cases=cases,
    drive=schedules,
    claim=claim,
    mistakes=(*told.MISTAKES, *_FAMILIES),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("returns nothing", returns_nothing, hint="got None instead of instructions"),
        WrongAnswer("for ever", for_ever, hint="stop after the last Backward"),
        WrongAnswer("yields pairs", yields_pairs, hint="side by side"),
        WrongAnswer("wrong end", _wrong_end, hint="nobody moves any more"),
        WrongAnswer("no end of the way back", _no_cool_down, hint="never gets Backward"),
        WrongAnswer("more than there are", _more_than_there_are, hint="and there are microbatches"),
        WrongAnswer("backward first", _backward_first, hint="nothing to go back through yet"),
        WrongAnswer("same number", _same_number, hint="Forward(0) 2 times"),
        WrongAnswer("all forwards first", _gpipe, _ALL_FIRST),
        WrongAnswer("all forwards first, then back in order", _all_in_order, _ALL_FIRST),
        WrongAnswer("as many everywhere", _as_many_everywhere, hint="to be kept at work"),
        WrongAnswer("too few ahead", _one_too_few, hint="never holds more than"),
        WrongAnswer("last back first", _last_back_first, hint="the other way round"),
        WrongAnswer(
            "one forward too many ahead",
            _one_too_many,
            "stage {full} holds {most} at once, one more than it needs: the forward of the first "
            "pair comes on top of the {before} before. Start with one fewer.",
        ),
        WrongAnswer(
            "one microbatch at a time",
            _one_at_a_time,
            "every stage goes back with a microbatch before it starts the next one: {takes}. All "
            "stages but the last have to go ahead with some before the pairs begin.",
        ),
    ),
    ranked=False,
)
