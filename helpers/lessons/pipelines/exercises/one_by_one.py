"""Exercise 13.3, one forward, one backward.

`one_forward_one_backward(stage, stages, microbatches) -> Iterator[Instruction]` (Narayanan et al.
2019, section 3.2, with the flush of Narayanan et al. 2021, section 2.2.1). The claim: a schedule
that runs and is as short as any can be, (m + p − 1) forwards and as many backwards, in which stage
s holds at most p − s microbatches at once; with fewer none is as short. Any such order is right.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from helpers.checks.compare import count, listing
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.pipelines.algorithms.schedules import one_forward_one_backward as reference
from helpers.lessons.pipelines.exercises import schedule
from helpers.lessons.pipelines.exercises.schedule import held, lists, pieces


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2, 5 and 4 stages; fewer microbatches than stages too; else other numbers."""
    random = rng(seed, "13.3")
    shapes = [(3, 5, 1.0, 2.0), (1, 3, 1.0, 2.0), (2, 4, 1.0, 1.0), (5, 8, 1.0, 2.0)]
    shapes += [(4, 2, 1.0, 3.0)]
    if seed:
        shapes = []
        for stages in (3, 1, 2, 5, int(random.integers(6, 9))):
            microbatches = int(random.integers(stages + 1, stages + 9))
            if stages > 5:  # fewer than it takes to fill the pipeline
                microbatches = int(random.integers(2, stages - 1))
            times = [float(random.integers(1, 5)) for _ in range(2)]
            shapes.append((stages, microbatches, times[0], times[1]))
    return [schedule.shape_case(p, m, forward=f, backward=b) for p, m, f, b in shapes]


def _too_long(case: Case, seen: Observation) -> str:
    """How long the step takes, where it could be shorter; "" where it could not.

    No schedule is shorter: the last stage starts after p − 1 forwards, and then all go back.
    """
    forward, backward = case.facts["forward"], case.facts["backward"]
    shortest = (case.facts["microbatches"] + case.facts["stages"] - 1) * (forward + backward)
    took = schedule.seconds(lists(seen), forward, backward)
    return f"the step takes {took:g} s instead of {shortest:g} s" if took > shortest else ""


def _may_hold(case: Case, stage: int) -> int:
    """The most microbatches that a stage may hold at once."""
    return int(min(case.facts["stages"] - stage, case.facts["microbatches"]))


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """It runs, holds little, and is as short as can be."""
    yield from schedule.faults(case, seen, MISTAKES)
    if late := _too_long(case, seen):
        yield f"{late}."


def _holds_more(case: Case, seen: Observation) -> Iterator[str]:
    for stage, mine in enumerate(lists(seen)):
        if held(mine) > _may_hold(case, stage):
            yield (
                f"stage {stage} holds {pieces(held(mine))} at once, and "
                f"needs {_may_hold(case, stage)} to be kept at work: by then the gradient of the "
                "first one can be back."
            )


def _turned_round(case: Case, seen: Observation) -> Iterator[str]:
    late = _too_long(case, seen)
    for stage, mine in enumerate(lists(seen)):
        there, back = ([each[1] for each in mine if each[0] == kind] for kind in "FB")
        for sooner, later in pairwise(back):
            if late and there.index(later) < there.index(sooner):
                yield (
                    f"stage {stage} goes back with Backward({sooner}) before Backward({later}), "
                    f"and went forward the other way round: {late}. Go back in the order of the "
                    "forwards."
                )


def _holds_less(case: Case, seen: Observation) -> Iterator[str]:
    late = _too_long(case, seen)
    for stage, mine in enumerate(lists(seen)):
        if late and held(mine) < _may_hold(case, stage):
            yield (
                f"stage {stage} never holds more than {pieces(held(mine))}, and waits to go back "
                f"while it could go forward: {late}."
            )


MISTAKES = (
    *schedule.NO_SCHEDULE,
    Mistake("too many forwards ahead", _holds_more),
    Mistake("goes back in another order", _turned_round),
    Mistake("too few forwards ahead", _holds_less),
)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the time, and who holds most too much."""
    told = lists(seen)
    more = [held(mine) - _may_hold(case, stage) for stage, mine in enumerate(told)]
    full = more.index(max(more))
    return {
        "all": case.facts["microbatches"],
        "takes": _too_long(case, seen),
        "full": full,
        "most": pieces(held(told[full])),
        "before": count([kind for kind, _, _ in told[full]].index("B") - 1, "forward"),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts, told = cases[0].facts, lists(seen[0])
    sizes = sorted({case.facts["stages"] for case in cases})
    took = schedule.seconds(told, facts["forward"], facts["backward"])
    return (
        f"Passed on {listing(sizes)} stages: {pieces(facts['microbatches'])} on "
        f"{facts['stages']} stages take {took:g} s, as short as with GPipe, "
        f"and the stages hold {listing(held(mine) for mine in told)} at once instead of "
        f"{facts['microbatches']} each."
    )


ALL_FIRST = (
    "every stage goes forward with all {all} first, as in GPipe, and holds {all} at once: after "
    "its first forwards a stage goes back with one before it goes forward with the next."
)

WRONG = """
returns nothing
    = returns_nothing
    ? got None instead of instructions
for ever
    | for microbatch in range(ahead, microbatches): => for microbatch in iter(lambda: ahead, None):
    ? stop after the last Backward
yields pairs
    | map(Forward, range(ahead)) => (("forward", i) for i in range(ahead))
    ? side by side
wrong end
    | stages - 1 - stage => stage
    ? nobody moves any more
no end of the way back
    | yield from map(Backward, => map(Backward,
    ? never gets Backward
more than there are
    | min(stages - 1 - stage, microbatches) => stages - 1 - stage
    ? and there are microbatches
backward first
    | yield Forward(microbatch) yield Backward(microbatch - ahead)
        => yield Backward(microbatch - ahead); yield Forward(microbatch)
    ? nothing to go back through yet
same number
    | yield Forward(microbatch) => yield Forward(microbatch - ahead)
    ? Forward(0) 2 times
all forwards first
    | check_stage(stage, stages, microbatches)
        => return (yield from gpipe(stage, stages, microbatches))
    ! ALL_FIRST
all forwards first, then back in order
    | stages - 1 - stage => microbatches
    ! ALL_FIRST
as many everywhere
    | stages - 1 - stage => stages - 1
    ? to be kept at work
too few ahead
    | stages - 1 - stage => max(0, stages - 2 - stage)
    ? never holds more than
last back first
    | range(microbatches - ahead, microbatches)
        => reversed(range(microbatches - ahead, microbatches))
    ? the other way round
# A pair starts with one more forward.
one forward too many ahead
    | stages - 1 - stage => stages - stage
    stage {full} holds {most} at once, one more than it needs: the forward of the first pair comes
    on top of the {before} before. Start with one fewer.
one microbatch at a time
    | stages - 1 - stage => 0
    every stage goes back with a microbatch before it starts the next one: {takes}. All stages but
    the last have to go ahead with some before the pairs begin.
"""

EXERCISE = Exercise(
    number="13.3",
    title="One forward, one backward",
    size=Size(stars=3, minutes=25, points=4),
    function="one_forward_one_backward",
    asks=(
        "the instructions of one stage, in order: a schedule as short as GPipe's, in which every "
        "stage holds as few microbatches at once as it can."
    ),
    cases=cases,
    drive=schedule.schedules,
    claim=claim,
    mistakes=MISTAKES,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("13.3", WRONG, reference, schedule.returns_nothing, ALL_FIRST=ALL_FIRST),
    ranked=False,
)
