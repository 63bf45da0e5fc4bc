"""Sums of parts with one thing wrong, for exercise 17.6, and hints for families."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Rows = Callable[..., Any]


def _own_rows(mine: Any, parts: int, like: Any) -> Any:
    """The parts of this rank in a table of zeros."""
    # Not the library's: what a spec takes from there, a release leaves out as part of an answer,
    # and helpers.workloads.elastic_training has to run in a release.
    table = like.new_zeros(parts, *like.shape)
    for part, gradient in mine.items():
        table[part] = gradient
    return table


def _table(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    """All parts' gradients in their order, on every rank."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, _own_rows(mine, parts, like))


def _added(rows: Any, like: Any) -> Any:
    import torch

    total = torch.zeros_like(like)
    for row in rows:
        total = total + row
    return total


def _sum(
    rows: Rows = lambda table, comm, mine: table,
    end: Rows = lambda total, comm, mine, parts, like: total,
    add: Rows = _added,
) -> Callable[..., Any]:
    """The right one with a part exchanged: which rows are added, how, and what becomes of it."""

    def ordered_sum(comm: Any, mine: Any, parts: int, like: Any) -> Any:
        table = _table(comm, mine, parts, like)
        return end(add(rows(table, comm, mine), like), comm, mine, parts, like)

    return ordered_sum


def _order(order: Callable[[int, Any, Any], list[int]]) -> Rows:
    return lambda table, comm, mine: table[order(len(table), comm, mine)]


def _pairs(rows: Any, like: Any) -> Any:
    rows = list(rows)
    while len(rows) > 1:
        rows = [
            rows[at] + rows[at + 1] if at + 1 < len(rows) else rows[at]
            for at in range(0, len(rows), 2)
        ]
    return rows[0]


def _exact(rows: Any, like: Any) -> Any:
    return like.new_tensor([math.fsum(column.tolist()) for column in rows.T])


by_ranks = _sum(
    _order(
        lambda parts, comm, mine: [p for r in range(comm.size) for p in range(r, parts, comm.size)]
    )
)
as_they_come = _sum(
    _order(lambda parts, comm, mine: [*mine, *(p for p in range(parts) if p not in mine)])
)
backwards = _sum(_order(lambda parts, comm, mine: [*reversed(range(parts))]))
as_texts = _sum(_order(lambda parts, comm, mine: sorted(range(parts), key=str)))
in_pairs = _sum(add=_pairs)
exactly = _sum(add=_exact)
torchs_sum = _sum(add=lambda rows, like: rows.sum(0))
in_float64 = _sum(add=lambda rows, like: _added(rows.double(), like.double()).to(like.dtype))
rounds_to_float32 = _sum(add=lambda rows, like: _added(rows.float(), like))
by_size = _sum(end=lambda total, comm, mine, parts, like: total / comm.size)
by_parts = _sum(end=lambda total, comm, mine, parts, like: total / parts)
own_alone = _sum(lambda table, comm, mine: table[sorted(mine)])
loses_rest = _sum(lambda table, comm, mine: table[: len(table) // comm.size * comm.size])
others_alone = _sum(_order(lambda parts, comm, mine: [p for p in range(parts) if p not in mine]))
from_like = _sum(add=lambda rows, like: _added([like, *rows], like))
the_table = _sum(add=lambda rows, like: rows)
nothing_elsewhere = _sum(end=lambda total, comm, mine, parts, like: None if comm.rank else total)
own_elsewhere = _sum(
    end=lambda total, comm, mine, parts, like: (
        _added([mine[p] for p in sorted(mine)], like) if comm.rank else total
    )
)


def sums_before(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, _added([mine[part] for part in sorted(mine)], like))


def table_of_float32(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    table = torch.zeros(parts, len(like))
    for part, gradient in mine.items():
        table[part] = gradient
    return _added(all_reduce_ring(comm, table), torch.zeros(len(like)))


def into_a_part(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    table = _table(comm, mine, parts, like)
    total = mine[0] if 0 in mine else table[0]
    for row in table[1:]:
        total += row
    return total


def fills_up(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    for part, row in enumerate(_table(comm, mine, parts, like)):
        mine[part] = row
    return _added([mine[part] for part in range(parts)], like)


def into_like(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    table = _table(comm, mine, parts, like)
    like.zero_()
    for row in table:
        like += row
    return like.clone()


def _at(row: Callable[[Any, int, int], int]) -> Callable[..., Any]:
    """A table whose rows are not the parts' numbers. row: of comm, its parts and the place."""

    def ordered_sum(comm: Any, mine: Any, parts: int, like: Any) -> Any:
        from helpers.algorithms.messages.collectives import all_reduce_ring

        table = like.new_zeros(parts, *like.shape)
        for place, part in enumerate(sorted(mine)):
            table[row(comm, len(mine), place)] = mine[part]
        return _added(all_reduce_ring(comm, table), like)

    return ordered_sum


rank_by_rank = _at(lambda comm, held, place: comm.rank * held + place)
by_place = _at(lambda comm, held, place: place)


def table_twice(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return _added(all_reduce_ring(comm, _table(comm, mine, parts, like)), like)


def total_twice(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, _added(_table(comm, mine, parts, like), like))


def away_without(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    return _added(_table(comm, mine, parts, like), like) if mine else like.new_zeros(like.shape)


def no_wait(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    own = _own_rows(mine, parts, like)
    for other in range(comm.size):
        if other != comm.rank:
            comm.isend(own, other)
    return _added(sum([comm.recv(o) for o in range(comm.size) if o != comm.rank], own), like)


def every_nth(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    own = {part: mine[part] for part in range(comm.rank, parts, comm.size)}
    return _added(_table(comm, own, parts, like), like)


def like_its_first(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    first = next(iter(mine.values()))
    return _added(_table(comm, mine, parts, first), like)


def to_itself(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    own = _own_rows(mine, parts, like)
    for other in range(comm.size):
        comm.send(own, other)
    return _added(sum(comm.recv(other) for other in range(comm.size)), like)
