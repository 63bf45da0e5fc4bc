"""The mistakes of exercise 14.5, by what the parameters and the momentum became."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from helpers.exercises.compare import close, count, listing, times
from helpers.exercises.spec import Case, Observation

TOLERANCE = 1e-10
STEPS = 3
Array = Any


class Now(NamedTuple):
    """What a step starts from. total: the sum of the ranks' gradients. n: the ranks."""

    parameters: Array
    momentum: Array
    total: Array
    n: int
    rate: float
    beta: float


Step = Callable[[Now], tuple[Array, Array]]
"""The parameters and the momentum after a step, whole."""


def scaled(power: float) -> Step:
    """A step of momentum on the sum of the gradients, divided by N to a power."""

    def step(now: Now) -> tuple[Array, Array]:
        momentum = now.beta * now.momentum + now.total / now.n**power
        return now.parameters - now.rate * momentum, momentum

    return step


RIGHT = scaled(1)


def whole(case: Case, step: Step = RIGHT) -> list[tuple[Array, Array]]:
    """Parameters and momentum after each step of such an optimizer."""
    parameters, _, _, rate, beta = case.args[0]
    momentum, made = case.facts["momentum"], []
    for number in range(STEPS):
        total = case.facts["gradients"][:, number].sum(0)
        parameters, momentum = step(Now(parameters, momentum, total, case.ranks, rate, beta))
        made.append((parameters, momentum))
    return made


def every(
    case: Case, seen: Observation, want: list[tuple[Array, Array]], steps: int = STEPS
) -> bool:
    """Whether every rank has these parameters and its slice of this momentum."""
    return not seen.trouble and all(
        close(value[step]["parameters"], want[step][0], TOLERANCE)
        and close(value[step]["momentum"], want[step][1][a:b], TOLERANCE)
        for value, (a, b) in zip(seen.values, case.facts["bounds"], strict=True)
        for step in range(steps)
    )


def limit(case: Case) -> int:
    """Bytes of a reduce-scatter and an all-gather in each step, over all ranks, with padding."""
    n, length = case.ranks, len(case.args[0][0])
    return STEPS * 2 * (n - 1) * n * -(-length // n) * 8


def too_much(case: Case, seen: Observation) -> str | None:
    """More bytes than needed."""
    sent, enough = sum(seen.bytes), limit(case)
    if sent <= enough or not every(case, seen, whole(case)):
        return None
    return (
        f"{case.name}, the numbers are right, but the ranks sent {times(sent, enough)} the bytes "
        f"of one reduce-scatter and one all-gather ({sent} B instead of {enough} B): a rank needs "
        "the summed gradient of its own slice only, so an all-reduce is half too much."
    )


def summed(case: Case, seen: Observation) -> str | None:
    """The sum of the gradients, not divided."""
    if case.ranks == 1 or not every(case, seen, whole(case, scaled(0)), 1):
        return None
    return (
        f"{case.name}, each step is {case.ranks} times too large: the reduce-scatter sums, and the "
        "step follows the mean. Divide by `comm.size`."
    )


def own_gradient(case: Case, seen: Observation) -> str | None:
    """Each rank's own gradient."""
    if case.ranks == 1:
        return None
    for factor in (1.0, 1 / case.ranks):
        for value, (a, b), rank in zip(
            seen.values, case.facts["bounds"], range(case.ranks), strict=True
        ):
            gradient = case.facts["gradients"][rank, 0] * factor
            momentum = (case.args[0][4] * case.facts["momentum"] + gradient)[a:b]
            if not close(value[0]["momentum"], momentum, TOLERANCE):
                break
        else:
            return (
                f"{case.name}, each rank moved its slice by its own gradient: the others' part of "
                "it is missing. Reduce-scatter the gradient first; that gives this rank the sum of "
                "its own chunk."
            )
    return None


def not_gathered(case: Case, seen: Observation) -> str | None:
    """No all-gather, or too early."""
    want, start = whole(case), case.args[0][0]
    if case.ranks == 1:
        return None
    late = True
    for value, (a, b) in zip(seen.values, case.facts["bounds"], strict=True):
        first, last = value[0]["parameters"], value[-1]["parameters"]
        elsewhere = np.r_[0:a, b : len(start)]
        if not close(first[a:b], want[0][0][a:b], TOLERANCE):
            return None
        if not close(first[elsewhere], start[elsewhere], TOLERANCE):
            return None
        late = late and close(last[elsewhere], want[-2][0][elsewhere], TOLERANCE)
    if late:
        return (
            f"{case.name}, every rank's own slice is right and the others' are one step behind: "
            "gather the parameters after the update, not before it."
        )
    return (
        f"{case.name}, every rank updated its own slice and never saw the others': the next "
        "forward needs all parameters, so all-gather them."
    )


def momentum_lost(case: Case, seen: Observation) -> str | None:
    """A new momentum, dropped."""
    want = whole(case)
    for value, (a, b) in zip(seen.values, case.facts["bounds"], strict=True):
        if not close(value[0]["parameters"], want[0][0], TOLERANCE):
            return None
        if not close(value[-1]["momentum"], case.facts["momentum"][a:b], TOLERANCE):
            return None
    return (
        f"{case.name}, the first step is right and the momentum is what it was: a new tensor was "
        "made and dropped. Write into the one that is given, `momentum.mul_(beta).add_(…)`."
    )


def nothing(case: Case, seen: Observation) -> str | None:
    """Parameters as they were."""
    start = case.args[0][0]
    if not all(close(v[-1]["parameters"], start, 0.0) for v in seen.values):
        return None
    return (
        f"{case.name}, the parameters did not change: update the tensor that is given in place, "
        "`parameters[start:stop] -= …`."
    )


def other_slices(case: Case, seen: Observation) -> str | None:
    """Slices of another length."""
    if seen.trouble != "failed" or "must match" not in seen.text:
        return None
    bounds = case.facts["bounds"]
    sizes = listing(b - a for a, b in bounds)
    return (
        f"{case.name}, two slices differ in length ({seen.text.splitlines()[0].rstrip('.')}). "
        f"`chunk_bounds` gives the ranks {sizes} elements, and `momentum` is as long; take the "
        "parameters' slice with the same bounds."
    )


def whole_state(case: Case, seen: Observation) -> str | None:
    """The momentum went to the others."""
    if not every(case, seen, whole(case)):
        return None
    for rank, value in enumerate(seen.values):
        if any(step["state"] for step in value):
            return (
                f"{case.name}, the numbers are right, but rank {rank} sent its slice of the "
                "momentum, and the whole of it came together on other ranks: what is sharded is "
                "never gathered. Update this rank's slice of the parameters, and gather those."
            )
    return None


def open_messages(case: Case, seen: Observation) -> str | None:
    """Messages that nobody waited for."""
    if seen.trouble:
        return None
    for rank, value in enumerate(seen.values):
        still = max(step["open"] for step in value)
        if still:
            return (
                f"{case.name}, rank {rank} returned without waiting for "
                f"{count(still, 'message')} of its own: whoever writes into its tensor next may "
                "change what arrives. Keep what `comm.isend` returns, and call `wait()` on each "
                "before you return."
            )
    return None


def _plus(now: Now) -> tuple[Array, Array]:
    momentum = now.beta * now.momentum + now.total / now.n
    return now.parameters + now.rate * momentum, momentum


def _no_beta(now: Now) -> tuple[Array, Array]:
    momentum = now.momentum + now.total / now.n
    return now.parameters - now.rate * momentum, momentum


def _moving_average(now: Now) -> tuple[Array, Array]:
    momentum = now.beta * now.momentum + (1 - now.beta) * now.total / now.n
    return now.parameters - now.rate * momentum, momentum


def _rate_inside(now: Now) -> tuple[Array, Array]:
    momentum = now.beta * now.momentum + now.rate * now.total / now.n
    return now.parameters - momentum, momentum


def _too_early(now: Now) -> tuple[Array, Array]:
    momentum = now.beta * now.momentum + now.total / now.n
    return now.parameters - now.rate * now.momentum, momentum


def _by_the_gradient(now: Now) -> tuple[Array, Array]:
    momentum = now.beta * now.momentum + now.total / now.n
    return now.parameters - now.rate * now.total / now.n, momentum


def _sum_inside(now: Now) -> tuple[Array, Array]:
    momentum = now.beta * now.momentum + now.total
    return now.parameters - now.rate / now.n * momentum, momentum


RULES: dict[str, tuple[Step, str]] = {
    "the other way": (
        _plus,
        "the parameters moved the other way: the step is subtracted, "
        "`parameters[start:stop] -= rate * momentum`.",
    ),
    "no beta": (
        _no_beta,
        "the old momentum was not multiplied by β: momentum ← β · momentum + g.",
    ),
    "a moving average": (
        _moving_average,
        "the gradient was multiplied by 1 − β: that is a moving average, and here "
        "momentum ← β · momentum + g.",
    ),
    "the rate in the momentum": (
        _rate_inside,
        "the momentum holds rate · g: the rate multiplies the step alone, "
        "parameters ← parameters − rate · momentum.",
    ),
    "the old momentum": (
        _too_early,
        "the parameters moved by the momentum of the step before: update the momentum first.",
    ),
    "moved by the gradient": (
        _by_the_gradient,
        "the momentum is right, but the parameters moved by the gradient: subtract "
        "rate · momentum.",
    ),
    "divides twice": (
        scaled(2),
        "the mean was divided by N once more, so the gradient counts N times too little.",
    ),
    "the sum in the momentum": (
        _sum_inside,
        "the momentum holds the sum of the gradients, and the rate was divided instead: the "
        "momentum is kept from step to step, and it is that of the mean.",
    ),
}
"""Steps with one thing wrong in the rule, and what each is told."""


def another_rule(case: Case, seen: Observation) -> str | None:
    """A rule of its own."""
    for step, words in RULES.values():
        if every(case, seen, whole(case, step)):
            return f"{case.name}, {words}"
    return None
