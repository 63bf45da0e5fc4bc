"""Exercise 10.4, two thin factors: PowerSGD's sum of one matrix.

`low_rank_sum(comm, matrix, right) -> (approximation, right)`: P is the sum of all ranks' M·Q made
orthonormal, Q′ the sum of all Mᵀ·P; P·Q′ᵀ and Q′ are returned. The claim: these, on every rank and
in the same bits; two rings of n·r and m·r numbers are all that is sent; what is given stays as it
is. P is unique but for turning its columns, which leaves P·Q′ᵀ and Q′·Q′ᵀ as they are: these are
compared. Source: Vogels et al. (2019), algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.compression.power_sgd import low_rank_sum as reference
from helpers.exercises.common import fails_with, rng
from helpers.exercises.compare import close, count, describe, is_array, rounded, told_apart, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_split import changed, left_alone, returned
from helpers.exercises.lesson_10 import low_rank_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Array = np.ndarray
_EXACT = ", a sum of r directions"


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks first, then 1, 2 and 5, one column, and sums that two columns hold."""
    random, made = rng(seed, "10.4"), []
    shapes = [(3, 9, 12, 2, ""), (1, 4, 3, 1, ""), (2, 8, 5, 3, ""), (5, 7, 11, 2, _EXACT)]
    shapes += [(3, 5, 8, 1, ""), (3, 8, 6, 3, _EXACT)]
    if seed:
        shapes = []
        for n, rank, say in [(3, 2, ""), (1, 1, ""), (2, 3, _EXACT), (5, 2, ""), (4, 2, _EXACT)]:
            rows, columns = map(int, random.permutation([5, 7, 8, 9, 11])[:2])
            shapes.append((n, rows, columns, rank, say))
    for n, rows, columns, rank, say in shapes:
        condition = np.inf
        while condition > 50:
            matrices = random.standard_normal((n, rows, columns))
            if say:  # what is beyond `rank` directions cancels in the sum
                first, second = random.standard_normal((rows, rank)), matrices[0, :rank]
                matrices[-1] = first @ second - matrices[:-1].sum(0)
            right = random.standard_normal((columns, rank))
            condition = np.linalg.cond(matrices.sum(0) @ right)
        name = f"On {count(n, 'rank')}, M {rows} × {columns}, r = {rank}{say}"
        args = tuple((matrix, right) for matrix in matrices)
        made.append(Case(name, args, n, {"bandwidth": 1e6}))
    return made


def _want(case: Case) -> tuple[Array, Array]:
    """P·Q′ᵀ, and Q′·Q′ᵀ, which is the same however P's columns are turned."""
    total, right = sum(matrix for matrix, _ in case.args), case.args[0][1]
    left = np.linalg.qr(total @ right).Q
    new = total.T @ left
    return left @ new.T, new @ new.T


def pair_of(value: Any) -> list[Any]:
    """The two things that an answer returned; none where it is another number."""
    value = returned(returned(value))
    return list(value) if type(value) in (tuple, list) and len(value) == 2 else []


def fault(case: Case, seen: Observation) -> str:
    """What is wrong about a rank's numbers, as a sentence; "" where all are right."""
    (matrix, right), (want, square) = case.args[0], _want(case)
    for rank, value in enumerate(seen.values):
        pair = pair_of(value)
        if not (pair and is_array(pair[0], matrix.shape) and is_array(pair[1])):
            gave = describe(returned(returned(value)), 90)
            return f"rank {rank} returned {gave}, not tensors {matrix.shape} and {right.shape}."
        if why := rounded([pair[0]], [want]):
            little = "Or a small number was added to a divisor, as `+ 1e-8`: no length is 0 here."
            return f"rank {rank}'s approximation is not exact{why}. {little}"
        if not close(pair[0], want, 1e-9):
            at = np.unravel_index(np.abs(pair[0] - want).argmax(), want.shape)
            got, should = told_apart(float(pair[0][at]), float(want[at]))
            where = f"has {got} in row {at[0]} and column {at[1]}, and P·Q′ᵀ has {should}"
            return f"rank {rank}'s approximation {where}.".replace("-", "−")
        if not is_array(pair[1], right.shape):
            shape = f"has the shape {pair[1].shape}, and Q′ has {right.shape}"
            return f"the second thing that rank {rank} returned {shape}."
        if not close(pair[1] @ pair[1].T, square, 1e-9):
            return f"rank {rank}'s approximation is right, and its Q′ is not the sum of all Mᵀ·P."
    return ""


def claim(case: Case, seen: Observation) -> str | None:
    """P·Q′ᵀ and Q′ on every rank, by two sums of thin factors."""
    if why := fault(case, seen):
        return f"{case.name}, {why}"
    for rank, value in enumerate(seen.values):
        if not all(map(np.array_equal, pair_of(value), pair_of(seen.values[0]))):
            return (
                f"{case.name}, rank 0 and rank {rank} differ in their last bits, and so will the "
                "models: let every rank compute with the very same sums, in the same way."
            )
    told, limit = numbers(case, seen), _limit(case)
    if max(seen.bytes) > limit:
        return (
            f"{case.name}, the numbers are right, but a rank sent {told['sent']} B, and two rings "
            f"take {limit} B at most: sum M·Q and Mᵀ·P by `all_reduce_ring`, and nothing else."
        )
    if max(seen.messages) > told["least"]:
        return (
            f"{case.name}, the numbers are right, but a rank sent {told['messages']} messages, and "
            f"two rings take {told['least']}: sum M·Q at once, and Mᵀ·P at once."
        )
    return wrote(case, seen) or not_waited(case, seen)


def _limit(case: Case) -> int:
    """Bytes that a rank sends in two rings, with room for padding."""
    matrix, right = case.args[0]
    parts = [-(-side * right.shape[1] // case.ranks) for side in matrix.shape]
    return 2 * (case.ranks - 1) * sum(parts) * 8


def wrote(case: Case, seen: Observation) -> str | None:
    """An argument that is not what it was."""
    for rank, value in enumerate(seen.values):
        if (place := changed(value)) in (0, 1):
            return (
                f"{case.name}, rank {rank} wrote into `{('matrix', 'right')[place]}`, which "
                "belongs to the caller: it may need it still. `all_reduce_ring`, `copy_` and `+=` "
                "work in place, so give them tensors of your own."
            )
    return None


def compared(case: Case, seen: Observation) -> Any:
    """The approximation, and Q′·Q′ᵀ for whatever is in Q′'s place, times 1, 2, 3, …"""
    pairs = [pair_of(value) for value in seen.values]
    if not all(pair and all(is_array(one) and one.ndim == 2 for one in pair) for pair in pairs):
        return [returned(returned(value)) for value in seen.values]
    return [(a @ _probe(a.T), b @ (b.T @ _probe(b))) for a, b in pairs]


def _probe(given: Array) -> Array:
    return np.arange(1, len(given) + 1, dtype=given.dtype)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what is wrong, and what was sent."""
    return {
        "fault": fault(case, seen),
        "n": case.ranks,
        "rank": case.args[0][1].shape[1],
        "sent": max(seen.bytes, default=0),
        "limit": _limit(case),
        "messages": max(seen.messages, default=0),
        "least": 4 * (case.ranks - 1),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    n, (matrix, _) = cases[0].ranks, cases[0].args[0]
    whole = 2 * (n - 1) * -(-matrix.size // n) * 8
    return (
        f"Passed on {worlds(cases)}: on {n} ranks no rank sent more than {max(seen[0].bytes)} B, "
        f"and a ring sends {whole} B of the matrix itself; where the sum has no more directions "
        "than Q has columns, nothing was lost."
    )


_NO_FIT = (
    "shapes do not fit. M is (n, m) and Q (m, r): M·Q is (n, r), made orthonormal it is P, and "
    "Mᵀ·P is (m, r) as Q is: `matrix @ right`, then `matrix.T @ left`."
)

EXERCISE = Exercise(
    number="10.4",
    title="Two thin factors",
    stars=3,
    minutes=20,
    points=4,
    function="low_rank_sum",
    asks=(
        "(P·Q′ᵀ, Q′) on every rank: P is the sum of all M·Q, made orthonormal after the sum, and "
        "Q′ the sum of all Mᵀ·P; two rings of factors are all that is sent, and `matrix` and "
        "`right` stay as they are."
    ),
    cases=cases,
    drive=left_alone,
    claim=claim,
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    mistakes=(
        Mistake("shapes that do not fit", fails_with("cannot be multiplied", _NO_FIT), True),
        Mistake("writes into what it is given", wrote),
    ),
    wrong=(
        WrongAnswer("P not orthonormal", wrong.not_orthonormal, wrong.NOT_ORTHONORMAL),
        WrongAnswer("P's columns only normalised", wrong.only_normal, wrong.ONLY_NORMAL),
        WrongAnswer("orthonormal before the sum", wrong.before, wrong.BEFORE),
        WrongAnswer("before the sum, in `qr`'s memory", wrong.before_as_it_came, wrong.AS_IT_CAME),
        WrongAnswer("before the sum, and after", wrong.before_and_after, wrong.BEFORE),
        WrongAnswer("P not summed", wrong.own_left, wrong.OWN_LEFT),
        WrongAnswer("Q′ not summed", wrong.own_new, wrong.OWN_NEW),
        WrongAnswer("Q′ by each rank's own P", wrong.of_own_left, wrong.OF_OWN_LEFT),
        WrongAnswer("Q′ by P before `qr`", wrong.of_raw, wrong.OF_RAW),
        WrongAnswer("a mean", wrong.mean, wrong.MEAN),
        WrongAnswer("Q′ orthonormal", wrong.scale_lost, wrong.SCALE_LOST),
        WrongAnswer("the old Q in the product", wrong.of_old, wrong.OF_OLD),
        WrongAnswer("P before `qr` in the product", wrong.by_raw, wrong.BY_RAW),
        WrongAnswer("the old Q returned", wrong.old_back, wrong.OLD_BACK),
        WrongAnswer("P returned", wrong.left_back, wrong.LEFT_BACK),
        WrongAnswer("an orthonormal Q′ returned", wrong.normal_back, wrong.NORMAL_BACK),
        WrongAnswer("summed once more", wrong.once_more, wrong.ONCE_MORE),
        WrongAnswer("the sum itself", wrong.exact, wrong.EXACT),
        WrongAnswer("the whole matrix", wrong.whole, wrong.WHOLE),
        WrongAnswer("approximations summed", wrong.approximations, wrong.APPROXIMATIONS),
        WrongAnswer("rank 0's factors", wrong.rank_0, wrong.RANK_0),
        WrongAnswer("a ring for each column", wrong.by_columns, wrong.BY_COLUMNS),
        WrongAnswer("factors sent to all", wrong.gathers, wrong.GATHERS),
        WrongAnswer("one rank alone", wrong.alone, wrong.ALONE),
        WrongAnswer("float32", wrong.in_float32, claim),
        WrongAnswer("M·P", wrong.mixed_up, hint="shapes do not fit"),
        WrongAnswer("into Q", wrong.into_right, hint="wrote into `right`"),
        WrongAnswer("into M", wrong.into_matrix, hint="wrote into `matrix`"),
    ),
    figure=0,
)
