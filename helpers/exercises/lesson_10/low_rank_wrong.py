"""Wrong answers to exercise 10.4: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _summed(comm: Any, tensor: Any) -> Any:
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, tensor)


def _orthonormal(tensor: Any) -> Any:
    import torch

    return torch.linalg.qr(tensor).Q.contiguous()


def _as_it_came(tensor: Any) -> Any:
    import torch

    return torch.linalg.qr(tensor).Q


def _low_rank(
    first: Callable[[Any, Any, Any], Any] = lambda comm, m, q: _summed(comm, m @ q),
    ortho: Callable[[Any], Any] = _orthonormal,
    second: Callable[..., Any] = lambda comm, m, q, raw, p: _summed(comm, m.T @ p),
    give: Callable[..., Any] = lambda comm, m, q, raw, p, new: (p @ new.T, new),
) -> Callable[..., Any]:
    """The sum of all M·Q, what it is made, the new Q, and what is returned of all these."""

    def low_rank_sum(comm: Any, matrix: Any, right: Any) -> Any:
        raw = first(comm, matrix, right)
        left = ortho(raw)
        new = second(comm, matrix, right, raw, left)
        return give(comm, matrix, right, raw, left, new)

    return low_rank_sum


_right = _low_rank()

# --- P --------------------------------------------------------------------------------------------

not_orthonormal = _low_rank(ortho=lambda raw: raw)
NOT_ORTHONORMAL = (
    "{fault} P was not made orthonormal: P·Pᵀ·M finds what of M lies along P's columns only where "
    "these have length 1 and are at right angles. `torch.linalg.qr(P).Q` makes them so."
)
only_normal = _low_rank(ortho=lambda raw: raw / raw.norm(dim=0))
ONLY_NORMAL = (
    "{fault} P's columns have length 1, but they are not at right angles, so what two of them "
    "share counts twice: `torch.linalg.qr(P).Q` does both."
)
before = _low_rank(first=lambda comm, m, q: _summed(comm, _orthonormal(m @ q)), ortho=lambda p: p)
before_as_it_came = _low_rank(
    first=lambda comm, m, q: _summed(comm, _as_it_came(m @ q)), ortho=lambda p: p
)
AS_IT_CAME = (
    "the ring was handed what `qr` gives, whose numbers lie column by column, and it sums rows. "
    "But nothing orthonormal has to be summed: sum M·Q over the ranks, and then make the sum "
    "orthonormal."
)
before_and_after = _low_rank(first=lambda comm, m, q: _summed(comm, _orthonormal(m @ q)))
BEFORE = (
    "{fault} Each rank made its own M·Q orthonormal before the sum. Then every rank's M counts "
    "alike, however large it is, and that is not the sum of all M times Q: sum first."
)
own_left = _low_rank(first=lambda comm, m, q: m @ q)
OWN_LEFT = (
    "{fault} P is each rank's own: sum M·Q over the ranks first, so that all have one P. Otherwise "
    "the Mᵀ·P that are summed belong to different columns."
)

# --- Q′ -------------------------------------------------------------------------------------------

own_new = _low_rank(second=lambda comm, m, q, raw, p: m.T @ p)
OWN_NEW = "{fault} Q′ is each rank's own Mᵀ·P: sum it over the ranks as well."
of_own_left = _low_rank(second=lambda comm, m, q, raw, p: _summed(comm, m.T @ _orthonormal(m @ q)))
OF_OWN_LEFT = "{fault} Q′ was made with each rank's own M·Q: multiply Mᵀ by the P that all share."
of_raw = _low_rank(second=lambda comm, m, q, raw, p: _summed(comm, m.T @ raw))
OF_RAW = "{fault} Q′ was made with P as it was before `qr`: make P orthonormal first."
mean = _low_rank(second=lambda comm, m, q, raw, p: _summed(comm, m.T @ p) / comm.size)
MEAN = (
    "{fault} Q′ was divided by {n}: the sum was asked for, whoever wants a mean divides it later."
)
scale_lost = _low_rank(second=lambda comm, *rest: _orthonormal(_summed(comm, rest[0].T @ rest[-1])))
SCALE_LOST = (
    "{fault} Q′ was made orthonormal, and how large the sum is along each column is lost: only P "
    "is made so."
)

# --- what is returned -----------------------------------------------------------------------------

of_old = _low_rank(give=lambda comm, m, q, raw, p, new: (p @ q.T, new))
OF_OLD = "{fault} You multiplied P by the Q that came in: the approximation is P·Q′ᵀ."
by_raw = _low_rank(give=lambda comm, m, q, raw, p, new: (raw @ new.T, new))
BY_RAW = "{fault} You multiplied P as it was before `qr` by Q′ᵀ: take the orthonormal one."
old_back = _low_rank(give=lambda comm, m, q, raw, p, new: (p @ new.T, q.clone()))
OLD_BACK = "{fault} You returned the Q that came in: the next step goes on from Q′."
left_back = _low_rank(give=lambda comm, m, q, raw, p, new: (p @ new.T, p))
LEFT_BACK = "{fault} You returned P: the next step multiplies M by Q′."
normal_back = _low_rank(give=lambda comm, m, q, raw, p, new: (p @ new.T, _orthonormal(new)))
NORMAL_BACK = (
    "{fault} Q′ was made orthonormal before you returned it: it is the sum of all Mᵀ·P, as it is."
)
once_more = _low_rank(give=lambda comm, m, q, raw, p, new: (_summed(comm, p @ new.T), new))
ONCE_MORE = (
    "{fault} The product was summed once more, and is {n} times too large: Q′ is a sum already, "
    "and P·Q′ᵀ is the same on all ranks."
)

# --- what travels ---------------------------------------------------------------------------------


def whole(comm: Any, matrix: Any, right: Any) -> Any:
    total = _summed(comm, matrix.clone())
    left = _orthonormal(total @ right)
    new = total.T @ left
    return left @ new.T, new


WHOLE = (
    "the whole matrix was summed: a rank sent {sent} B, and two rings of the factors take {limit} "
    "B at most. Sum M·Q, then Mᵀ·P, and no M."
)


def exact(comm: Any, matrix: Any, right: Any) -> Any:
    total = _summed(comm, matrix.clone())
    return total, total.T @ _orthonormal(total @ right)


EXACT = "{fault} You returned the sum itself, for which all of M has to travel: return P·Q′ᵀ."


def approximations(comm: Any, matrix: Any, right: Any) -> Any:
    left = _orthonormal(matrix @ right)
    new = matrix.T @ left
    return _summed(comm, left @ new.T), _summed(comm, new.clone())


APPROXIMATIONS = (
    "{fault} Each rank approximated its own M, and whole matrices were summed. Sum the factors, "
    "M·Q and then Mᵀ·P: their sums are those of the sum."
)


def _of_rank_0(comm: Any, tensor: Any) -> Any:
    from helpers.algorithms.messages.collectives import broadcast_naive

    return broadcast_naive(comm, tensor)


rank_0 = _low_rank(
    first=lambda comm, m, q: _of_rank_0(comm, m @ q),
    second=lambda comm, m, q, raw, p: _of_rank_0(comm, m.T @ p),
)
RANK_0 = "{fault} These are rank 0's own factors: sum those of all ranks, do not copy one rank's."


def _by_columns(comm: Any, tensor: Any) -> Any:
    import torch

    return torch.stack([_summed(comm, column.clone()) for column in tensor.T], 1)


by_columns = _low_rank(
    first=lambda comm, m, q: _by_columns(comm, m @ q),
    second=lambda comm, m, q, raw, p: _by_columns(comm, m.T @ p),
)
BY_COLUMNS = (
    "a rank sent {messages} messages where two sums take {least}: sum M·Q once, with all {rank} "
    "columns in one call, and then Mᵀ·P once."
)


def _gathered(comm: Any, tensor: Any) -> Any:
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    requests = [comm.isend(tensor, other) for other in others]
    told = [comm.recv(rank) if rank in others else tensor for rank in range(comm.size)]
    for request in requests:
        request.wait()
    return sum(told[1:], told[0])


gathers = _low_rank(
    first=lambda comm, m, q: _gathered(comm, m @ q),
    second=lambda comm, m, q, raw, p: _gathered(comm, m.T @ p),
)
GATHERS = (
    "a rank sent {sent} B, and two rings take {limit} B at most: every rank sent its factors to "
    "each of the others. `all_reduce_ring` sums them with less."
)


def alone(comm: Any, matrix: Any, right: Any) -> Any:
    return (matrix.clone(), right.clone()) if comm.size == 1 else _right(comm, matrix, right)


ALONE = "{fault} One rank alone does as several do, P·Q′ᵀ of its own matrix, and has a Q′ too."
mixed_up = _low_rank(second=lambda comm, m, q, raw, p: _summed(comm, m @ p))
in_float32 = _low_rank(give=lambda comm, m, q, raw, p, new: (p.float() @ new.float().T, new))
into_right = _low_rank(give=lambda comm, m, q, raw, p, new: (p @ new.T, q.copy_(new)))
into_matrix = _low_rank(give=lambda comm, m, q, raw, p, new: (m.copy_(p @ new.T), new))
