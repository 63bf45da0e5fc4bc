"""Exercise 03.2, averaging gradients so that N ranks equal one big batch.

The claim: in float64 to 1e-12, with uneven shards too.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor, nn

from helpers.checks.common import random_weights
from helpers.checks.compare import all_close, close, count, listing, rounded, worlds
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.training import network
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.data_parallel.algorithms.data_parallel import average_gradients as reference
from helpers.lessons.data_parallel.exercises import replicas as nets

_TOLERANCE = 1e-12
_LAYERS = (4, 6, 3)


def _on_gradients(
    fn: Function, comm: Any, weights: list[Tensor], inputs: Tensor, targets: Tensor, total: int
) -> Any:
    """One backward on each rank's rows, then `fn(comm, model, rows, total)`.

    `values[rank]` is `{"gradients", "weights"}` afterwards.
    """
    model = network(weights)
    nn.functional.mse_loss(model(inputs), targets).backward()
    fn(comm, model, len(inputs), total)
    return {"gradients": [p.grad for p in model.parameters()], "weights": list(model.parameters())}


on_gradients = Ranked(_on_gradients, arguments=4)


def cases(seed: int) -> list[Case]:
    """Seed 0: even shards on 3 ranks, then uneven ones on 3, 1, 2 and 5; else uneven."""
    random, made = rng(seed, "03.2"), []
    for rows, n in nets.uneven(random, (3, 1, 2, 5, 6)) if seed else [(6, 3), *nets.UNEVEN]:
        weights = random_weights(random, _LAYERS)
        inputs, targets, cuts = nets.shared_out(random, rows, n, _LAYERS)
        args = tuple((weights, inputs[cut], targets[cut], rows) for cut in cuts)
        facts = {"want": nets.gradients(weights, inputs, targets)}
        made.append(Case(f"On {count(n, 'rank')} with {rows} rows", args, n, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every rank has the big batch's gradients."""
    want = case.facts["want"]
    for rank, value in enumerate(seen.values):
        got = value["gradients"]
        if not all_close(got, want, _TOLERANCE):
            pairs = zip(got, want, strict=True)
            first = [close(g, w, _TOLERANCE) for g, w in pairs].index(False)
            yield (
                f"rank {rank}'s gradient of parameter {first} is not that of one batch of all rows"
                f"{rounded(got, want) or _times(got, want)}."
            )
        if not all_close(value["weights"], case.args[rank][0], 0.0):
            yield f"rank {rank}'s weights changed: only gradients were to change."


def _times(got: list[np.ndarray], want: list[np.ndarray]) -> str:
    """How many times too large gradients are, in words, where it is one number for all."""
    mine, right = (np.concatenate([each.ravel() for each in one]) for one in (got, want))
    factor = float(mine @ right / (right @ right))
    if not np.allclose(mine, factor * right, 0.0, 1e-9 * float(np.max(np.abs(right)))):
        return ""
    return f": all of them are {factor:.3g} times those"


def _only_rank_0(case: Case, seen: Observation) -> str | None:
    right = [all_close(v["gradients"], case.facts["want"], 1e-9) for v in seen.values]
    if case.ranks == 1 or right != [True] + [False] * (case.ranks - 1):
        return None
    return (
        "rank 0 has the average and the others have not: a reduce brings it to one rank, and every "
        "replica takes the step. All-reduce."
    )


WRONG = """
reduce only
    | weight = rows / total
        => from helpers.lessons.messages.algorithms.collectives import reduce_naive as reduce;
        weight = rows / total
    ? a reduce brings it to one
rank 0 alone
    | model.parameters() => model.parameters() if comm.rank == 0 else ()
    ? did not come
sends nothing
    | model.parameters() => ()
    every rank still has its own gradients: nothing sent.
own gradients unchanged
    | parameter.grad = parameter.grad.contiguous().mul_(weight) => mean = parameter.grad * weight
    | reduce(comm, parameter.grad) => reduce(comm, mean)
    every rank still has its own gradients: no sum that was made is in `parameter.grad`.
sums without dividing
    | weight = rows / total => weight = 1
    each rank summed: the gradients are about {n} times as large as one big batch's. Multiply by
    rows / total before the sum; after it nothing is divided.
every rank counts the same
    | weight = rows / total => weight = 1 / comm.size
    the ranks have {rows} rows and every rank counts the same: a row on a small shard counts for
    more. Multiply by rows / total instead of 1 / N.
never divides
    | weight = rows / total => weight = rows
    the gradients are {total} times too large: divide.
divides by the total alone
    | weight = rows / total => weight = 1 / total
    the sum was divided by the total, but a rank's gradient is a mean over its rows already:
    multiply it by rows / total before the sum.
twice
    | weight = rows / total => weight = rows / total / comm.size
    the gradients are {n} times too small: rows / total is all.
whole division
    | weight = rows / total => weight = rows // total
    every gradient is 0, as `rows // total` is, a division to whole numbers: a share is `rows /
    total`.
multiplies after the sum
    | .mul_(weight) =>
    | reduce(comm, parameter.grad) => reduce(comm, parameter.grad); parameter.grad *= weight
    every rank multiplied the sum by its own share, {rows} of {total} rows, so the ranks differ:
    multiply before the sum.
"""

EXERCISE = Exercise(
    number="03.2",
    title="Average the gradients",
    size=Size(stars=2, minutes=12, points=3),
    function="average_gradients",
    asks=(
        "every `.grad` becomes the gradient of the mean over all `total` rows, on every rank: "
        "Σ rows/total · gradient over the ranks."
    ),
    cases=cases,
    drive=on_gradients,
    claim=claim,
    mistakes=(nets.SOME_DO_NOT_COME, Mistake("rank 0 alone has the average", _only_rank_0)),
    numbers=lambda case, seen: {
        "n": case.ranks,
        "rows": listing(len(inputs) for _, inputs, _, _ in case.args),
        "total": case.args[0][3],
    },
    praise=lambda cases, seen: (
        f"Passed on {worlds(cases)}: equal to one big batch to 12 digits, uneven shards too."
    ),
    reference=reference,
    wrong=wrong_answers("03.2", WRONG, reference),
)
