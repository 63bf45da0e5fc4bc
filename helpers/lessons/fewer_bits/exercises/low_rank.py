"""Exercise 10.4, two thin factors: PowerSGD's sum of one matrix.

`low_rank_sum(comm, matrix, right) -> (approximation, right)`: P is the sum of all ranks' M·Q made
orthonormal, Q′ the sum of all Mᵀ·P; P·Q′ᵀ and Q′ are returned. The claim: these, on every rank and
in the same bits; two rings of n·r and m·r numbers are all that is sent; what is given stays as it
is. P is unique but for turning its columns, which leaves P·Q′ᵀ and Q′·Q′ᵀ as they are: these are
compared. Source: Vogels et al. (2019), algorithm 1.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.checks.common import fails_with
from helpers.checks.compare import close, count, describe, is_array, rounded, told_apart, worlds
from helpers.checks.drives.arguments import left_alone
from helpers.checks.drives.requests import changed, not_waited, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.fewer_bits.algorithms.power_sgd import low_rank_sum as reference
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, broadcast_naive

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


def pair_of(value: Any) -> list[Any]:
    """The two things that an answer returned; none where it is another number."""
    value = returned(returned(value))
    return list(value) if type(value) in (tuple, list) and len(value) == 2 else []


def fault(case: Case, seen: Observation) -> str:
    """What is wrong about a rank's numbers, as a sentence; "" where all are right."""
    (matrix, right), total = case.args[0], sum(matrix for matrix, _ in case.args)
    left = np.linalg.qr(total @ right).Q
    new = total.T @ left
    want, square = left @ new.T, new @ new.T
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


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """P·Q′ᵀ and Q′ on every rank, by two sums of thin factors."""
    yield fault(case, seen)
    for rank, value in enumerate(seen.values):
        if not all(map(np.array_equal, pair_of(value), pair_of(seen.values[0]))):
            yield (
                f"rank 0 and rank {rank} differ in their last bits, and so will the models: let "
                "every rank compute with the very same sums, in the same way."
            )
    told = numbers(case, seen)
    if told["sent"] > told["limit"]:
        yield (
            f"the numbers are right, but a rank sent {told['sent']} B, and two rings take "
            f"{told['limit']} B at most: sum M·Q and Mᵀ·P by `all_reduce_ring`, and nothing else."
        )
    if told["messages"] > told["least"]:
        yield (
            f"the numbers are right, but a rank sent {told['messages']} messages, and two rings "
            f"take {told['least']}: sum M·Q at once, and Mᵀ·P at once."
        )
    yield from wrote(case, seen)
    yield not_waited(case, seen)


def wrote(case: Case, seen: Observation) -> Iterator[str]:
    """An argument that is not what it was."""
    for rank, value in enumerate(seen.values):
        if (place := changed(value)) in (0, 1):
            yield (
                f"rank {rank} wrote into `{('matrix', 'right')[place]}`, which belongs to the "
                "caller: it may need it still. `all_reduce_ring`, `copy_` and `+=` work in place, "
                "so give them tensors of your own."
            )


def compared(case: Case, seen: Observation) -> Any:
    """The approximation, and Q′·Q′ᵀ for whatever is in Q′'s place, times 1, 2, 3, …"""

    def probe(given: np.ndarray) -> np.ndarray:
        return np.arange(1, len(given) + 1, dtype=given.dtype)

    return [(a @ probe(a.T), b @ (b.T @ probe(b))) for a, b in map(pair_of, seen.values)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what is wrong, what was sent, and what two rings send, with padding."""
    matrix, right = case.args[0]
    parts = [-(-side * right.shape[1] // case.ranks) for side in matrix.shape]
    sent = {"sent": max(seen.bytes, default=0), "messages": max(seen.messages, default=0)}
    least = {"limit": 2 * (case.ranks - 1) * sum(parts) * 8, "least": 4 * (case.ranks - 1)}
    named = {"fault": fault(case, seen), "n": case.ranks, "rank": right.shape[1]}
    return named | sent | least


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


_NO_ROW = (
    "what the ring was handed does not lie in one row of memory: a transposed view does not, nor "
    "does what `qr` gives. A fresh product does, and so does `.contiguous()` of a view. What is to "
    "be summed is M·Q, before `qr`, and Mᵀ·P."
)


def low_rank_sum(comm: Any, matrix: Any, right: Any) -> Any:
    total = all_reduce_ring(comm, matrix @ right)
    left = torch.linalg.qr(total).Q
    new = all_reduce_ring(comm, matrix.T @ left)
    return left @ new.T, new


def by_columns(comm: Any, tensor: Any) -> Any:
    return torch.stack([all_reduce_ring(comm, column.clone()) for column in tensor.T], 1)


def gathered(comm: Any, tensor: Any) -> Any:
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    requests = [comm.isend(tensor, other) for other in others]
    told = [comm.recv(rank) if rank in others else tensor for rank in range(comm.size)]
    for request in requests:
        request.wait()
    return sum(told[1:], told[0])


WRONG = """
P not orthonormal
    | torch.linalg.qr(total).Q => total
    {fault} P was not made orthonormal: P·Pᵀ·M finds what of M lies along P's columns only where
    these have length 1 and are at right angles. `torch.linalg.qr(P).Q` makes them so.
P's columns only normalised
    | torch.linalg.qr(total).Q => total / total.norm(dim=0)
    {fault} P's columns have length 1, but they are not at right angles, so what two of them share
    counts twice: `torch.linalg.qr(P).Q` does both.
orthonormal before the sum
    | matrix @ right => torch.linalg.qr(matrix @ right).Q.contiguous()
    | torch.linalg.qr(total).Q => total
    {fault} Each rank made its own M·Q orthonormal before the sum. Then every rank's M counts alike,
    however large it is, and that is not the sum of all M times Q: sum first.
before the sum, in `qr`'s memory
    | matrix @ right => torch.linalg.qr(matrix @ right).Q
    | torch.linalg.qr(total).Q => total
    ? does not lie in one row of memory
before the sum, and after
    | matrix @ right => torch.linalg.qr(matrix @ right).Q.contiguous()
    {fault} Each rank made its own M·Q orthonormal before the sum. Then every rank's M counts
    alike, however large it is, and that is not the sum of all M times Q: sum first.
P not summed
    | all_reduce_ring(comm, matrix @ right) => matrix @ right
    {fault} P is each rank's own: sum M·Q over the ranks first, so that all have one P. Otherwise
    the Mᵀ·P that are summed belong to different columns.
Q′ not summed
    | all_reduce_ring(comm, matrix.T @ left) => matrix.T @ left
    {fault} Q′ is each rank's own Mᵀ·P: sum it over the ranks as well.
Q′ by each rank's own P
    | matrix.T @ left => matrix.T @ torch.linalg.qr(matrix @ right).Q
    {fault} Q′ was made with each rank's own M·Q: multiply Mᵀ by the P that all share.
Q′ by P before `qr`
    | matrix.T @ left => matrix.T @ total
    {fault} Q′ was made with P as it was before `qr`: make P orthonormal first.
a mean
    | matrix.T @ left) => matrix.T @ left) / comm.size
    {fault} Q′ was divided by {n}: the sum was asked for, whoever wants a mean divides it later.
Q′ orthonormal
    | return left => new = torch.linalg.qr(new).Q; return left
    {fault} Q′ was made orthonormal, and how large the sum is along each column is lost: only P is
    made so.
the old Q in the product
    | left @ new.T => left @ right.T
    {fault} You multiplied P by the Q that came in: the approximation is P·Q′ᵀ.
P before `qr` in the product
    | left @ new.T => total @ new.T
    {fault} You multiplied P as it was before `qr` by Q′ᵀ: take the orthonormal one.
the old Q returned
    | new.T, new => new.T, right.clone()
    {fault} You returned the Q that came in: the next step goes on from Q′.
P returned
    | new.T, new => new.T, left
    {fault} You returned P: the next step multiplies M by Q′.
an orthonormal Q′ returned
    | new.T, new => new.T, torch.linalg.qr(new).Q
    {fault} Q′ was made orthonormal before you returned it: it is the sum of all Mᵀ·P, as it is.
summed once more
    | left @ new.T => all_reduce_ring(comm, left @ new.T)
    {fault} The product was summed once more, and is {n} times too large: Q′ is a sum already, and
    P·Q′ᵀ is the same on all ranks.
the sum itself
    | total = all_reduce_ring(comm, matrix @ right)
        => matrix = all_reduce_ring(comm, matrix.clone()); total = matrix @ right
    | all_reduce_ring(comm, matrix.T @ left) => matrix.T @ left
    | left @ new.T => matrix
    {fault} You returned the sum itself, for which all of M has to travel: return P·Q′ᵀ.
the whole matrix
    | total = all_reduce_ring(comm, matrix @ right)
        => matrix = all_reduce_ring(comm, matrix.clone()); total = matrix @ right
    | all_reduce_ring(comm, matrix.T @ left) => matrix.T @ left
    the whole matrix was summed: a rank sent {sent} B, and two rings of the factors take {limit} B
    at most. Sum M·Q, then Mᵀ·P, and no M.
approximations summed
    | all_reduce_ring(comm, matrix @ right) => matrix @ right
    | all_reduce_ring(comm, matrix.T @ left) => matrix.T @ left
    | left @ new.T, new => all_reduce_ring(comm, left @ new.T), all_reduce_ring(comm, new.clone())
    {fault} Each rank approximated its own M, and whole matrices were summed. Sum the factors, M·Q
    and then Mᵀ·P: their sums are those of the sum.
rank 0's factors
    | all_reduce_ring *=> broadcast_naive
    {fault} These are rank 0's own factors: sum those of all ranks, do not copy one rank's.
a ring for each column
    | all_reduce_ring *=> by_columns
    a rank sent {messages} messages where two sums take {least}: sum M·Q once, with all {rank}
    columns in one call, and then Mᵀ·P once.
factors sent to all
    | all_reduce_ring *=> gathered
    a rank sent {sent} B, and two rings take {limit} B at most: every rank sent its factors to each
    of the others. `all_reduce_ring` sums them with less.
one rank alone
    | return left @ new.T, new
        => return (left @ new.T, new) if comm.size > 1 else (matrix.clone(), right.clone())
    {fault} One rank alone does as several do, P·Q′ᵀ of its own matrix, and has a Q′ too.
float32
    | matrix @ right) => (matrix @ right).float()).double()
    {fault}
M·P
    | matrix.T @ left => matrix @ left
    ? shapes do not fit
into Q
    | new.T, new => new.T, right.copy_(new)
    ? wrote into `right`
into M
    | left @ new.T => matrix.copy_(left @ new.T)
    ? wrote into `matrix`
"""

EXERCISE = Exercise(
    number="10.4",
    title="Two thin factors",
    size=Size(stars=3, minutes=20, points=4),
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
        Mistake("not in one row of memory", fails_with("in one row of memory", _NO_ROW), True),
        Mistake("writes into what it is given", wrote),
    ),
    wrong=wrong_answers("10.4", WRONG, (low_rank_sum, broadcast_naive)),
    figure=0,
)
