"""Exercise 14.5, a step of an optimizer whose state is cut into slices.

`sharded_step(comm, parameters, gradient, momentum, rate, beta) -> None`: parameters and gradient
are whole and flat, momentum is this rank's slice, chunk r of `chunk_bounds`. The claim: several
steps equal momentum on the mean of all gradients, on every rank, to 1e-10 in float64, also where
the momentum is set back before one; the ranks send what one reduce-scatter and one all-gather take,
(N − 1) of the parameters each, never a slice of the momentum or a multiple of it, and wait for what
they send.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from torch import Tensor

from helpers.checks.common import self_hint
from helpers.checks.compare import close, count, rounded, times
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN, Requests, not_waited
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    chunk_bounds,
    reduce_scatter_ring,
)
from helpers.lessons.sharding.exercises.shared import fails

STEPS = 3


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 12 parameters, then 1, 2 and 5 with lengths that do not divide; at the
    end large gradients, and float32."""
    random, made = rng(seed, "14.5"), []
    settings = [(3, 12), (1, 4), (2, 7), (5, 13), (4, 3)]
    if seed:
        settings = [(n, n * int(random.integers(2, 9)) + n - 1) for n in (3, 1, 2, 5, 6)]
    others = [(2, 7 + seed % 5, "large gradients"), (3, 9 + 3 * (seed % 5), "float32")]
    for n, length, what in [*((*each, "") for each in settings), *others]:
        kind: Any = np.float32 if what == "float32" else np.float64
        start = random.standard_normal(length).astype(kind)
        gradients = random.standard_normal((n, STEPS, length)).astype(kind)
        gradients *= 1000 if what == "large gradients" else 1
        first = momentum = random.standard_normal(length).astype(kind)
        rate, beta = 0.1 * float(random.integers(1, 5)), 0.9 if n == 3 else 0.6 + n / 100
        bounds = [(r * length // n, (r + 1) * length // n) for r in range(n)]
        args = tuple(
            (start, gradients[r], momentum[a:b], rate, beta) for r, (a, b) in enumerate(bounds)
        )
        parameters, wanted = start, []
        for step, gradient in enumerate(gradients.mean(0)):  # the same on one rank
            momentum = beta * (first if step == STEPS - 1 else momentum) + gradient
            parameters = parameters - rate * momentum
            wanted.append((parameters, momentum))
        name = f"On {count(n, 'rank')} with {length} parameters"
        name += f" in {what}" if what == "float32" else f" and {what}" if what else ""
        facts = {"bounds": bounds, "wanted": wanted, "near": 1e-5 if kind is np.float32 else 1e-10}
        made.append(Case(name, args, n, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The right parameters on every rank, its slice of the momentum, and no more bytes."""
    for look in (_wrong_numbers, too_much, whole_state, not_waited):
        yield look(case, seen)


def _wrong_numbers(case: Case, seen: Observation) -> str | None:
    near, back = (
        case.facts["near"],
        ", before which the momentum was set back to what it was first,",
    )
    for step, (parameters, momentum) in enumerate(case.facts["wanted"]):
        for rank, (value, (a, b)) in enumerate(zip(seen.values, case.facts["bounds"], strict=True)):
            again = back if step == STEPS - 1 else ""
            where, after = f"after step {step + 1}{again} rank {rank}'s", value["after"][step]
            if not close(after["parameters"], parameters, near):
                why = rounded([after["parameters"]], [parameters])
                return f"{where} parameters are not those of the same step on one big batch{why}."
            if not close(after["momentum"], momentum[a:b], near):
                why = rounded([after["momentum"]], [momentum[a:b]])
                return f"{where} momentum is not its slice of the whole momentum{why}."
    return None


def too_much(case: Case, seen: Observation) -> str | None:
    """More bytes than a reduce-scatter and an all-gather in each step, with padding."""
    n, length, sent = case.ranks, len(case.args[0][0]), sum(seen.bytes)
    enough = STEPS * 2 * (n - 1) * n * -(-length // n) * case.args[0][0].itemsize
    if sent <= enough or _wrong_numbers(case, seen):
        return None
    return (
        f"the numbers are right, but the ranks sent {times(sent, enough)} the bytes of one "
        f"reduce-scatter and one all-gather ({sent} B instead of {enough} B). One of each does: a "
        "rank needs the summed gradient of its own slice alone, and the others' new parameters."
    )


def whole_state(case: Case, seen: Observation) -> str | None:
    """The momentum went to the others, or a multiple of it."""
    if _wrong_numbers(case, seen):
        return None
    for rank, value in enumerate(seen.values):
        slices = [case.args[rank][2], *(after["momentum"] for after in value["after"])]
        begun = [np.ravel(told)[: len(slices[0])] for told in value["told"]]  # behind it, padding
        pairs = product(begun, slices) if len(slices[0]) > 1 else ()  # of one, any is a multiple
        if any(_is_multiple(one, held) for one, held in pairs):
            return (
                f"the numbers are right, but rank {rank} sent its slice of the momentum, or a "
                "multiple of it, and the whole of it came together on other ranks: what is sharded "
                "is never gathered. Update this rank's slice of the parameters, and gather those."
            )
    return None


def _is_multiple(one: np.ndarray, held: np.ndarray) -> bool:
    """Whether one tensor is some number times another."""
    if one.shape != held.shape or not one.any():
        return False
    factor = one @ held / (held @ held)
    return close(one, factor * held, 1e-6)


other_slices = fails(
    "two slices differ in length ({said}). `chunk_bounds` gives the ranks {sizes} elements, and "
    "`momentum` is as long; take the parameters' slice with the same bounds.",
    "must match",
)


def compared(case: Case, seen: Observation) -> Any:
    """Parameters and momentum after each step; of parameters as they were, no more than that."""
    start = case.args[0][0]
    if all(np.array_equal(value["after"][-1]["parameters"], start) for value in seen.values):
        return "as they were"
    return [value["after"] for value in seen.values]


@Ranked
def on_steps(
    fn: Function, comm: Any, parameters: Tensor, gradients: Tensor, momentum: Tensor, *rest: float
) -> Any:
    """`fn(comm, parameters, gradient, momentum, *rest)` for each row of gradients.

    Before the last one the momentum is what it was first. rest: the rate and beta.
    `values[rank]`: after, for each step the parameters and the momentum; open, the most of its
    messages in a step that nobody waited for; told, what they held.
    """
    after, still, messages, first = [], [], list[Any](), momentum.clone()
    for step, gradient in enumerate(gradients):
        if step == len(gradients) - 1:
            momentum.copy_(first)
        requests = Requests(comm, note=plain)
        fn(comm, parameters, gradient.clone(), momentum, *rest)
        still.append(requests.end())
        messages += requests.told
        after.append({"parameters": plain(parameters), "momentum": plain(momentum)})
    return {"after": after, "told": messages, OPEN: max(still)}


def reference(
    comm: Any, parameters: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """The course's own."""
    start, stop = chunk_bounds(len(parameters), comm.size)[comm.rank]
    momentum.mul_(beta).add_(reduce_scatter_ring(comm, gradient), alpha=1 / comm.size)
    parameters[start:stop] -= rate * momentum
    all_gather_ring(comm, parameters)


WRONG = """
parameters unchanged
    | start, stop = => parameters = parameters.clone(); start, stop =
    the parameters are what they were: update this rank's own chunk of the tensor that is given, in
    place, `parameters[start:stop] -= …`, before it is gathered.
sums without dividing
    | , alpha=1 / comm.size =>
    each step is {n} times too large: the reduce-scatter sums, and the step follows the mean. Divide
    by `comm.size`.
gathers before the update
    | all_gather_ring(comm, parameters) =>
    | start, stop = => all_gather_ring(comm, parameters); start, stop =
    every rank's own slice is right and the others' are one step behind: gather the parameters after
    the update, not before it.
does not gather the update
    | ring(comm, parameters) => ring(comm, parameters.clone())
    every rank updated its own slice and never saw the others': the next forward needs all
    parameters, so all-gather them.
own gradient only
    | momentum.mul_(beta).add_( => own = gradient[start:stop].clone(); momentum.mul_(beta).add_(
    | reduce_scatter_ring(comm, gradient), alpha=1 / comm.size
        => own + 0 * reduce_scatter_ring(comm, gradient)
    each rank moved its slice by its own gradient: the others' part of it is missing. Reduce-scatter
    the gradient first; that gives this rank the sum of its own chunk.
own gradient only, divided
    | momentum.mul_(beta).add_( => own = gradient[start:stop].clone(); momentum.mul_(beta).add_(
    | reduce_scatter_ring(comm, gradient) => own + 0 * reduce_scatter_ring(comm, gradient)
    ! own gradient only
momentum is lost
    | momentum.mul_ => momentum = momentum.clone().mul_
    the first step is right and the momentum is what it was: a new tensor was made and dropped.
    Write into the one that is given, `momentum.mul_(beta).add_(…)`.
the other way
    | -= => +=
    the parameters moved the other way: the step is subtracted,
    `parameters[start:stop] -= rate * momentum`.
no beta
    | .mul_(beta) =>
    the old momentum was not multiplied by μ: momentum ← μ · momentum + g.
a moving average
    | alpha=1 / => alpha=(1 - beta) /
    the gradient was multiplied by 1 − μ: that is a moving average, and here
    momentum ← μ · momentum + g.
the rate in the momentum
    | alpha=1 / => alpha=rate /
    | rate * momentum => momentum
    the momentum holds rate · g: the rate multiplies the step alone,
    parameters ← parameters − rate · momentum.
no rate
    | rate * momentum => momentum
    the momentum was subtracted whole: times `rate`.
too early
    | momentum.mul_ => old = momentum.clone(); momentum.mul_
    | rate * momentum => rate * old
    the old momentum was used: update it first.
by g
    | rate * momentum => rate * gradient[start:stop] / comm.size
    the parameters moved by g: subtract rate · momentum.
divides twice
    | / comm.size => / comm.size**2
    the mean was divided by N once more, so the gradient counts N times too little.
the sum in the momentum
    | , alpha=1 / comm.size =>
    | rate * momentum => rate / comm.size * momentum
    the momentum holds the sum of the gradients, and the rate was divided instead: the momentum is
    kept from step to step, and it is that of the mean.
all-reduce
    | reduce_scatter_ring(comm, gradient)
        => (reduce_scatter_ring(comm, gradient), all_gather_ring(comm, gradient))[0]
    ? One of each does
L // N
    | start, stop = chunk_bounds(len(parameters), comm.size)[comm.rank]
        => each = len(parameters) // comm.size; start = comm.rank * each;
        stop = len(parameters) if comm.rank == comm.size - 1 else start + each
    ? with the same bounds
whole momentum
    | parameters[start:stop] -= rate * momentum
        => state = parameters.clone(); state[start:stop] = momentum
    | all_gather_ring(comm, parameters) => parameters -= rate * all_gather_ring(comm, state)
    ? what is sharded is never
to itself as well
    | all_gather_ring(comm, parameters)
        => comm.isend(parameters[start:stop], comm.rank); comm.recv(comm.rank);
        all_gather_ring(comm, parameters)
    ? which nobody will receive
no wait
    | sending.wait() =>
    ? without waiting for
"""


EXERCISE = Exercise(
    number="14.5",
    title="A sharded optimizer",
    size=Size(stars=2, minutes=15, points=4),
    function="sharded_step",
    asks=(
        "reduce-scatter the gradient, update this rank's slice with its slice of the momentum and "
        "the mean gradient, all-gather the parameters: all in place."
    ),
    cases=cases,
    drive=on_steps,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("sends to itself", self_hint, unfinished=True),
        Mistake("slices of another length", other_slices, unfinished=True),
        Mistake("gathers the momentum", whole_state),
        Mistake("more bytes than needed", too_much),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=lambda case, seen: {"n": case.ranks},
    praise=(
        f"Passed on {{worlds}}: equal to momentum on one big batch over {STEPS} steps, 1/N of the "
        "state on each rank, and no more bytes than an all-reduce of the gradients."
    ),
    reference=reference,
    wrong=wrong_answers("14.5", WRONG, (reference, all_gather_ring)),
    figure=0,
)
