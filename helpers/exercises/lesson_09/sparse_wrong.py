"""Wrong answers to exercise 09.5: sums of sparse gradients that people really write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Pair = tuple[Any, Any]


def added(given: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Sums of some ranks' rows and values, added in this order."""
    rows = np.concatenate([rows for rows, _ in given]) if given else np.zeros(0, np.int64)
    if not len(rows):
        return np.zeros(0)
    union = np.unique(rows)
    total = np.zeros((len(union), given[0][1].shape[1]), given[0][1].dtype)
    for each, values in given:
        total[np.searchsorted(union, each)] += values
    return total


def _told(comm: Any, rows: Any, values: Any, itself: bool = False, waits: bool = True) -> Any:
    """Every rank's pair, in order. itself: sends to itself too. waits: for what it sends."""
    others = [other for other in range(comm.size) if itself or other != comm.rank]
    requests = [comm.isend(each, other) for other in others for each in (rows, values)]
    told = [
        (comm.recv(other), comm.recv(other)) if other in others else (rows, values)
        for other in range(comm.size)
    ]
    for request in requests if waits else []:
        request.wait()
    return told


def _merged(told: Sequence[Pair], like: Any) -> Pair:
    """The union and its sums. like: a tensor of the sums' type."""
    import torch

    union, places = torch.cat([rows for rows, _ in told]).unique(return_inverse=True)
    sums = like.new_zeros(len(union), told[0][1].shape[1])
    return union, sums.index_add_(0, places, torch.cat([v for _, v in told]).to(sums.dtype))


def _sum(
    tell: Callable[..., Any] = _told, merge: Callable[..., Any] = lambda told, mine: None
) -> Callable[..., Any]:
    """A right sum with something exchanged. tell: every rank's pair. merge: what is returned of
    these and this rank's; None for the union and its sums."""

    def sum_sparse(comm: Any, rows: Any, values: Any) -> Any:
        told = tell(comm, rows, values)
        found = merge(told, comm.rank)
        return _merged(told, values) if found is None else found

    return sum_sparse


def _of(told: Sequence[Pair]) -> Pair:
    return _merged(told, told[0][1])


def _one_by_one(told: Sequence[Pair], mine: int) -> Pair:
    import torch

    rows = torch.cat([rows for rows, _ in told])
    order = rows.argsort(stable=True)
    return rows[order], torch.cat([values for _, values in told])[order]


def _as_they_came(told: Sequence[Pair], mine: int) -> Pair:
    import torch

    union, sums = _of(told)
    came = list(dict.fromkeys(torch.cat([rows for rows, _ in told]).tolist()))
    order = torch.searchsorted(union, torch.tensor(came, dtype=torch.int64))
    return union[order], sums[order]


def _others(told: Sequence[Pair], mine: int) -> Pair:
    others = [pair for rank, pair in enumerate(told) if rank != mine]
    return _of(others) if others else (told[0][0][:0], told[0][1][:0])


def _among(told: Sequence[Pair], keep: Callable[[Any], Any]) -> Pair:
    union, sums = _of(told)
    kept = keep(union)
    return union[kept], sums[kept]


def _in_own(told: Sequence[Pair], mine: int) -> Pair:
    import torch

    return _among(told, lambda union: torch.isin(union, told[mine][0]))


def _in_all(told: Sequence[Pair], mine: int) -> Pair:
    import torch

    return _among(
        told, lambda union: torch.stack([torch.isin(union, rows) for rows, _ in told]).all(0)
    )


def _not_zero(told: Sequence[Pair], mine: int) -> Pair:
    union, sums = _of(told)
    kept = (sums != 0).any(1)
    return union[kept], sums[kept]


def _last_one(told: Sequence[Pair], mine: int) -> Pair:
    import torch

    union, places = torch.cat([rows for rows, _ in told]).unique(return_inverse=True)
    sums = told[0][1].new_zeros(len(union), told[0][1].shape[1])
    sums[places] += torch.cat([values for _, values in told])
    return union, sums


def _float32(told: Sequence[Pair], mine: int) -> Pair:
    import torch

    return _merged(told, torch.zeros(0))


def _divided(told: Sequence[Pair], mine: int) -> Pair:
    union, sums = _of(told)
    return union, sums / len(told)


def _packed(comm: Any, rows: Any, values: Any) -> Any:
    """Rows and values in one tensor of the values' type."""
    import torch

    both = torch.cat([rows[:, None].to(values.dtype), values], 1)
    told = _told(comm, both, both[:0])
    return [(each[:, 0].long(), each[:, 1:]) for each, _ in told]


unmerged = _sum(merge=_one_by_one)
unsorted = _sum(merge=_as_they_came)
own_missing = _sum(merge=_others)
own_rows_only = _sum(merge=_in_own)
common_only = _sum(merge=_in_all)
drops_zeros = _sum(merge=_not_zero)
overwrites = _sum(merge=_last_one)
in_float32 = _sum(merge=_float32)
mean = _sum(merge=_divided)
own_first = _sum(merge=lambda told, mine: _of([*told[mine:], *told[:mine]]))
rows_as_floats = _sum(_packed)
to_itself = _sum(lambda comm, rows, values: _told(comm, rows, values, itself=True))
never_waits = _sum(lambda comm, rows, values: _told(comm, rows, values, waits=False))


own_twice = _sum(merge=lambda told, mine: _of([told[mine], *told]))
right = _sum()


def skips_empty(comm: Any, rows: Any, values: Any) -> Pair:
    found: Pair = right(comm, rows, values) if len(rows) else (rows, values)
    return found


def in_place(comm: Any, rows: Any, values: Any) -> Pair:
    """Its own rows' sums in its own values, in the order of the ranks."""
    told = [(r, v.clone()) for r, v in _told(comm, rows, values)]
    union, sums = _of(told)
    for place, row in enumerate(rows.tolist()):
        values[place] = sums[int((union == row).nonzero())]
    return union, sums


def equal_counts(comm: Any, rows: Any, values: Any) -> Pair:
    import torch

    told, right, left = [(rows, values)], (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(comm.size - 1):
        requests = [comm.isend(each, right) for each in told[-1]]
        came = torch.empty_like(rows), torch.empty_like(values)
        told.append((comm.recv(left, into=came[0]), comm.recv(left, into=came[1])))
        for request in requests:
            request.wait()
    return _of([told[(comm.rank - other) % comm.size] for other in range(comm.size)])


def rank_0_alone(comm: Any, rows: Any, values: Any) -> Pair:
    if comm.rank:
        comm.send(rows, 0)
        comm.send(values, 0)
        return rows, values
    came = [(comm.recv(other), comm.recv(other)) for other in range(1, comm.size)]
    return _of([(rows, values), *came])


def through_rank_0(comm: Any, rows: Any, values: Any) -> Pair:
    found = rank_0_alone(comm, rows, values)
    if comm.rank:
        return comm.recv(0), comm.recv(0)
    for other in range(1, comm.size):
        comm.send(found[0], other)
        comm.send(found[1], other)
    return found


def dense(comm: Any, rows: Any, values: Any) -> Pair:
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    own = torch.tensor([int(rows.max()) + 1 if len(rows) else 0])
    length = max(int(first) for first, _ in _told(comm, own, own[:0]))
    table = values.new_zeros(length, values.shape[1] + 1)
    table[rows] = torch.cat([values, values.new_ones(len(rows), 1)], 1)
    all_reduce_ring(comm, table)
    touched = table[:, -1].nonzero().view(-1)
    return touched, table[touched, :-1]


def tables_of_own(comm: Any, rows: Any, values: Any) -> Pair:
    from helpers.algorithms.messages.collectives import all_reduce_ring

    table = values.new_zeros(int(rows.max()) + 1 if len(rows) else 0, values.shape[1])
    table[rows] = values
    all_reduce_ring(comm, table)
    touched = table.any(1).nonzero().view(-1)
    return touched, table[touched]


def summed_in_place(comm: Any, rows: Any, values: Any) -> Pair:
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, rows.clone()), all_reduce_ring(comm, values.clone())


def _round(comm: Any, pair: Pair) -> Pair:
    """One step of a ring."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    requests = [comm.isend(each, right) for each in pair]
    came = comm.recv(left), comm.recv(left)
    for request in requests:
        request.wait()
    return came


def passes_on_sums(comm: Any, rows: Any, values: Any) -> Pair:
    found = _of([(rows, values)])
    for _ in range(comm.size - 1):
        found = _of([found, _round(comm, found)])
    return found


def one_step(comm: Any, rows: Any, values: Any) -> Pair:
    told = [(rows, values)]
    return _of([*told, _round(comm, told[0])] if comm.size > 1 else told)
