"""Exercise 14.1, an MLP whose first matrix is cut by columns and whose second by rows.

`parallel_mlp(comm, x, up, up_bias, down, down_bias) -> Tensor`: the whole matrices in torch's
layout, (outputs, inputs); rank r works with hidden units ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋. The claim: equal
to the dense MLP on every rank to 1e-10 (float32: 1e-5), in x's type; a rank's matrix products are
at most its share; over all ranks no more bytes and messages than one all-reduce of the result, all
waited for; what was handed in stays as it is. 23 wrong answers make this file long.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch.nn import functional

from helpers.checks.compare import close, count, describe, is_array, listing, rounded, worlds
from helpers.checks.drives.calling import Function
from helpers.checks.drives.memory import Watching
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN, Requests, not_waited
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.lessons.sharding.algorithms.tensor_parallel import sum_over_ranks
from helpers.lessons.sharding.exercises.shared import (
    fails,
    first_changed,
    stay_away,
    told_by_all,
    wrote_into,
)

_PLACE = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1}


def cases(seed: int) -> list[Case]:
    """Seed 0: 13 hidden units on 3 ranks first; then 1, 2, 5, and 5 ranks with 3 units.

    On 4 ranks all is float32, with one row. In the last a rank has infinity in the place of other
    ranks' units, so that who multiplies by these gives no number, in whatever way.
    """
    random, made = rng(seed, "14.1"), []
    shapes = [(3, 4, 13, 3), (1, 2, 6, 2), (2, 3, 9, 4), (5, 3, 17, 3), (5, 2, 3, 1), (4, 1, 9, 3)]
    shapes += [(2, 3, 5, 2)]
    if seed:
        shapes = [
            (n, int(random.integers(1, 5)), int(random.integers(3 * n, 6 * n)) * n + n // 2 + 1, 4)
            for n in (3, 1, 2, 5)
        ] + [(4, 2, int(random.integers(1, 4)), 1), (3, 2, int(random.integers(4, 9)), 3)]
    for n, rows, hidden, width in shapes:
        sizes = [(rows, width), (hidden, width), (hidden,), (width, hidden), (width,)]
        kind = np.float32 if n == 4 else np.float64
        dense = tuple(random.standard_normal(size).astype(kind) for size in sizes)
        name = f"On {count(n, 'rank')} with {count(hidden, 'hidden unit')}"
        units = [(r * hidden // n, (r + 1) * hidden // n) for r in range(n)]
        shares = [2 * rows * width * (stop - start) for start, stop in units]  # multiplications
        x, up, up_bias, down, down_bias = tensors(dense)
        inner = functional.gelu(functional.linear(x, up, up_bias))
        want = plain(functional.linear(inner, down, down_bias))
        own = (n, rows, hidden, width) == shapes[-1]
        facts = {"want": want, "units": units, "shares": shares, "own": own}
        args = (dense,) * n
        name += ", in float32" * (n == 4)
        if own:
            args = tuple(_own(dense, *its) for its in units)
            name += ", of which each rank has its own and infinity for the others'"
        made.append(Case(name, args, n, facts=facts))
    return made


def _own(dense: tuple[np.ndarray, ...], start: int, stop: int) -> tuple[np.ndarray, ...]:
    """The arguments of a rank, with infinity for the units that are not its own."""
    x, *weights, down_bias = (each.copy() for each in dense)
    up, up_bias, down = weights
    for one in (up, up_bias, down.T):
        one[:start], one[stop:] = np.inf, np.inf
    return x, up, up_bias, down, down_bias


def _right(case: Case, seen: Observation) -> list[bool]:
    """Which ranks have the dense MLP's result."""
    want = case.facts["want"]
    return [close(v["out"], want, 1e-10 if want.itemsize == 8 else 1e-5) for v in seen.values]


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Right on every rank, with each rank's share of the work and one all-reduce."""
    right, shape = _right(case, seen), case.args[0][0].shape
    if not all(right):
        rank = right.index(False)
        gave = seen.values[rank]["out"]
        if not is_array(gave, shape):
            yield (
                f"rank {rank} returned {describe(gave)}; the dense MLP gives a tensor of shape "
                f"{shape}."
            )
        if not np.isfinite(gave).all():
            yield f"rank {rank}'s result is not finite: units that are not its own took part in it."
        why = rounded([gave], [case.facts["want"]])
        why = why or ": GELU(x upᵣᵀ + up_biasᵣ) downᵣᵀ, summed, + down_bias"
        yield (
            f"rank {rank} returned the right shape, {shape}, but its values are not the dense "
            f"MLP's{why}."
        )
    if case.ranks > 1 and not seen.events:  # which the grader keeps itself
        yield "nothing went from rank to rank, so no rank can have the sum."
    for rank, value in enumerate(seen.values):
        kind, want = value["out"].dtype, case.facts["want"].dtype
        if kind != want:
            yield f"rank {rank}'s result is {kind}; x is {want}, and the result has x's type."
    for look in (another_share, sends_more, wrote):
        yield from look(case, seen)
    yield not_waited(case, seen)


def another_share(case: Case, seen: Observation) -> Iterator[str]:
    """A rank that works with more than its own hidden units."""
    for rank, (value, share) in enumerate(zip(seen.values, case.facts["shares"], strict=True)):
        if (value["products"] or 0) > share and all(_right(case, seen)):
            start, stop = case.facts["units"][rank]
            yield (
                f"rank {rank} makes {value['products']} multiplications in matrix products. Its "
                f"hidden units from {start} up to {stop}, as `chunk_bounds` cuts them, make "
                f"{share}."
            )


def sends_more(case: Case, seen: Observation) -> Iterator[str]:
    """More than one all-reduce of the result, over all ranks, with room for padding."""
    n, x = case.ranks, case.args[0][0]
    most = 2 * (n - 1) * n
    limits = {"B": most * -(-x.size // n) * x.itemsize, "messages": most}
    sums = sum(seen.bytes), sum(seen.messages)
    for (unit, enough), sent in zip(limits.items(), sums, strict=True):
        if sent > enough and all(_right(case, seen)):
            yield (
                f"{sent} {unit} were sent in all, and one all-reduce of the result takes {enough} "
                f"{unit} at most: a rank's term is all that has to travel, in one all-reduce."
            )


wrote = wrote_into(
    "rank {rank} wrote into {name}, which belongs to the caller and is used again in the next "
    "step: work on tensors of your own.",
    *("x", "`up`", "`up_bias`", "`down`", "`down_bias`"),
)
_NO_FIT = ("cannot be multiplied", "must match", "size mismatch")
wrong_side = fails(
    "the shapes do not fit ({said}): torch keeps a weight as (outputs, inputs), so this rank's "
    "hidden units are rows of `up` and of `up_bias`, `up[start:stop]`, and columns of `down`, "
    "`down[:, start:stop]`.",
    *_NO_FIT,
)
one_dimension = fails(
    "the shapes do not fit ({said}) on rank {rank}, which has one hidden unit or none: what it "
    "makes of x has two dimensions all the same, (rows, units here).",
    *_NO_FIT,
)


def no_fit(case: Case, seen: Observation) -> str | None:
    """Shapes that do not fit: where there are two units and more, for the layout."""
    start, stop = case.facts["units"][seen.rank or 0]
    return (wrong_side if stop - start > 1 else one_dimension)(case, seen)


no_part = stay_away(
    "{away} did not come to the sum, and the others wait. A rank without hidden units has a term "
    "of zeros, and every rank takes part."
)


def gathered(case: Case, seen: Observation) -> Iterator[str]:
    """More of `up` or `down` than its own part, with messages."""
    most, share = _most(seen), max(case.facts["shares"])
    if all(_right(case, seen)) and sum(seen.bytes) > 0 and most > share:
        yield (
            f"the result is right, but a rank makes {most} multiplications where its share is "
            f"{share}: it multiplied by more of `up` or `down` than its hidden units' part. "
            "Multiply by this rank's rows of `up` and columns of `down` alone, and sum what comes "
            "out."
        )


def _most(seen: Observation) -> int:
    """Multiplications of the rank that makes most, as far as they are seen."""
    return max(v["products"] or 0 for v in seen.values)


def compared(case: Case, seen: Observation) -> Any:
    """The results; where one rank has the right one, which; where all have it, their work.

    Nothing where other ranks' units are infinity: many ways lead to no number.
    """
    if case.facts["own"]:
        return None
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
    passed = (
        f"Passed on {worlds(cases)}: the dense MLP's result on every rank, with no more bytes and "
        "messages than one all-reduce"
    )
    if _most(seen[0]) < max(cases[0].facts["shares"]):  # by other ways than matrix products
        return f"{passed}."
    return (
        f"{passed}; on {cases[0].ranks} ranks a rank makes {_most(seen[0])} of the "
        f"{2 * x.size * len(up)} multiplications at most."
    )


class _Products(Watching):
    """Counts the multiplications in matrix products: so many for each number that comes out."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        place = _PLACE.get(func.name().removeprefix("aten::").partition(".")[0])
        if place is not None:
            self.count += result.numel() * args[place].shape[-1]
        return result


@Ranked
def counting(fn: Function, comm: Any, *args: Any) -> Any:
    """What `fn(comm, *args)` did.

    `values[rank]`: out, what it returned; products, its multiplications; changed, the place of the
    first argument that it wrote into, None where it left all alone; open, how many messages nobody
    waited for.
    """
    before, requests = [arg.clone() for arg in args], Requests(comm)
    with _Products() as products:
        out = fn(comm, *args)
    still = requests.end()
    changed = first_changed(args, before)
    return {"out": out, "products": products.count, "changed": changed, OPEN: still}


def reference(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """The course's own."""
    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    hidden = functional.gelu(functional.linear(x, up[start:stop], up_bias[start:stop]))
    return sum_over_ranks(comm, functional.linear(hidden, down[:, start:stop])) + down_bias


WRONG = """
terms side by side
    | return sum_over_ranks(comm, => terms = x.new_zeros(len(x), comm.size, len(down));
        terms[:, comm.rank] = (
    | + down_bias => + down_bias; return sum_over_ranks(comm, terms).flatten(1)
    rank 0 returned {returned}; x and the result are {shape}. The terms are added up, not put side
    by side.
ReLU for GELU
    | functional.gelu( => functional.relu(
    there is ReLU between the two products; it is GELU, `torch.nn.functional.gelu(…)` without
    options.
GELU by tanh
    | up_bias[start:stop])) => up_bias[start:stop]), approximate="tanh")
    there is GELU's approximation by tanh between the two products; it is GELU,
    `torch.nn.functional.gelu(…)` without options.
no activation
    | functional.gelu( => (
    there is nothing between the two products; it is GELU, `torch.nn.functional.gelu(…)` without
    options.
the remainder on the last rank
    | chunk_bounds(len(up), => chunk_bounds(len(up) // comm.size * comm.size,
    | hidden = => stop = len(up) if comm.rank == comm.size - 1 else stop; hidden =
    the last rank took the whole remainder, {last}: the others wait for it. Rank r has ⌊r·H/N⌋ to
    ⌊(r+1)·H/N⌋, which differ by one at most.
every rank computes everything
    | chunk_bounds(len(up), comm.size)[comm.rank] => 0, len(up)
    | sum_over_ranks(comm, => (
    a rank makes {most} multiplications, and its share is {share}: every rank computed everything.
    Take this rank's hidden units only, and sum the terms.
cuts `up` by its inputs
    | chunk_bounds(len(up), => chunk_bounds(len(x.T),
    | sum_over_ranks(comm, functional.linear(hidden, down[:, start:stop]))
        => functional.linear(hidden, down)
    | functional.linear(x, up[start:stop], up_bias[start:stop])
        => up_bias + sum_over_ranks(comm, x[:, start:stop] @ up[:, start:stop].T)
    the result is right, but `up` was cut by its inputs: no rank has a whole hidden unit before a
    sum, and after it every rank multiplied by all of `down`, {most} multiplications where its share
    is {share}. Cut `up` by hidden units, which are its rows: then GELU needs nobody else's numbers.
never sums
    | return sum_over_ranks(comm, => term = (
    | + down_bias => ; sum_over_ranks(comm, term); return term + down_bias
    every rank returned its own term: the result is the sum of all {n}, on every rank.
never sums, and no second bias
    | return sum_over_ranks(comm, => term = (
    | + down_bias => ; sum_over_ranks(comm, term); return term
    ! never sums
the bias N times
    | down[:, start:stop])) + down_bias => down[:, start:stop], down_bias))
    `down_bias` is in the result {n} times, once from every rank: add it after the sum.
the bias with unit 0
    | down[:, start:stop])) + down_bias => down[:, start:stop], down_bias * (start == 0)))
    `down_bias` is in the result more than once: with fewer hidden units than ranks, the units of
    ranks {firsts} all start at 0. Add it after the sum, or in rank 0's term alone.
no bias
    | , up_bias[start:stop] =>
    `up_bias` is missing: add `up_bias[start:stop]`.
no second bias
    | + down_bias =>
    `down_bias` is missing: add it once, after the sum.
averages
    | + down_bias => / comm.size + down_bias
    the terms were averaged: the product is their sum, so do not divide by {n}.
averages, with the bias
    | return sum_over_ranks(comm, => return 1 / comm.size * (sum_over_ranks(comm,
    | + down_bias => + down_bias)
    ! averages
rest
    | chunk_bounds(len(up), => chunk_bounds(len(up) // comm.size * comm.size,
    hidden {lost} took no part: ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋.
GELU of a part of a sum
    | chunk_bounds(len(up), => chunk_bounds(len(x.T),
    | x, up[start:stop], up_bias[start:stop] => x[:, start:stop], up[:, start:stop], up_bias
    | down[:, start:stop] => down
    {case}, GELU was applied to a part of a sum: `up` was cut along its inputs, so no rank had a
    whole hidden unit, and GELU(a + b) is not GELU(a) + GELU(b). Cut `up` along its outputs.
one rank alone has the result
    | return sum_over_ranks(comm, => term = (
    | + down_bias => ; total = sum_over_ranks(comm, term);
        return (term if comm.rank else total) + down_bias
    rank 0 has the result and the others have not: the next layer needs it on every rank, so
    all-reduce.
the remainder on the first ranks
    | start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
        => each, more = divmod(len(up), comm.size); start = comm.rank * each + min(comm.rank, more);
        stop = start + each + (comm.rank < more)
    ! another_share
sends more than one all-reduce
    | return sum_over => units = x.new_zeros(len(x), len(up)); units[:, start:stop] = hidden;
        hidden = sum_over_ranks(comm, units)[:, start:stop]; return sum_over
    ! sends_more
wrong side
    | up[start:stop], up_bias[start:stop] => up[:, start:stop], up_bias
    | down[:, start:stop] => down[start:stop]
    ? (outputs, inputs)
gathers
    | return sum_over_ranks(comm, functional.linear(hidden, down[:, start:stop]))
        => units = x.new_zeros(len(x), len(up)); units[:, start:stop] = hidden;
        return functional.linear(sum_over_ranks(comm, units), down)
    ? more of `up` or `down`
stays away
    | return sum_over => return down_bias.expand(len(x), -1) if start == stop else sum_over
    ? did not come to the sum
clears the bias
    | hidden = => down_bias.mul_(comm.rank == 0); hidden =
    | down[:, start:stop])) + down_bias => down[:, start:stop], down_bias))
    ? wrote into `down_bias`
no wait
    | return sum_over_ranks( => return sum(told_by_all(
    | + down_bias => ) + down_bias
    ? without waiting for
"""


EXERCISE = Exercise(
    number="14.1",
    title="A column and a row",
    size=Size(stars=2, minutes=15, points=3),
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
        Mistake("a rank stays away from the sum", no_part, unfinished=True),
        Mistake("cuts along the wrong side", no_fit, unfinished=True),
        Mistake("changes what it is given", wrote),
        Mistake("multiplies by more than its part", gathered),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("14.1", WRONG, (reference, told_by_all), another_share, sends_more),
    figure=0,
)
