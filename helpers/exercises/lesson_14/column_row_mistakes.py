"""The mistakes of exercise 14.1, by what came out, what was computed and what was sent."""

from __future__ import annotations

from helpers.exercises.compare import close, count, describe, is_array, listing
from helpers.exercises.lesson_14.cut_mlp import (
    ACTIVATIONS,
    Array,
    bias_of,
    bounds_of,
    gelu,
    terms_of,
    want_of,
    without_up_bias,
)
from helpers.exercises.spec import Case, Observation

TOLERANCE = 1e-10
ARGUMENTS = ("x", "`up`", "`up_bias`", "`down`", "`down_bias`")


def everywhere(seen: Observation, want: Array) -> bool:
    """Whether every rank returned this."""
    return not seen.trouble and all(close(v["out"], want, TOLERANCE) for v in seen.values)


def share(case: Case, rank: int | None = None) -> int:
    """Multiplications of a rank; None: of the one with most hidden units."""
    x, units = case.args[0][0], [b - a for a, b in bounds_of(case)]
    return 2 * int(x.size) * (max(units) if rank is None else units[rank])


def another_share(case: Case, seen: Observation) -> str | None:
    """A rank that works with more than its own hidden units."""
    if seen.trouble or not everywhere(seen, want_of(case)):
        return None
    for rank, (start, stop) in enumerate(bounds_of(case)):
        products = seen.values[rank]["products"] or 0
        if products > share(case, rank):
            return (
                f"{case.name}, rank {rank} makes {products} multiplications in matrix products. "
                f"Its hidden units from {start} up to {stop}, as `chunk_bounds` cuts them, make "
                f"{share(case, rank)}."
            )
    return None


def limit(case: Case) -> int:
    """Bytes of one all-reduce of the result, over all ranks, with room for padding."""
    n, size = case.ranks, case.args[0][0].size
    return 2 * (n - 1) * n * -(-size // n) * 8


def sends_more(case: Case, seen: Observation) -> str | None:
    """More bytes than one all-reduce of the result."""
    if sum(seen.bytes) <= limit(case) or not everywhere(seen, want_of(case)):
        return None
    return (
        f"{case.name}, {sum(seen.bytes)} B were sent in all, and one all-reduce of the result "
        f"takes {limit(case)} B: hidden units stay where they are, and one all-reduce sums "
        "the terms."
    )


def too_much_work(case: Case, seen: Observation) -> str | None:
    """Every rank computed everything, and sent nothing."""
    if seen.trouble or not everywhere(seen, want_of(case)):
        return None
    most = max(v["products"] or 0 for v in seen.values)
    if most <= share(case) or sum(seen.bytes):
        return None
    return (
        f"{case.name}, a rank makes {most} multiplications, and its share is {share(case)}: every "
        "rank computed everything. Take this rank's hidden units only, and sum the terms."
    )


def gathered(case: Case, seen: Observation) -> str | None:
    """Hidden units were put together, and multiplied by all of `down`."""
    if seen.trouble or not everywhere(seen, want_of(case)) or not sum(seen.bytes):
        return None
    most = max(v["products"] or 0 for v in seen.values)
    if most <= share(case):
        return None
    x, up, *_ = case.args[0]
    n, width = case.ranks, x.shape[1]
    by_inputs = [
        len(x) * len(up) * ((r + 1) * width // n - r * width // n) + x.size * len(up)
        for r in range(n)
    ]
    if [v["products"] for v in seen.values] == by_inputs:
        return (
            f"{case.name}, the result is right, but `up` was cut by its inputs: no rank has a "
            "whole hidden unit before a sum, and after it every rank multiplied by all of `down`, "
            f"{most} multiplications where its share is {share(case)}. Cut `up` by hidden units, "
            "which are its rows: then GELU needs nobody else's numbers."
        )
    return (
        f"{case.name}, the result is right, but a rank makes {most} multiplications where its "
        f"share is {share(case)}: after the hidden units were put together, every rank multiplied "
        "by all of `down`. Multiply them where they are, by this rank's columns of `down`, and "
        "sum what comes out."
    )


def all_on_the_last(case: Case, seen: Observation) -> str | None:
    """`H // N` units each, and the last rank takes the rest."""
    hidden, n, x = case.facts["hidden"], case.ranks, case.args[0][0]
    last = hidden - (n - 1) * (hidden // n)
    most = max(v["products"] or 0 for v in seen.values)
    if seen.values[-1]["products"] != most or most != 2 * x.size * last or most <= share(case):
        return None
    return (
        f"{case.name}, the last rank took the whole remainder, {count(last, 'unit')}: the others "
        "wait for it. Rank r has ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋, which differ by one at most."
    )


def another_activation(case: Case, seen: Observation) -> str | None:
    """Right but for what is between the products."""
    for name, activation in ACTIVATIONS.items():
        if everywhere(seen, want_of(case, activation)):
            return (
                f"{case.name}, there is {name} between the two products; it is GELU, "
                "`torch.nn.functional.gelu(…)` without options."
            )
    return None


def not_a_sum(case: Case, seen: Observation) -> str | None:
    """Every rank has its own term."""
    terms = terms_of(case, bounds_of(case))
    if case.ranks == 1 or seen.trouble:
        return None
    for bias in (0, bias_of(case)):
        if all(
            close(v["out"], t + bias, TOLERANCE) for v, t in zip(seen.values, terms, strict=True)
        ):
            return (
                f"{case.name}, every rank returned its own term: the result is the sum of all "
                f"{case.ranks}, on every rank."
            )
    return None


def bias_many_times(case: Case, seen: Observation) -> str | None:
    """`down_bias` N times."""
    n = case.ranks
    if n == 1 or not everywhere(seen, want_of(case) + (n - 1) * bias_of(case)):
        return None
    return (
        f"{case.name}, `down_bias` is in the result {n} times, once from every rank: add it after "
        "the sum."
    )


def bias_lost(case: Case, seen: Observation) -> str | None:
    """No `down_bias`."""
    if not everywhere(seen, want_of(case) - bias_of(case)):
        return None
    return f"{case.name}, `down_bias` is missing: add it once, after the sum."


def up_bias_lost(case: Case, seen: Observation) -> str | None:
    """No `up_bias`."""
    if not everywhere(seen, without_up_bias(case)):
        return None
    return (
        f"{case.name}, `up_bias` is missing: this rank's part of it, `up_bias[start:stop]`, is "
        "added before GELU."
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


def other_values(case: Case, rank: int, out: Array) -> str:
    """What a rank returned, in words that do not take wrong values for a wrong shape."""
    want = want_of(case)
    if is_array(out, want.shape):
        return (
            f"{case.name}, rank {rank} returned a tensor of the right shape, {want.shape}, but its "
            "values are not the dense MLP's: GELU(x upᵣᵀ + up_biasᵣ) downᵣᵀ, summed, + down_bias."
        )
    return (
        f"{case.name}, rank {rank} returned {describe(out)}; the dense MLP gives a tensor of shape "
        f"{want.shape}."
    )


def averaged(case: Case, seen: Observation) -> str | None:
    """The mean of the terms."""
    n, total = case.ranks, sum(terms_of(case, bounds_of(case)))
    if n == 1 or not any(
        everywhere(seen, want) for want in (total / n + bias_of(case), (total + bias_of(case)) / n)
    ):
        return None
    return (
        f"{case.name}, the terms were averaged: the product is their sum, so do not divide by {n}."
    )


def remainder(case: Case, seen: Observation) -> str | None:
    """`H // N` units each, and the rest lost."""
    hidden, n = case.facts["hidden"], case.ranks
    each = hidden // n
    terms = terms_of(case, [(r * each, (r + 1) * each) for r in range(n)])
    if hidden % n == 0 or not everywhere(seen, sum(terms) + bias_of(case)):
        return None
    lost = [f"{unit}" for unit in range(each * n, hidden)]
    return (
        f"{case.name}, hidden {'unit' if len(lost) == 1 else 'units'} {listing(lost)} took no "
        "part: `H // N` loses the remainder. Rank r has ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋."
    )


def part_of_a_sum(case: Case, seen: Observation) -> str | None:
    """`up` cut along its inputs."""
    x, up, up_bias, down, down_bias = case.args[0]
    n, width = case.ranks, x.shape[1]
    total = 0.0
    for r in range(n):
        part = slice(r * width // n, (r + 1) * width // n)
        total = total + gelu(x[:, part] @ up[:, part].T + up_bias) @ down.T
    if n == 1 or not everywhere(seen, total + down_bias):
        return None
    return (
        f"{case.name}, GELU was applied to a part of a sum: `up` was cut along its inputs, so no "
        "rank had a whole hidden unit, and GELU(a + b) is not GELU(a) + GELU(b). Cut `up` along "
        "its outputs."
    )


def wrong_axis(case: Case, seen: Observation) -> str | None:
    """Shapes that do not fit."""
    if seen.trouble != "failed" or not any(
        words in seen.text for words in ("cannot be multiplied", "must match", "size mismatch")
    ):
        return None
    return (
        f"{case.name}, the shapes do not fit ({seen.text.splitlines()[0]}): torch keeps a weight "
        "as (outputs, inputs), so this rank's hidden units are rows of `up` and of `up_bias`, "
        "`up[start:stop]`, and columns of `down`, `down[:, start:stop]`."
    )


def for_one_rank(case: Case, seen: Observation) -> str | None:
    """A reduce."""
    want = want_of(case)
    right = [close(v["out"], want, TOLERANCE) for v in seen.values]
    if sum(right) != 1 or case.ranks == 1:
        return None
    return (
        f"{case.name}, rank {right.index(True)} has the result and the others have not: the next "
        "layer needs it on every rank, so all-reduce."
    )


def another_shape(case: Case, seen: Observation) -> str | None:
    """Terms side by side, or anything else of another shape."""
    want = want_of(case)
    for rank, value in enumerate(seen.values):
        if is_array(value["out"]) and value["out"].shape != want.shape:
            return (
                f"{case.name}, rank {rank} returned {describe(value['out'])}; x and the result are "
                f"{want.shape}. The terms are added up, not put side by side."
            )
    return None


def stays_away(case: Case, seen: Observation) -> str | None:
    """A rank without hidden units that does not come."""
    if not seen.waiting or len(seen.waiting) == case.ranks:
        return None
    away = sorted(set(range(case.ranks)) - set(seen.waiting))
    return (
        f"{case.name}, {'rank' if len(away) == 1 else 'ranks'} {listing(away)} did not come to the "
        "sum, and the others wait. A rank without hidden units has a term of zeros, and every rank "
        "takes part."
    )
