"""Exercise 14.1, an MLP whose first matrix is cut by columns and whose second by rows.

`parallel_mlp(comm, x, up, up_bias, down, down_bias) -> Tensor`: the whole matrices in torch's
layout, (outputs, inputs); rank r works with hidden units ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋. The claim: equal
to the dense MLP on every rank to 1e-10; a rank's matrix products are at most its share of the
dense ones; over all ranks no more bytes than one all-reduce of the result, and all of them waited
for; what was handed in stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe, is_array, listing, rounded, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_tensor_parallel import counting
from helpers.exercises.lesson_14 import column_row_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_SUM = ": GELU(x upᵣᵀ + up_biasᵣ) downᵣᵀ, summed, + down_bias"
ARGUMENTS = ("x", "`up`", "`up_bias`", "`down`", "`down_bias`")


def cases(seed: int) -> list[Case]:
    """Seed 0: 13 hidden units on 3 ranks first; then 1, 2, 5, and 5 ranks with 3 units."""
    random, made = rng(seed, "14.1"), []
    shapes = [(3, 4, 13, 3), (1, 2, 6, 2), (2, 3, 9, 4), (5, 3, 17, 3), (5, 2, 3, 1)]
    if seed:
        shapes = [
            (n, int(random.integers(1, 5)), int(random.integers(3 * n, 6 * n)) * n + n // 2 + 1, 4)
            for n in (3, 1, 2, 5)
        ] + [(4, 2, int(random.integers(1, 4)), 1)]
    for n, rows, hidden, width in shapes:
        dense = (
            random.standard_normal((rows, width)),
            random.standard_normal((hidden, width)),
            random.standard_normal(hidden),
            random.standard_normal((width, hidden)),
            random.standard_normal(width),
        )
        name = f"On {count(n, 'rank')} with {count(hidden, 'hidden unit')}"
        units = [(r * hidden // n, (r + 1) * hidden // n) for r in range(n)]
        shares = [2 * rows * width * (stop - start) for start, stop in units]  # multiplications
        facts = {"units": units, "shares": shares}
        made.append(Case(name, (dense,) * n, n, facts=facts))
    return made


def _want(case: Case) -> Any:
    """What the dense MLP gives, with GELU(x) = x Φ(x), exactly."""
    x, up, up_bias, down, down_bias = case.args[0]
    hidden = x @ up.T + up_bias
    hidden = 0.5 * hidden * (1 + np.vectorize(math.erf, otypes=[float])(hidden / math.sqrt(2)))
    return hidden @ down.T + down_bias


def _right(case: Case, seen: Observation) -> list[bool]:
    """Which ranks have the dense MLP's result."""
    want = _want(case)
    return [close(v["out"], want, 1e-10) for v in seen.values]


def claim(case: Case, seen: Observation) -> str | None:
    """Right on every rank, with each rank's share of the work and one all-reduce."""
    right = _right(case, seen)
    if not all(right):
        rank, shape = right.index(False), case.args[0][0].shape
        returned = f"{case.name}, rank {rank} returned"
        if not is_array(seen.values[rank]["out"], shape):
            said = describe(seen.values[rank]["out"])
            return f"{returned} {said}; the dense MLP gives a tensor of shape {shape}."
        why = rounded([seen.values[rank]["out"]], [_want(case)]) or _SUM
        return f"{returned} the right shape, {shape}, but its values are not the dense MLP's{why}."
    if case.ranks > 1 and not seen.events:  # which the grader keeps itself
        return f"{case.name}, nothing went from rank to rank, so no rank can have the sum."
    found = another_share(case, seen) or sends_more(case, seen)
    return found or wrote(case, seen) or not_waited(case, seen)


def another_share(case: Case, seen: Observation) -> str | None:
    """A rank that works with more than its own hidden units."""
    if not all(_right(case, seen)):
        return None
    for rank, (value, share) in enumerate(zip(seen.values, case.facts["shares"], strict=True)):
        if (value["products"] or 0) > share:
            start, stop = case.facts["units"][rank]
            return (
                f"{case.name}, rank {rank} makes {value['products']} multiplications in matrix "
                f"products. Its hidden units from {start} up to {stop}, as `chunk_bounds` cuts "
                f"them, make {share}."
            )
    return None


def sends_more(case: Case, seen: Observation) -> str | None:
    """More bytes than one all-reduce of the result, over all ranks, with room for padding."""
    n, size = case.ranks, case.args[0][0].size
    limit = 2 * (n - 1) * n * -(-size // n) * 8
    if sum(seen.bytes) <= limit or not all(_right(case, seen)):
        return None
    return (
        f"{case.name}, {sum(seen.bytes)} B were sent in all, and one all-reduce of the result "
        f"takes {limit} B: hidden units stay where they are, and one all-reduce sums the terms."
    )


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    for rank, value in enumerate(seen.values):
        if type(value["changed"]) is int:
            return (
                f"{case.name}, rank {rank} wrote into {ARGUMENTS[value['changed']]}, which belongs "
                "to the caller and is used again in the next step: work on tensors of your own."
            )
    return None


def gathered(case: Case, seen: Observation) -> str | None:
    """Hidden units were put together, and multiplied by all of `down`."""
    most, share = _most(seen), max(case.facts["shares"])
    if not all(_right(case, seen)) or not sum(seen.bytes) or most <= share:
        return None
    return (
        f"{case.name}, the result is right, but a rank makes {most} multiplications where its "
        f"share is {share}: after the hidden units were put together, every rank multiplied "
        "by all of `down`. Multiply them where they are, by this rank's columns of `down`, and "
        "sum what comes out."
    )


def _most(seen: Observation) -> int:
    """Multiplications of the rank that makes most, as far as they are seen."""
    return max(v["products"] or 0 for v in seen.values)


def compared(case: Case, seen: Observation) -> Any:
    """The results; where one rank has the right one, which; where all have it, their work."""
    right = _right(case, seen)
    if all(right):
        return [{"products": v["products"]} for v in seen.values]
    return right if any(right) else [v["out"] for v in seen.values]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the cut, the work, and the shape of what came out."""
    hidden, n = len(case.args[0][1]), case.ranks
    lost = range(n * (hidden // n), hidden)
    return {
        "n": n,
        "lost": f"{'unit' if len(lost) == 1 else 'units'} {listing(lost)}",
        "last": count(hidden - (n - 1) * (hidden // n), "unit"),
        "most": _most(seen),
        "share": max(case.facts["shares"]),
        "firsts": listing(r for r, (start, _) in enumerate(case.facts["units"]) if start == 0),
        "returned": describe(seen.values[0]["out"]),
        "shape": case.args[0][0].shape,
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    x, up, *_ = cases[0].args[0]
    return (
        f"Passed on {worlds(cases)}: the dense MLP's result on every rank, with one all-reduce; "
        f"on {cases[0].ranks} ranks a rank makes {_most(seen[0])} of the "
        f"{2 * x.size * len(up)} multiplications at most."
    )


def reference(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """The course's own."""
    from torch.nn import functional

    from helpers.algorithms.messages.collectives import chunk_bounds
    from helpers.algorithms.splitting.tensor_parallel import sum_over_ranks

    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    hidden = functional.gelu(functional.linear(x, up[start:stop], up_bias[start:stop]))
    return sum_over_ranks(comm, functional.linear(hidden, down[:, start:stop])) + down_bias


OWN_TERM = "every rank returned its own term: the result is the sum of all {n}, on every rank."
AVERAGED = "the terms were averaged: the product is their sum, so do not divide by {n}."
ACTIVATION = (
    "there is {} between the two products; it is GELU, `torch.nn.functional.gelu(…)` without "
    "options."
)

EXERCISE = Exercise(
    number="14.1",
    title="A column and a row",
    stars=2,
    minutes=15,
    points=3,
    function="parallel_mlp",
    asks=(
        "rank r multiplies by its own rows of `up` and columns of `down` only, hidden units "
        "⌊r·H/N⌋ to ⌊(r+1)·H/N⌋; one all-reduce sums the terms, `down_bias` is added once, and "
        "every rank returns the whole result."
    ),
    cases=cases,
    drive=counting,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("a rank stays away from the sum", wrong.no_part, unfinished=True),
        Mistake("cuts along the wrong side", wrong.no_fit, unfinished=True),
        Mistake("changes what it is given", wrote),
        Mistake("puts the hidden units together", gathered),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "terms side by side",
            wrong.side_by_side,
            "rank 0 returned {returned}; x and the result are {shape}. The terms are added up, not "
            "put side by side.",
        ),
        WrongAnswer("ReLU for GELU", wrong.relu, ACTIVATION.format("ReLU")),
        WrongAnswer(
            "GELU by tanh", wrong.by_tanh, ACTIVATION.format("GELU's approximation by tanh")
        ),
        WrongAnswer("no activation", wrong.no_activation, ACTIVATION.format("nothing")),
        WrongAnswer(
            "the remainder on the last rank",
            wrong.rest_on_the_last,
            "the last rank took the whole remainder, {last}: the others wait for it. Rank r has "
            "⌊r·H/N⌋ to ⌊(r+1)·H/N⌋, which differ by one at most.",
        ),
        WrongAnswer(
            "every rank computes everything",
            wrong.everything,
            "a rank makes {most} multiplications, and its share is {share}: every rank computed "
            "everything. Take this rank's hidden units only, and sum the terms.",
        ),
        WrongAnswer(
            "cuts `up` by its inputs",
            wrong.cuts_the_inputs,
            "the result is right, but `up` was cut by its inputs: no rank has a whole hidden unit "
            "before a sum, and after it every rank multiplied by all of `down`, {most} "
            "multiplications where its share is {share}. Cut `up` by hidden units, which are its "
            "rows: then GELU needs nobody else's numbers.",
        ),
        WrongAnswer("never sums", wrong.own_term, OWN_TERM),
        WrongAnswer("never sums, and no second bias", wrong.own_term_alone, OWN_TERM),
        WrongAnswer(
            "the bias N times",
            wrong.bias_on_every_rank,
            "`down_bias` is in the result {n} times, once from every rank: add it after the sum.",
        ),
        WrongAnswer("the bias with unit 0", wrong.bias_with_unit_0, wrong.BIAS_WITH_UNIT_0),
        WrongAnswer(
            "no bias", wrong.no_up_bias, "`up_bias` is missing: add `up_bias[start:stop]`."
        ),
        WrongAnswer(
            "no second bias", wrong.no_bias, "`down_bias` is missing: add it once, after the sum."
        ),
        WrongAnswer("averages", wrong.averages, AVERAGED),
        WrongAnswer("averages, with the bias", wrong.averages_the_bias, AVERAGED),
        WrongAnswer(
            "rest", wrong.loses_the_remainder, "hidden {lost} took no part: ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋."
        ),
        WrongAnswer(
            "GELU of a part of a sum",
            wrong.rows_first,
            "{case}, GELU was applied to a part of a sum: `up` was cut along its inputs, so no "
            "rank had a whole hidden unit, and GELU(a + b) is not GELU(a) + GELU(b). Cut `up` "
            "along its outputs.",
        ),
        WrongAnswer(
            "one rank alone has the result",
            wrong.for_rank_0,
            "rank 0 has the result and the others have not: the next layer needs it on every rank, "
            "so all-reduce.",
        ),
        WrongAnswer("the remainder on the first ranks", wrong.rest_on_the_first, another_share),
        WrongAnswer("sends more than one all-reduce", wrong.two_sums, sends_more),
        WrongAnswer("wrong side", wrong.wrong_side, hint="(outputs, inputs)"),
        WrongAnswer("gathers", wrong.gathers, hint="were put together"),
        WrongAnswer("stays away", wrong.stays_away, hint="did not come to the sum"),
        WrongAnswer("clears the bias", wrong.clears_the_bias, hint="wrote into `down_bias`"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
    ),
    figure=0,
    unseen={"products": "how many multiplications a rank makes"},
)
