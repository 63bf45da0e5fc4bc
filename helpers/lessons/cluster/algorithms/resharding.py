"""What N ranks have saved, cut for M ranks.

A row of parameters is padded with zeros until the ranks divide it, and every rank has a slice of
the same length (`data_parallel/sharded_row.py`). On another number of ranks both the padding and
the cuts lie elsewhere: a slice is put together from pieces of one old slice or of several. Nothing
is computed, so that every element has the bits that it had.
Source: the padded row is that of Rajbhandari et al., "ZeRO" (2020), section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Piece(NamedTuple):
    """Elements start to stop of what rank `part` has saved, counted in its own slice."""

    part: int
    start: int
    stop: int


Cut = Callable[[int, int, int, int], Sequence[tuple[int, int, int]]]
"""What `pieces` is: of length, parts, rank and size."""


def share(length: int, size: int) -> int:
    """Elements of a slice: a row's length over the number of ranks, rounded up.

    Raises ValueError where there is no such slice.
    """
    if length < 0 or size < 1:
        raise ValueError(f"A row of {length} elements cannot be cut for {size} ranks.")
    return -(-length // size)


def bounds(length: int, rank: int, size: int) -> tuple[int, int]:
    """Which elements of a row a rank has, the padding left out.

    Example: of 10 elements on 4 ranks, bounds(10, 3, 4) is (9, 10): one element and two zeros.
    """
    if not 0 <= rank < size:
        raise ValueError(f"There is no rank {rank} among {size} ranks.")
    each = share(length, size)
    return min(rank * each, length), min((rank + 1) * each, length)


def pieces(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """Where rank `rank` of `size` finds its elements, of a row that `parts` ranks have saved.

    In order, none empty. Raises ValueError for a rank or a row that cannot be.
    Example: pieces(10, 4, 1, 2) is [Piece(1, 2, 3), Piece(2, 0, 3), Piece(3, 0, 1)]: elements 5 to
    9, of slices that begin at 3, 6 and 9.
    """
    if not (length >= 0 and parts >= 1 and 0 <= rank < size):
        raise ValueError(
            f"Rank {rank} of {size} finds nothing of {length} elements that {parts} ranks have."
        )
    new, old = -(-length // size), -(-length // parts)
    start, stop = min(rank * new, length), min((rank + 1) * new, length)
    found = []
    for part, first in enumerate(range(0, old * parts, old or 1)):
        begin, end = max(start, first), min(stop, first + old)
        if begin < end:
            found.append(Piece(part, begin - first, end - first))
    return found


def joined(
    slices: Mapping[int, Tensor],
    length: int,
    parts: int,
    rank: int,
    size: int,
    cut: Cut = pieces,
) -> Tensor:
    """A rank's slice, of the padded length, from old slices.

    slices: of old ranks, by rank: rank 0's, and those that are needed. cut: says which.
    """
    wanted = [slices[p][begin:end] for p, begin, end in cut(length, parts, rank, size)]
    example = wanted[0] if wanted else slices[0]
    row = example.new_zeros(share(length, size))
    if wanted:
        torch.cat(wanted, out=row[: sum(map(len, wanted))])
    return row


# --- all rows of a model --------------------------------------------------------------------------


def resharded(
    read: Callable[[int], Any], parts: int, rank: int, size: int, cut: Cut = pieces
) -> dict[str, Any]:
    """What rank `rank` of `size` needs of the state that `parts` ranks have saved.

    read: gives what a rank saved, as `sharded_state.state_of` makes it:
    {"rows": {name: {"length": elements without padding, "values": {key: slice}}}, "common": …}.
    "common" is the same on all ranks, and taken from part 0. Each part is read once at most. cut:
    says which pieces of a row a rank needs, as `pieces` does.
    Returns a state of the same shape.
    """
    first = read(0)
    if parts == size:  # nothing to cut
        return {**first, "rows": (read(rank) if rank else first)["rows"]}
    lengths = [row["length"] for row in first["rows"].values()]
    needed = {part for n in lengths for part, _, _ in cut(n, parts, rank, size)} - {0}
    held = {0: first, **{part: read(part) for part in sorted(needed)}}
    rows: dict[str, Any] = {}
    for name, row in first["rows"].items():
        values = {}
        for key in row["values"]:
            slices = {part: state["rows"][name]["values"][key] for part, state in held.items()}
            values[key] = joined(slices, row["length"], parts, rank, size, cut)
        rows[name] = {**row, "values": values}
    return {**first, "rows": rows}
