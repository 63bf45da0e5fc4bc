"""Exercise 14.5, a step of an optimizer whose state is cut into slices.

`sharded_step(comm, parameters, gradient, momentum, rate, beta) -> None`: parameters and gradient
are whole and flat, momentum is this rank's slice, chunk r of `chunk_bounds`. The claim: several
steps equal momentum on the mean of all gradients, on every rank, to 1e-10 in float64; the ranks
send what one reduce-scatter and one all-gather take, (N − 1) of the parameters each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng, self_hint
from helpers.exercises.compare import close, count, listing, times, worlds
from helpers.exercises.drives_sharding import on_steps
from helpers.exercises.lesson_14 import sharded_step_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10
_STEPS = 3
Array = Any


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 12 parameters, then 1, 2 and 5 with lengths that do not divide."""
    random, made = rng(seed, "14.5"), []
    settings = [(3, 12), (1, 4), (2, 7), (5, 13), (4, 3)]
    if seed:
        settings = [(n, n * int(random.integers(2, 9)) + n - 1) for n in (3, 1, 2, 5, 6)]
    for n, length in settings:
        start = random.standard_normal(length)
        gradients = random.standard_normal((n, _STEPS, length))
        momentum = random.standard_normal(length)
        rate, beta = 0.1 * float(random.integers(1, 5)), 0.9
        bounds = [(r * length // n, (r + 1) * length // n) for r in range(n)]
        args = tuple(
            (start, gradients[r], momentum[a:b], rate, beta) for r, (a, b) in enumerate(bounds)
        )
        facts = {"bounds": bounds, "momentum": momentum, "gradients": gradients}
        made.append(Case(f"On {count(n, 'rank')} with {length} parameters", args, n, facts=facts))
    return made


def _whole(case: Case, factor: float) -> list[tuple[Array, Array]]:
    """Parameters and momentum after each step, the gradients' sum being multiplied by `factor`."""
    parameters, _, _, rate, beta = case.args[0]
    parameters, momentum = parameters.copy(), case.facts["momentum"].copy()
    made = []
    for step in range(_STEPS):
        momentum = beta * momentum + case.facts["gradients"][:, step].sum(0) * factor
        parameters = parameters - rate * momentum
        made.append((parameters, momentum))
    return made


def _all(case: Case, seen: Observation, want: list[tuple[Array, Array]], steps: int) -> bool:
    """Whether every rank has these parameters and its slice of this momentum."""
    return all(
        close(value[step]["parameters"], want[step][0], _TOLERANCE)
        and close(value[step]["momentum"], want[step][1][a:b], _TOLERANCE)
        for value, (a, b) in zip(seen.values, case.facts["bounds"], strict=True)
        for step in range(steps)
    )


def _limit(case: Case) -> int:
    """Bytes of a reduce-scatter and an all-gather in each step, over all ranks, with padding."""
    n, length = case.ranks, len(case.args[0][0])
    return _STEPS * 2 * (n - 1) * n * -(-length // n) * 8


def claim(case: Case, seen: Observation) -> str | None:
    """The right parameters on every rank, its slice of the momentum, and no more bytes."""
    want = _whole(case, 1 / case.ranks)
    for step in range(_STEPS):
        for rank, (value, (a, b)) in enumerate(zip(seen.values, case.facts["bounds"], strict=True)):
            where = f"{case.name}, after step {step + 1} rank {rank}'s"
            if not close(value[step]["parameters"], want[step][0], _TOLERANCE):
                return f"{where} parameters are not those of the same step on one big batch."
            if not close(value[step]["momentum"], want[step][1][a:b], _TOLERANCE):
                return f"{where} momentum is not its slice of the whole momentum."
    if sum(seen.bytes) > _limit(case):
        return (
            f"{case.name}, the ranks sent {sum(seen.bytes)} B in {_STEPS} steps; a reduce-scatter "
            f"and an all-gather a step take {_limit(case)} B."
        )
    return None


def _too_much(case: Case, seen: Observation) -> str | None:
    sent, limit = sum(seen.bytes), _limit(case)
    if sent <= limit or not _all(case, seen, _whole(case, 1 / case.ranks), _STEPS):
        return None
    return (
        f"{case.name}, the numbers are right, but the ranks sent {times(sent, limit)} the bytes of "
        f"one reduce-scatter and one all-gather ({sent} B instead of {limit} B): a rank needs the "
        "summed gradient of its own slice only, so an all-reduce is half too much."
    )


def _summed(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _all(case, seen, _whole(case, 1.0), 1):
        return None
    return (
        f"{case.name}, each step is {case.ranks} times too large: the reduce-scatter sums, and the "
        "step follows the mean. Divide by `comm.size`."
    )


def _alone(case: Case, seen: Observation) -> list[tuple[Array, Array]]:
    """What each rank would have after the first step with nobody else's gradients."""
    parameters, _, _, rate, beta = case.args[0]
    made = []
    for rank in range(case.ranks):
        momentum = beta * case.facts["momentum"] + case.facts["gradients"][rank, 0]
        made.append((parameters - rate * momentum, momentum))
    return made


def _own_gradient(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1:
        return None
    for factor in (1.0, 1 / case.ranks):
        for value, (a, b), rank in zip(
            seen.values, case.facts["bounds"], range(case.ranks), strict=True
        ):
            gradient = case.facts["gradients"][rank, 0] * factor
            momentum = (case.args[0][4] * case.facts["momentum"] + gradient)[a:b]
            if not close(value[0]["momentum"], momentum, _TOLERANCE):
                break
        else:
            return (
                f"{case.name}, each rank moved its slice by its own gradient: the others' part of "
                "it is missing. Reduce-scatter the gradient first; that gives this rank the sum of "
                "its own chunk."
            )
    return None


def _not_gathered(case: Case, seen: Observation) -> str | None:
    want, start = _whole(case, 1 / case.ranks), case.args[0][0]
    if case.ranks == 1:
        return None
    late = True
    for value, (a, b) in zip(seen.values, case.facts["bounds"], strict=True):
        first, last = value[0]["parameters"], value[-1]["parameters"]
        elsewhere = np.r_[0:a, b : len(start)]
        if not close(first[a:b], want[0][0][a:b], _TOLERANCE):
            return None
        if not close(first[elsewhere], start[elsewhere], _TOLERANCE):
            return None
        late = late and close(last[elsewhere], want[-2][0][elsewhere], _TOLERANCE)
    if late:
        return (
            f"{case.name}, every rank's own slice is right and the others' are one step behind: "
            "gather the parameters after the update, not before it."
        )
    return (
        f"{case.name}, every rank updated its own slice and never saw the others': the next "
        "forward needs all parameters, so all-gather them."
    )


def _momentum_lost(case: Case, seen: Observation) -> str | None:
    want = _whole(case, 1 / case.ranks)
    for value, (a, b) in zip(seen.values, case.facts["bounds"], strict=True):
        if not close(value[0]["parameters"], want[0][0], _TOLERANCE):
            return None
        if not close(value[-1]["momentum"], case.facts["momentum"][a:b], _TOLERANCE):
            return None
    return (
        f"{case.name}, the first step is right and the momentum is what it was: a new tensor was "
        "made and dropped. Write into the one that is given, `momentum.mul_(beta).add_(…)`."
    )


def _nothing(case: Case, seen: Observation) -> str | None:
    start = case.args[0][0]
    if not all(close(v[-1]["parameters"], start, 0.0) for v in seen.values):
        return None
    return (
        f"{case.name}, the parameters did not change: update the tensor that is given in place, "
        "`parameters[start:stop] -= …`."
    )


def _other_slices(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "must match" not in seen.text:
        return None
    bounds = case.facts["bounds"]
    sizes = listing(b - a for a, b in bounds)
    return (
        f"{case.name}, two slices differ in length ({seen.text.splitlines()[0].rstrip('.')}). "
        f"`chunk_bounds` gives the ranks {sizes} elements, and `momentum` is as long; take the "
        "parameters' slice with the same bounds."
    )


def _to_itself(case: Case, seen: Observation) -> str | None:
    return self_hint(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: equal to momentum on one big batch over {_STEPS} steps, 1/N "
        "of the state on each rank, and no more bytes than an all-reduce of the gradients."
    )


EXERCISE = Exercise(
    number="14.5",
    title="A sharded optimizer",
    stars=3,
    minutes=25,
    points=5,
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
        Mistake("slices of another length", _other_slices, unfinished=True),
        Mistake("parameters unchanged", _nothing),
        Mistake("more bytes than needed", _too_much),
        Mistake("sums without dividing", _summed),
        Mistake("does not gather the update", _not_gathered),
        Mistake("own gradient only", _own_gradient),
        Mistake("momentum is lost", _momentum_lost),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("sums", wrong.sums, "times too large"),
        WrongAnswer("all-reduce", wrong.by_all_reduce, "half too much"),
        WrongAnswer("own gradient", wrong.own_gradient, "by its own gradient"),
        WrongAnswer("no gather", wrong.no_gather, "all-gather them"),
        WrongAnswer("gathers first", wrong.gathers_first, "one step behind"),
        WrongAnswer("new momentum", wrong.new_momentum, "made and dropped"),
        WrongAnswer("L // N", wrong.floor_slices, "with the same bounds"),
        WrongAnswer("a copy", wrong.into_a_copy, "did not change"),
    ),
    figure=0,
)
