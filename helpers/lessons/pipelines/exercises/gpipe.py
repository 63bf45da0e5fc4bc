"""Exercise 13.2, GPipe's schedule.

`gpipe(stage, stages, microbatches) -> Iterator[Instruction]`: every stage goes forward with all
microbatches in order, then back with all of them, the last one first (Huang et al. 2019, section
2.3 and figure 2). The claim: each stage's list is that.
"""

from collections.abc import Iterator, Sequence

from helpers.checks.compare import count, listing
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.pipelines.algorithms.schedules import gpipe as reference
from helpers.lessons.pipelines.exercises import schedule


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 stages; fewer microbatches than stages too; else other numbers."""
    random = rng(seed, "13.2")
    shapes = [(3, 4), (1, 3), (2, 5), (5, 3), (3, 1)]
    if seed:
        shapes = [(stages, int(random.integers(3, 13))) for stages in (3, 1, 2, 5)]
        shapes.append((int(random.integers(6, 10)), int(random.integers(2, 5))))
    return [schedule.shape_case(stages, microbatches) for stages, microbatches in shapes]


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """All forward, then all back, the last one first."""
    yield from schedule.faults(case, seen, MISTAKES)


def _back_too_soon(case: Case, seen: Observation) -> str | None:
    told, pieces = schedule.lists(seen), case.facts["microbatches"]
    took, all_first = schedule.seconds(told, 1.0, 2.0), 3.0 * (pieces + len(told) - 1)
    for stage, mine in enumerate(told):
        at = [kind for kind, _, _ in mine].index("B")
        if at < pieces:
            long = f" With 1 s forward and 2 s back the step takes {took:g} s instead"
            return (
                f"stage {stage} goes back after {count(at, 'forward')}; GPipe goes "
                f"forward with all {pieces} first."
                + (f"{long} of {all_first:g} s." if took > all_first else "")
            )
    return None


def _other_order(case: Case, seen: Observation) -> Iterator[str]:
    for stage, mine in enumerate(schedule.lists(seen)):
        there, back = ([each[1] for each in mine if each[0] == kind] for kind in "FB")
        if there != sorted(there):
            yield (
                f"stage {stage} goes forward with {listing(there)}: from the first to the last, as "
                "they come; only the way back is turned round."
            )
        if back != sorted(back, reverse=True):
            yield (
                f"stage {stage} goes back with {listing(back)}. GPipe begins with the last one, "
                "whose activations were made just now, and ends with the first."
            )


MISTAKES = (
    *schedule.NO_SCHEDULE,
    Mistake("goes back before all have gone forward", _back_too_soon),
    Mistake("takes the microbatches in another order", _other_order),
)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    whole = schedule.seconds(schedule.lists(seen[0]), 1.0, 2.0)
    sizes = sorted({case.facts["stages"] for case in cases})
    return (
        f"Passed on {listing(sizes)} stages: {facts['microbatches']} microbatches on "
        f"{facts['stages']} stages take {whole:g} s, where a forward takes 1 s and a backward 2 s, "
        f"and every stage holds {facts['microbatches']} at once."
    )


WRONG = """
returns the first
    | yield from map(Forward, range(microbatches)) => return Forward(0)
    | yield from map(Backward, => map(Backward,
    ? `return` ends the function
returns nothing
    = returns_nothing
    ? got None instead of instructions
for ever
    | yield from map(Backward, => while True: yield from map(Backward,
    ? stop after the last Backward
yields pairs
    | map(Forward, range(microbatches)) => (("forward", i) for i in range(microbatches))
    ? side by side
yields classes
    | map(Forward, range(microbatches)) => [Forward] * microbatches
    ? a class without its microbatch
names the stage
    | map(Forward, range(microbatches)) => (Forward(i, stage + 1) for i in range(microbatches))
    ? leave it at 0
counts from 1
    | range(microbatches) *=> range(1, microbatches + 1)
    ? and there are microbatches
forgets the last
    | range(microbatches) *=> range(microbatches - 1)
    ? never gets Forward
# Takes it that autograd goes through all stages by itself.
back on the last alone
    | yield from map(Backward, => if stage == stages - 1: yield from map(Backward,
    ? never gets Backward
back first
    | map(Forward, range(microbatches)) => map(Backward, range(microbatches))
    | map(Backward, reversed( => map(Forward, reversed(
    ? nothing to go back through yet
first waits
    | check_stage(stage, stages, microbatches)
        => if stage == 0 < stages - 1:
        return (yield from (kind(i) for i in range(microbatches) for kind in (Forward, Backward)))
    ? nobody moves any more
one at a time
    | check_stage(stage, stages, microbatches) =>
        return (yield from (kind(i) for i in range(microbatches) for kind in (Forward, Backward)))
    ? the step takes 36 s instead of 18 s
one forward, one backward
    | check_stage(stage, stages, microbatches)
        => return (yield from one_forward_one_backward(stage, stages, microbatches))
    ? 3 forwards;
first back first
    | reversed(range(microbatches)) => range(microbatches)
    ? GPipe begins with the last one
backwards there
    | map(Forward, range(microbatches)) => map(Forward, reversed(range(microbatches)))
    ? only the way back is turned round
"""

EXERCISE = Exercise(
    number="13.2",
    title="GPipe's schedule",
    size=Size(stars=1, minutes=8, points=2),
    function="gpipe",
    asks=(
        "the instructions of one stage, in order: Forward for every microbatch from the first to "
        "the last, then Backward for every one from the last to the first."
    ),
    cases=cases,
    drive=schedule.schedules,
    claim=claim,
    mistakes=MISTAKES,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("13.2", WRONG, reference, schedule.returns_nothing),
    ranked=False,
)
