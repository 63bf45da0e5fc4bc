"""Exercise 14.5, a step of an optimizer whose state is cut into slices.

`sharded_step(comm, parameters, gradient, momentum, rate, beta) -> None`: parameters and gradient
are whole and flat, momentum is this rank's slice, chunk r of `chunk_bounds`. The claim: several
steps equal momentum on the mean of all gradients, on every rank, to 1e-10 in float64; the ranks
send what one reduce-scatter and one all-gather take, (N − 1) of the parameters each, never a slice
of the momentum, and wait for what they send.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import rng, self_hint
from helpers.exercises.compare import close, count, worlds
from helpers.exercises.drives_sharding import on_steps
from helpers.exercises.lesson_14 import sharded_step_mistakes as look
from helpers.exercises.lesson_14 import sharded_step_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 12 parameters, then 1, 2 and 5 with lengths that do not divide."""
    random, made = rng(seed, "14.5"), []
    settings = [(3, 12), (1, 4), (2, 7), (5, 13), (4, 3)]
    if seed:
        settings = [(n, n * int(random.integers(2, 9)) + n - 1) for n in (3, 1, 2, 5, 6)]
    for n, length in settings:
        start = random.standard_normal(length)
        gradients = random.standard_normal((n, look.STEPS, length))
        momentum = random.standard_normal(length)
        rate, beta = 0.1 * float(random.integers(1, 5)), 0.9
        bounds = [(r * length // n, (r + 1) * length // n) for r in range(n)]
        args = tuple(
            (start, gradients[r], momentum[a:b], rate, beta) for r, (a, b) in enumerate(bounds)
        )
        facts = {"bounds": bounds, "momentum": momentum, "gradients": gradients}
        made.append(Case(f"On {count(n, 'rank')} with {length} parameters", args, n, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The right parameters on every rank, its slice of the momentum, and no more bytes."""
    want = look.whole(case)
    for step in range(look.STEPS):
        for rank, (value, (a, b)) in enumerate(zip(seen.values, case.facts["bounds"], strict=True)):
            where = f"{case.name}, after step {step + 1} rank {rank}'s"
            if not close(value[step]["parameters"], want[step][0], look.TOLERANCE):
                return f"{where} parameters are not those of the same step on one big batch."
            if not close(value[step]["momentum"], want[step][1][a:b], look.TOLERANCE):
                return f"{where} momentum is not its slice of the whole momentum."
    if sum(seen.bytes) > look.limit(case):
        return (
            f"{case.name}, the ranks sent {sum(seen.bytes)} B in {look.STEPS} steps; a "
            f"reduce-scatter and an all-gather a step take {look.limit(case)} B."
        )
    return look.whole_state(case, seen) or look.open_messages(case, seen)


def _to_itself(case: Case, seen: Observation) -> str | None:
    return self_hint(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: equal to momentum on one big batch over {look.STEPS} steps, "
        "1/N of the state on each rank, and no more bytes than an all-reduce of the gradients."
    )


EXERCISE = Exercise(
    number="14.5",
    title="A sharded optimizer",
    stars=2,
    minutes=15,
    points=4,
    function="sharded_step",
    asks=(
        "reduce-scatter the gradient, update this rank's slice with its slice of the momentum and "
        "the mean gradient, all-gather the parameters: all in place."
    ),
    cases=cases,
    drive=on_steps,
    claim=claim,
    mistakes=(
        Mistake("sends to itself", _to_itself, unfinished=True),
        Mistake("slices of another length", look.other_slices, unfinished=True),
        Mistake("parameters unchanged", look.nothing),
        Mistake("gathers the momentum", look.whole_state),
        Mistake("more bytes than needed", look.too_much),
        Mistake("messages not waited for", look.open_messages),
        Mistake("sums without dividing", look.summed),
        Mistake("does not gather the update", look.not_gathered),
        Mistake("own gradient only", look.own_gradient),
        Mistake("momentum is lost", look.momentum_lost),
        Mistake("another rule", look.another_rule),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("sums", wrong.sums, hint="times too large"),
        WrongAnswer("all-reduce", wrong.by_all_reduce, hint="half too much"),
        WrongAnswer("own gradient", wrong.own_gradient, hint="by its own gradient"),
        WrongAnswer("no gather", wrong.no_gather, hint="all-gather them"),
        WrongAnswer("gathers first", wrong.gathers_first, hint="one step behind"),
        WrongAnswer("new momentum", wrong.new_momentum, hint="made and dropped"),
        WrongAnswer("L // N", wrong.floor_slices, hint="with the same bounds"),
        WrongAnswer("a copy", wrong.into_a_copy, hint="did not change"),
        WrongAnswer("whole momentum", wrong.gathers_the_momentum, hint="what is sharded is never"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
        WrongAnswer("plus", wrong.plus, hint="moved the other way"),
        WrongAnswer("no beta", wrong.no_beta, hint="not multiplied by β"),
        WrongAnswer("1 − β", wrong.moving_average, hint="a moving average"),
        WrongAnswer("rate inside", wrong.rate_inside, hint="holds rate · g"),
        WrongAnswer("too early", wrong.too_early, hint="of the step before"),
        WrongAnswer("by g", wrong.by_the_gradient, hint="moved by the gradient"),
        WrongAnswer("N twice", wrong.divides_twice, hint="once more"),
        WrongAnswer("the sum inside", wrong.sum_inside, hint="the rate was divided instead"),
    ),
    figure=0,
)
