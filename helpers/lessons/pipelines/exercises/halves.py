"""Exercise 13.6, zero bubble: a backward in two halves, and the one that nobody waits for put off.

`zero_bubble(stage, stages, microbatches, times=1) -> Iterator[Instruction]` (Qi et al. 2024,
sections 2.1 and 2.2). The claim: a schedule that runs; for times = 1 one as short as ZB-H1's in
which no stage holds more than p microbatches; for times = 2 one without a bubble, in 2p − 1. Any
such order is right.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.checks.compare import count
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.pipelines.algorithms.timetable import own_idle
from helpers.lessons.pipelines.algorithms.zero_bubble import zero_bubble as reference
from helpers.lessons.pipelines.exercises import schedule
from helpers.lessons.pipelines.exercises.schedule import held, lists, seconds


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 stages, then 4 and 2 with twice as many ahead, then fewer microbatches
    than stages; else other numbers."""
    random = rng(seed, "13.6")
    shapes = [(3, 5, 1), (1, 3, 1), (2, 4, 1), (5, 8, 1), (4, 9, 2), (2, 3, 2), (4, 2, 1)]
    if seed:
        shapes = [(p, p + int(random.integers(1, 6)), 1) for p in (3, 1, 2, 6)]
        shapes += [(p, 2 * p - 1 + int(random.integers(0, 5)), 2) for p in (5, 2, 3)]
        shapes.append((int(random.integers(5, 8)), int(random.integers(2, 5)), 1))
    made = []
    for at, (stages, microbatches, times) in enumerate(shapes):
        pieces, default = schedule.pieces(microbatches), at == 2
        name = f"With {count(stages, 'stage')}, {pieces} and "
        name += "no times, which is 1 then" if default else f"times = {times}"
        facts = {"stages": stages, "microbatches": microbatches, "times": times, "kinds": "FIW"}
        args = (stages, microbatches) if default else (stages, microbatches, times)
        made.append(Case(name, (args,), facts=facts))
    return made


def _most(case: Case) -> int:
    """The most microbatches that a stage may hold."""
    stages, times = case.facts["stages"], case.facts["times"]
    return int(min(times * stages - (times - 1), case.facts["microbatches"]))


def _shortest(case: Case) -> float | None:
    """Seconds of the step for times = 1, where the pipeline fills; each part takes one."""
    stages, microbatches = case.facts["stages"], case.facts["microbatches"]
    fills = case.facts["times"] == 1 and microbatches >= stages
    return float(3 * microbatches + stages - 1) if fills else None


def idles(told: Sequence[schedule.Told]) -> float:
    """The most seconds that a stage idles between its first instruction and its last."""
    return max(map(own_idle, schedule.played(told)))


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """It runs, holds no more than it may, and is as short as can be."""
    yield from schedule.faults(case, seen, MISTAKES)
    told, most, shortest = lists(seen), _most(case), _shortest(case)
    for stage, mine in enumerate(told):
        if held(mine) > most:
            yield (
                f"stage {stage} holds {held(mine)} microbatches at once, and may hold {most}: a "
                "microbatch is held from its Forward to its BackwardWeights."
            )
    if shortest is not None and seconds(told) > shortest:
        yield (
            f"with a second for each part the step takes {seconds(told):g} s; it can be done in "
            f"{shortest:g} s."
        )
    if case.facts["times"] == 2 and idles(told) > 0:
        yield (
            f"a stage idles {idles(told):g} s between its first instruction and its last; with "
            "2p − 1 microbatches in memory none has to."
        )


def _no_half(case: Case, seen: Observation) -> Iterator[str]:
    for stage, mine in enumerate(lists(seen)):
        kinds = [item[0] for item in mine]
        if "B" in kinds:
            yield (
                f"stage {stage} gets a Backward in one piece, as instruction {kinds.index('B')}: "
                "cut it in two, `BackwardInput(i)` and, later, `BackwardWeights(i)`."
            )
    yield from schedule.no_instruction(case, seen)
    yield from schedule.other_numbers(case, seen)


def _stuck(case: Case, seen: Observation) -> str | None:
    try:
        schedule.played(lists(seen))
    except ValueError:
        return (
            "nobody moves any more: a stage waits for a gradient before it has gone forward with "
            "all that the stages after it need to start."
        )
    return None


MISTAKES = (
    Mistake("no instructions at all", schedule.no_list),
    Mistake("instructions without an end", schedule.no_end),
    Mistake("something that is no half", _no_half),
    Mistake("work left out or done twice", schedule.not_once),
    Mistake("a half before what it needs", schedule.too_soon),
    Mistake("stages that wait for each other", _stuck),
)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the time, the idle time, and who holds most."""
    told = lists(seen)
    most = max(map(held, told))
    return {
        "takes": f"{seconds(told):g}",
        "shortest": f"{_shortest(case) or seconds(told):g}",
        "idles": f"{idles(told):g}",
        "most": most,
        "may": _most(case),
        "full": [held(mine) for mine in told].index(most),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts, told = cases[0].facts, lists(seen[0])
    whole = 3 * (facts["microbatches"] + facts["stages"] - 1)
    return (
        f"Passed: {facts['microbatches']} microbatches on {facts['stages']} stages take "
        f"{seconds(told):g} s, where 1F1B takes {whole} s, in the same memory; and with times = 2 "
        "nobody idles."
    )


WRONG = """
returns nothing
    = returns_nothing
    ? got None instead of
for ever
    | check_stage(stage, stages, microbatches) => while True: yield Forward(0)
    ? stop after the last BackwardWeights
in one piece
    | yield BackwardInput(microbatch)
        => from helpers.lessons.pipelines.algorithms.instructions import Backward;
        yield Backward(microbatch)
    ? a Backward in one piece
forgets the rest
    | yield from map(BackwardWeights, => map(BackwardWeights,
    ? never gets BackwardWeights
weights first
    | yield BackwardWeights(done) => yield BackwardInput(done)
    | map(BackwardWeights, => map(BackwardInput,
    | yield BackwardInput(microbatch) => yield BackwardWeights(microbatch)
    ? before BackwardInput
most at the end
    | stages - 1 - stage => stage
    ? nobody moves any more
W at once
    | times * stage => 0
    every BackwardWeights follows its BackwardInput at once, and the step takes {takes} s instead of
    {shortest}: the next gradient waits for it. Stage s puts W off by s microbatches, and has it to
    do while it drains.
all W at the end
    | times * stage => microbatches
    all BackwardWeights stand at the end: stage {full} holds {most} microbatches until then, and may
    hold {may}. Put each off by a few microbatches, not by all.
as late everywhere
    | times * stage => times * (stages - 1)
    every stage puts W off by equally many microbatches: stage {full} holds {most}, and may hold
    {may}. The first stages have forwards ahead already; the last have none.
the wrong end
    | times * stage => times * (stages - 1 - stage)
    the stages that go furthest ahead also put W off longest: stage {full} holds {most}
    microbatches, and may hold {may}. It is the other way round: together they make p.
one later
    | times * stage => times * stage + 1
    stage {full} holds {most} microbatches and may hold {may}: W is put off by one microbatch too
    many. Stage 0 puts nothing off.
one sooner
    | times * stage => max(0, times * stage - 1)
    W comes one microbatch too soon: stages could hold one more, and the step takes {takes} s
    instead of {shortest}.
times is not used
    | check_stage(stage, stages, microbatches) => times = 1
    with times = 2 a stage still idles {idles} s: twice as many forwards ahead, and W twice as late.
twice ahead alone
    | times * stage => stage
    a stage idles {idles} s: forwards go twice as far ahead, but W is not put off twice as long, and
    what fills the way back is gone.
twice as late alone
    | times * (stages - 1 - stage) => stages - 1 - stage
    a stage idles {idles} s: W is put off twice as long, but no more forwards go ahead, and what
    fills the way there is missing.
one forward too many ahead
    | (stages - 1 - stage) => (stages - 1 - stage) + 1
    stage {full} holds {most} microbatches and may hold {may}: one forward too many goes ahead. The
    last stage needs none.
none ahead
    | stages - 1 - stage => 0
    no stage goes ahead, so that each waits for a microbatch to come back before it goes forward
    with the next: {takes} s. Start as 1F1B does.
as many ahead everywhere
    | stages - 1 - stage => stages - 1
    all stages go equally far ahead: stage {full} holds {most} microbatches, and may hold {may}. As
    in 1F1B, a stage needs as many ahead as there are stages behind it.
"""

EXERCISE = Exercise(
    number="13.6",
    title="Zero bubble",
    size=Size(stars=3, minutes=20, points=4),
    function="zero_bubble",
    asks=(
        "the instructions of one stage, with each backward in two halves: for times = 1 as short "
        "as ZB-H1 in p microbatches of memory, for times = 2 without a bubble in 2p − 1."
    ),
    cases=cases,
    drive=schedule.schedules,
    claim=claim,
    mistakes=MISTAKES,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("13.6", WRONG, reference, schedule.returns_nothing),
    ranked=False,
)
