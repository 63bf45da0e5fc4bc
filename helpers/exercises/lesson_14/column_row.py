"""Exercise 14.1, an MLP whose first matrix is cut by columns and whose second by rows.

`parallel_mlp(comm, x, up, up_bias, down, down_bias) -> Tensor`: the whole matrices in torch's
layout, (outputs, inputs); rank r works with hidden units ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋. The claim: equal
to the dense MLP on every rank to 1e-10; a rank's matrix products are at most its share of the
dense ones; over all ranks no more bytes than one all-reduce of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe, is_array, listing, worlds
from helpers.exercises.drives_tensor_parallel import counting
from helpers.exercises.lesson_14 import column_row_wrong as wrong
from helpers.exercises.lesson_14.cut_mlp import Array, bias_of, bounds_of, gelu, terms_of, want_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10


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
        made.append(Case(name, (dense,) * n, n, facts={"hidden": hidden}))
    return made


def _everywhere(seen: Observation, want: Array) -> bool:
    """Whether every rank returned this."""
    return not seen.trouble and all(close(v["out"], want, _TOLERANCE) for v in seen.values)


def _share(case: Case) -> int:
    """Multiplications of the rank with most hidden units."""
    x = case.args[0][0]
    return 2 * int(x.size) * max(b - a for a, b in bounds_of(case))


def _limit(case: Case) -> int:
    """Bytes of one all-reduce of the result, over all ranks, with room for padding."""
    n, size = case.ranks, case.args[0][0].size
    return 2 * (n - 1) * n * -(-size // n) * 8


def claim(case: Case, seen: Observation) -> str | None:
    """Right on every rank, with each rank's share of the work and one all-reduce."""
    want = want_of(case)
    for rank, value in enumerate(seen.values):
        if not close(value["out"], want, _TOLERANCE):
            return (
                f"{case.name}, rank {rank} returned {describe(value['out'])}, which is not what "
                "the dense MLP gives."
            )
        if value["products"] > _share(case):
            return (
                f"{case.name}, rank {rank} makes {value['products']} multiplications in matrix "
                f"products, and a rank's share is {_share(case)}."
            )
    if sum(seen.bytes) > _limit(case):
        return (
            f"{case.name}, {sum(seen.bytes)} B were sent in all, and one all-reduce of the result "
            f"takes {_limit(case)} B: sum the terms once, with `all_reduce_ring`."
        )
    return None


def _too_much_work(case: Case, seen: Observation) -> str | None:
    if seen.trouble or not _everywhere(seen, want_of(case)):
        return None
    most = max(v["products"] for v in seen.values)
    if most <= _share(case) or sum(seen.bytes):
        return None
    return (
        f"{case.name}, a rank makes {most} multiplications, and its share is {_share(case)}: every "
        "rank computed everything. Take this rank's hidden units only, and sum the terms."
    )


def _gathered(case: Case, seen: Observation) -> str | None:
    if seen.trouble or not _everywhere(seen, want_of(case)) or not sum(seen.bytes):
        return None
    most = max(v["products"] for v in seen.values)
    if most <= _share(case):
        return None
    return (
        f"{case.name}, the result is right, but a rank makes {most} multiplications where its "
        f"share is {_share(case)}: after the hidden units were put together, every rank multiplied "
        "by all of `down`. Multiply them where they are, by this rank's columns of `down`, and "
        "sum what comes out."
    )


def _not_a_sum(case: Case, seen: Observation) -> str | None:
    terms = terms_of(case, bounds_of(case))
    if case.ranks == 1 or seen.trouble:
        return None
    for bias in (0, bias_of(case)):
        if all(
            close(v["out"], t + bias, _TOLERANCE) for v, t in zip(seen.values, terms, strict=True)
        ):
            return (
                f"{case.name}, every rank returned its own term: the result is the sum of all "
                f"{case.ranks}, on every rank."
            )
    return None


def _bias_many_times(case: Case, seen: Observation) -> str | None:
    n = case.ranks
    if n == 1 or not _everywhere(seen, want_of(case) + (n - 1) * bias_of(case)):
        return None
    return (
        f"{case.name}, `down_bias` is in the result {n} times, once from every rank: add it after "
        "the sum."
    )


def _bias_lost(case: Case, seen: Observation) -> str | None:
    if not _everywhere(seen, want_of(case) - bias_of(case)):
        return None
    return f"{case.name}, `down_bias` is missing: add it once, after the sum."


def _averaged(case: Case, seen: Observation) -> str | None:
    n, total = case.ranks, sum(terms_of(case, bounds_of(case)))
    if n == 1 or not any(
        _everywhere(seen, want) for want in (total / n + bias_of(case), (total + bias_of(case)) / n)
    ):
        return None
    return (
        f"{case.name}, the terms were averaged: the product is their sum, so do not divide by {n}."
    )


def _remainder(case: Case, seen: Observation) -> str | None:
    hidden, n = case.facts["hidden"], case.ranks
    each = hidden // n
    terms = terms_of(case, [(r * each, (r + 1) * each) for r in range(n)])
    if hidden % n == 0 or not _everywhere(seen, sum(terms) + bias_of(case)):
        return None
    lost = [f"{unit}" for unit in range(each * n, hidden)]
    return (
        f"{case.name}, hidden {'unit' if len(lost) == 1 else 'units'} {listing(lost)} took no "
        "part: `H // N` loses the remainder. Rank r has ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋."
    )


def _part_of_a_sum(case: Case, seen: Observation) -> str | None:
    x, up, up_bias, down, down_bias = case.args[0]
    n, width = case.ranks, x.shape[1]
    total = 0.0
    for r in range(n):
        part = slice(r * width // n, (r + 1) * width // n)
        total = total + gelu(x[:, part] @ up[:, part].T + up_bias) @ down.T
    if n == 1 or not _everywhere(seen, total + down_bias):
        return None
    return (
        f"{case.name}, GELU was applied to a part of a sum: `up` was cut along its inputs, so no "
        "rank had a whole hidden unit, and GELU(a + b) is not GELU(a) + GELU(b). Cut `up` along "
        "its outputs."
    )


def _wrong_axis(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or not any(
        words in seen.text for words in ("cannot be multiplied", "must match", "size mismatch")
    ):
        return None
    return (
        f"{case.name}, the shapes do not fit ({seen.text.splitlines()[0]}): torch keeps a weight "
        "as (outputs, inputs), so this rank's hidden units are rows of `up` and of `up_bias`, "
        "`up[start:stop]`, and columns of `down`, `down[:, start:stop]`."
    )


def _for_one_rank(case: Case, seen: Observation) -> str | None:
    want = want_of(case)
    right = [close(v["out"], want, _TOLERANCE) for v in seen.values]
    if sum(right) != 1 or case.ranks == 1:
        return None
    return (
        f"{case.name}, rank {right.index(True)} has the result and the others have not: the next "
        "layer needs it on every rank, so all-reduce."
    )


def _another_shape(case: Case, seen: Observation) -> str | None:
    want = want_of(case)
    for rank, value in enumerate(seen.values):
        if is_array(value["out"]) and value["out"].shape != want.shape:
            return (
                f"{case.name}, rank {rank} returned {describe(value['out'])}; x and the result are "
                f"{want.shape}. The terms are added up, not put side by side."
            )
    return None


def _stays_away(case: Case, seen: Observation) -> str | None:
    if not seen.waiting or len(seen.waiting) == case.ranks:
        return None
    away = sorted(set(range(case.ranks)) - set(seen.waiting))
    return (
        f"{case.name}, {'rank' if len(away) == 1 else 'ranks'} {listing(away)} did not come to the "
        "sum, and the others wait. A rank without hidden units has a term of zeros, and every rank "
        "takes part."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    products = max(v["products"] for v in seen[0].values)
    x, up, *_ = cases[0].args[0]
    return (
        f"Passed on {worlds(cases)}: the dense MLP's result on every rank, with one all-reduce; "
        f"on {cases[0].ranks} ranks a rank makes {products} of the {2 * x.size * len(up)} "
        "multiplications at most."
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
    mistakes=(
        Mistake("a rank stays away from the sum", _stays_away, unfinished=True),
        Mistake("cuts along the wrong side", _wrong_axis, unfinished=True),
        Mistake("another shape", _another_shape),
        Mistake("every rank computes everything", _too_much_work),
        Mistake("puts the hidden units together", _gathered),
        Mistake("never sums", _not_a_sum),
        Mistake("the bias N times", _bias_many_times),
        Mistake("no second bias", _bias_lost),
        Mistake("averages", _averaged),
        Mistake("loses the remainder", _remainder),
        Mistake("GELU of a part of a sum", _part_of_a_sum),
        Mistake("one rank alone has the result", _for_one_rank),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("bias on every rank", wrong.bias_on_every_rank, "once from every rank"),
        WrongAnswer("no bias", wrong.no_bias, "`down_bias` is missing"),
        WrongAnswer("own term", wrong.own_term, "returned its own term"),
        WrongAnswer("averages", wrong.averages, "were averaged"),
        WrongAnswer("cuts with H // N", wrong.loses_the_remainder, "loses the remainder"),
        WrongAnswer("everything", wrong.everything, "computed everything"),
        WrongAnswer("wrong side", wrong.wrong_side, "(outputs, inputs)"),
        WrongAnswer("rows first", wrong.rows_first, "a part of a sum"),
        WrongAnswer("gathers", wrong.gathers, "were put together"),
        WrongAnswer("for rank 0", wrong.for_rank_0, "the others have not"),
        WrongAnswer("stays away", wrong.stays_away, "did not come to the sum"),
    ),
    figure=0,
)
