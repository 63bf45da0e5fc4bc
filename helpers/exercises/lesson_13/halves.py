"""Exercise 13.6, zero bubble: a backward in two halves, and the one that nobody waits for put off.

`zero_bubble(stage, stages, microbatches, times=1) -> Iterator[Instruction]` (Qi et al. 2024,
sections 2.1 and 2.2). The claim: a schedule that runs; for times = 1 one as short as ZB-H1's in
which no stage holds more than p microbatches; for times = 2 one without a bubble, in 2p − 1. Any
such order is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.algorithms.pipeline.zero_bubble import zero_bubble as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.drives_pipeline import halves
from helpers.exercises.lesson_13 import halves_told as told
from helpers.exercises.lesson_13 import halves_wrong as wrong
from helpers.exercises.lesson_13.halves_told import held, idles, takes
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 stages, then 4 and 2 with twice as many ahead, then fewer microbatches
    than stages; else other numbers."""
    random = rng(seed, "13.6")
    shapes = [(3, 5, 1), (1, 3, 1), (2, 4, 1), (5, 8, 1), (4, 9, 2), (2, 3, 2), (4, 2, 1)]
    if seed:
        shapes = [(p, p + int(random.integers(1, 6)), 1) for p in (3, 1, 2, 6)]
        shapes += [(p, 2 * p - 1 + int(random.integers(0, 5)), 2) for p in (5, 2, 3)]
        shapes.append((int(random.integers(5, 8)), int(random.integers(2, 5)), 1))
    return [_case(*shape) for shape in shapes]


def _case(stages: int, microbatches: int, times: int) -> Case:
    pieces = count(microbatches, "microbatch", "microbatches")
    name = f"With {count(stages, 'stage')}, {pieces} and times = {times}"
    facts = {"stages": stages, "microbatches": microbatches, "times": times}
    return Case(name, ((stages, microbatches, times),), facts=facts)


def _most(case: Case) -> int:
    """The most microbatches that a stage may hold."""
    stages, times = case.facts["stages"], case.facts["times"]
    return int(min(times * stages - (times - 1), case.facts["microbatches"]))


def _shortest(case: Case) -> float | None:
    """Seconds of the step for times = 1, where the pipeline fills; each part takes one."""
    stages, microbatches = case.facts["stages"], case.facts["microbatches"]
    fills = case.facts["times"] == 1 and microbatches >= stages
    return float(3 * microbatches + stages - 1) if fills else None


def claim(case: Case, seen: Observation) -> str | None:
    """It runs, holds no more than it may, and is as short as can be."""
    found = told.fault(case, seen)
    return found or _holds_more(case, seen) or _is_long(case, seen)


def _holds_more(case: Case, seen: Observation) -> str | None:
    for stage, mine in enumerate(told.lists(seen)):
        if held(mine) > _most(case):
            return (
                f"{case.name}, stage {stage} holds {held(mine)} microbatches at once, and may hold "
                f"{_most(case)}: a microbatch is held from its Forward to its BackwardWeights."
            )
    return None


def _is_long(case: Case, seen: Observation) -> str | None:
    lists, shortest = told.lists(seen), _shortest(case)
    if shortest is not None and takes(lists) > shortest:
        return (
            f"{case.name}, with a second for each part the step takes {takes(lists):g} s; it can "
            f"be done in {shortest:g} s."
        )
    if case.facts["times"] == 2 and idles(lists) > 0:
        return (
            f"{case.name}, a stage idles {idles(lists):g} s between its first instruction and its "
            "last; with 2p − 1 microbatches in memory none has to."
        )
    return None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the time, the idle time, and who holds most."""
    lists = told.lists(seen)
    most = max(map(held, lists))
    return {
        "takes": f"{takes(lists):g}",
        "shortest": f"{_shortest(case) or takes(lists):g}",
        "idles": f"{idles(lists):g}",
        "most": most,
        "may": _most(case),
        "full": [held(mine) for mine in lists].index(most),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts, lists = cases[0].facts, told.lists(seen[0])
    whole = 3 * (facts["microbatches"] + facts["stages"] - 1)
    return (
        f"Passed: {facts['microbatches']} microbatches on {facts['stages']} stages take "
        f"{takes(lists):g} s, where 1F1B takes {whole} s, in the same memory; and with times = 2 "
        "nobody idles."
    )


EXERCISE = Exercise(
    number="13.6",
    title="Zero bubble",
    stars=3,
    minutes=20,
    points=4,
    function="zero_bubble",
    asks=(
        "the instructions of one stage, with each backward in two halves: for times = 1 as short "
        "as ZB-H1 in p microbatches of memory, for times = 2 without a bubble in 2p − 1."
    ),
    cases=cases,
    drive=halves,
    claim=claim,
    mistakes=told.MISTAKES,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("returns nothing", wrong.returns_nothing, hint="got None instead of"),
        WrongAnswer("for ever", wrong.for_ever, hint="stop after the last BackwardWeights"),
        WrongAnswer("in one piece", wrong.in_one_piece, hint="a Backward in one piece"),
        WrongAnswer("forgets the rest", wrong.forgets_the_rest, hint="never gets BackwardWeights"),
        WrongAnswer("weights first", wrong.weights_first, hint="before BackwardInput"),
        WrongAnswer("most at the end", wrong.most_at_the_end, hint="nobody moves any more"),
        WrongAnswer(
            "W at once",
            wrong.at_once,
            "every BackwardWeights follows its BackwardInput at once, and the step takes {takes} s "
            "instead of {shortest}: the next gradient waits for it. Stage s puts W off by s "
            "microbatches, and has it to do while it drains.",
        ),
        WrongAnswer(
            "all W at the end",
            wrong.all_at_the_end,
            "all BackwardWeights stand at the end: stage {full} holds {most} microbatches until "
            "then, and may hold {may}. Put each off by a few microbatches, not by all.",
        ),
        WrongAnswer(
            "as late everywhere",
            wrong.as_late_everywhere,
            "every stage puts W off by equally many microbatches: stage {full} holds {most}, and "
            "may hold {may}. The first stages have forwards ahead already; the last have none.",
        ),
        WrongAnswer(
            "the wrong end",
            wrong.wrong_end,
            "the stages that go furthest ahead also put W off longest: stage {full} holds {most} "
            "microbatches, and may hold {may}. It is the other way round: together they make p.",
        ),
        WrongAnswer(
            "one later",
            wrong.one_later,
            "stage {full} holds {most} microbatches and may hold {may}: W is put off by one "
            "microbatch too many. Stage 0 puts nothing off.",
        ),
        WrongAnswer(
            "one sooner",
            wrong.one_sooner,
            "W comes one microbatch too soon: stages could hold one more, and the step takes "
            "{takes} s instead of {shortest}.",
        ),
        WrongAnswer(
            "times is not used",
            wrong.once,
            "with times = 2 a stage still idles {idles} s: twice as many forwards ahead, and W "
            "twice as late.",
        ),
        WrongAnswer(
            "twice ahead alone",
            wrong.ahead_alone,
            "a stage idles {idles} s: forwards go twice as far ahead, but W is not put off twice "
            "as long, and what fills the way back is gone.",
        ),
        WrongAnswer(
            "twice as late alone",
            wrong.late_alone,
            "a stage idles {idles} s: W is put off twice as long, but no more forwards go ahead, "
            "and what fills the way there is missing.",
        ),
        WrongAnswer(
            "one forward too many ahead",
            wrong.one_too_many,
            "stage {full} holds {most} microbatches and may hold {may}: one forward too many goes "
            "ahead. The last stage needs none.",
        ),
        WrongAnswer(
            "none ahead",
            wrong.too_few,
            "no stage goes ahead, so that each waits for a microbatch to come back before it goes "
            "forward with the next: {takes} s. Start as 1F1B does.",
        ),
        WrongAnswer(
            "as many ahead everywhere",
            wrong.no_difference,
            "all stages go equally far ahead: stage {full} holds {most} microbatches, and may hold "
            "{may}. As in 1F1B, a stage needs as many ahead as there are stages behind it.",
        ),
    ),
    ranked=False,
)
