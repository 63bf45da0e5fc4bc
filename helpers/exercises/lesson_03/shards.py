"""Exercise 03.1, shards: which rows each rank gets in an epoch.

`shard(rows, rank, size, epoch) -> tensor of row numbers`. The claim: in every epoch the ranks'
rows together are all rows, each once; shards differ by one row at most; the order changes from
epoch to epoch, depends on the epoch alone, and leaves every rank's own random state as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, listing
from helpers.exercises.drives_training import over_epochs
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_EPOCHS = 2


def cases(seed: int) -> list[Case]:
    """Seed 0: 20 rows on 3 ranks, then 1, 2 and 5; else any rows; fewer than ranks too."""
    random = rng(seed, "03.1")
    shapes = [(20, 3), (16, 1), (17, 2), (23, 5), (3, 5)]
    if seed:
        shapes = [(n * int(random.integers(8, 30)) + n // 2, n) for n in (1, 2, 3, 5, 8)]
        shapes.append((3, 5))
    return [
        Case(f"With {rows} rows on {count(n, 'rank')}", ((rows, n, _EPOCHS),), n)
        for rows, n in shapes
    ]


def _epochs(seen: Observation) -> list[list[list[int]]]:
    """Row numbers by epoch and rank; raises where they are no row numbers."""
    return [[_rows(shard) for shard in epoch] for epoch in seen.values[0][:_EPOCHS]]


def _rows(shard: Any) -> list[int]:
    if is_array(shard) and shard.ndim == 1 and (shard.dtype.kind in "iu" or not shard.size):
        return [int(i) for i in shard]
    if type(shard) in (list, tuple) and all(_is_whole(i) for i in shard):
        return [int(i) for i in shard]
    raise TypeError(describe(shard))


def _is_whole(value: Any) -> bool:
    """A whole number, also as a tensor that holds one."""
    return type(value) is int or (is_array(value, ()) and value.dtype.kind in "iu")


def claim(case: Case, seen: Observation) -> str | None:
    """Every row once, even shards, another order in every epoch."""
    rows, n = case.args[0][0], case.ranks
    epochs = _epochs(seen)
    for epoch, shards in enumerate(epochs):
        everything = sorted(i for shard in shards for i in shard)
        if everything != list(range(rows)):
            return f"{case.name}, the shards of epoch {epoch} are not all rows, each once."
        sizes = [len(shard) for shard in shards]
        if max(sizes) - min(sizes) > 1:
            return f"{case.name}, the shards have {listing(sizes)} rows: one apart at most."
    if rows >= 8 and epochs[0] == epochs[1]:
        return f"{case.name}, every epoch has the same order."
    if n > 1 and rows >= 16 and [sorted(s) for s in epochs[0]] == [sorted(s) for s in epochs[1]]:
        return f"{case.name}, each rank sees the same rows in every epoch."
    return _by_calls(case, seen) or _left_alone(case, seen)


def _by_calls(case: Case, seen: Observation) -> str | None:
    if [_rows(shard) for shard in seen.values[0][_EPOCHS]] == _epochs(seen)[0]:
        return None
    return (
        f"{case.name}, epoch 0 has other rows when it is asked for again, after the others: the "
        "order depends on how often you were called. Make the generator anew in every call, seeded "
        "with the epoch."
    )


def _left_alone(case: Case, seen: Observation) -> str | None:
    if all(seen.values[0][-1]):
        return None
    return (
        f"{case.name}, the rank's own random state is another one afterwards: seeded alike, all "
        "ranks would draw the same dropout. Seed a generator of your own, "
        "`torch.Generator().manual_seed(epoch)`."
    )


def _missing_and_twice(case: Case, shards: list[list[int]]) -> tuple[int, int]:
    """How many rows are on no rank, and how many are there more than once."""
    times = Counter(i for shard in shards for i in shard)
    missing = set(range(case.args[0][0])) - times.keys()
    return len(missing), sum(each > 1 for each in times.values())


def compared(case: Case, seen: Observation) -> Any:
    """What went wrong first: epoch 0's rows, then the epochs' order, then what calls leave behind.

    Which permutation it was is no matter.
    """
    first, second = _epochs(seen)
    missing, twice = _missing_and_twice(case, first)
    if missing or twice:
        return [bool(missing), bool(twice), [len(shard) for shard in first]]
    moved = [sorted(shard) for shard in first] != [sorted(shard) for shard in second]
    if first == second or (case.ranks > 1 and not moved):
        flat = [i for shard in first for i in shard]
        return [first == second, flat == sorted(flat)]
    return {"by calls": _by_calls(case, seen) is not None, "alone": all(seen.values[0][-1])}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the rows that are on no rank in epoch 0, and on several."""
    missing, twice = _missing_and_twice(case, _epochs(seen)[0])
    return {
        "missing": f"{count(missing, 'row')} {'is' if missing == 1 else 'are'}",
        "several": count(twice, "row"),
        "twice": f"{count(twice, 'row')} {'comes' if twice == 1 else 'come'} twice",
    }


def _not_numbers(case: Case, seen: Observation) -> str | None:
    try:
        _epochs(seen)
    except TypeError as error:
        return (
            f"{case.name}, a shard was {error}: return the row numbers, a one-dimensional tensor "
            "of whole numbers."
        )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    sizes = listing(len(shard) for shard in seen[0].values[0][0])
    return f"Passed: every row once an epoch, in a new order; 20 rows on 3 ranks are {sizes}."


def reference(rows: int, rank: int, size: int, epoch: int) -> Any:
    """The course's own."""
    from helpers.algorithms.data_parallel.data_parallel import shard

    return shard(rows, rank, size, epoch)


def _order(rows: int, epoch: int) -> Any:
    return torch.randperm(rows, generator=torch.Generator().manual_seed(epoch))


def _cut(
    order: Callable[[int, int], Any] = _order,
    start: Callable[[int, int, int], int] = lambda rows, rank, size: rank * rows // size,
    more: int = 0,
) -> Callable[[int, int, int, int], Any]:
    """The reference with a part exchanged. order: of the rows and the epoch. start: of a rank's
    part, and the end of the part before; more: how far a part reaches beyond its end."""

    def shard(rows: int, rank: int, size: int, epoch: int) -> Any:
        return order(rows, epoch)[start(rows, rank, size) : start(rows, rank + 1, size) + more]

    return shard


def _reseeded(rows: int, epoch: int) -> Any:
    torch.manual_seed(epoch)
    return torch.randperm(rows)


_shuffles_its_own_way = _cut(lambda rows, epoch: torch.randperm(rows))
_loses_the_remainder = _cut(start=lambda rows, rank, size: rank * (rows // size))
_reaches_over = _cut(more=1)
_same_order = _cut(lambda rows, epoch: _order(rows, 0))
_never_shuffles = _cut(lambda rows, epoch: list(range(rows)))
_reseeds = _cut(_reseeded)
_RANDOM: dict[tuple[int, int, int], np.random.Generator] = {}


def _counts_calls(rows: int, rank: int, size: int, epoch: int) -> Any:
    random = _RANDOM.setdefault((rows, rank, size), np.random.default_rng(0))
    return random.permutation(rows)[rank * rows // size : (rank + 1) * rows // size]


def _padded(rows: int, rank: int, size: int, epoch: int) -> Any:
    order = _order(rows, epoch).tolist()
    return (order + order[: -rows % size])[rank::size]


def _everything(rows: int, rank: int, size: int, epoch: int) -> Any:
    return _order(rows, epoch)


def _shuffles_inside(rows: int, rank: int, size: int, epoch: int) -> Any:
    first, last = rank * rows // size, (rank + 1) * rows // size
    return first + _order(last - first, epoch)


def _as_a_mask(rows: int, rank: int, size: int, epoch: int) -> Any:
    return (_order(rows, epoch) * size // rows) == rank


EXERCISE = Exercise(
    number="03.1",
    title="Shards",
    stars=1,
    minutes=10,
    points=2,
    function="shard",
    asks=(
        "the numbers of this rank's rows: part ⌊r·rows/size⌋ to ⌊(r+1)·rows/size⌋ of a permutation "
        "of all rows that is the same on every rank and another one in every epoch."
    ),
    cases=cases,
    drive=over_epochs,
    claim=claim,
    compared=compared,
    mistakes=(Mistake("no row numbers", _not_numbers),),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("as a mask", _as_a_mask, hint="return the row numbers"),
        WrongAnswer(
            "each rank shuffles in its own way",
            _shuffles_its_own_way,
            "{missing} on no rank and {several} on several: each rank shuffled in its own way. "
            "Every rank must draw the same permutation: seed a generator with the epoch alone.",
        ),
        WrongAnswer(
            "loses the remainder",
            _loses_the_remainder,
            "{missing} on no rank: `rows // size` loses the remainder. Cut the permutation at "
            "⌊r·rows/size⌋.",
        ),
        WrongAnswer(
            "gives every rank all rows",
            _everything,
            "every rank got all rows: keep only this rank's part of them.",
        ),
        WrongAnswer(
            "parts that reach into the next",
            _reaches_over,
            "{twice}: a part reaches into the next one. It ends before row ⌊(r+1)·rows/size⌋ of "
            "the permutation, where the next one begins.",
        ),
        WrongAnswer(
            "rows that count twice",
            _padded,
            "{twice}, to make the shards equal. They may differ by one row, and no row counts "
            "twice.",
        ),
        WrongAnswer(
            "never shuffles",
            _never_shuffles,
            "the rows are cut in their own order and never shuffled: a rank sees the same rows in "
            "every epoch. Cut `torch.randperm(rows, generator=…)` instead.",
        ),
        WrongAnswer(
            "the same order in every epoch",
            _same_order,
            "epoch 1 has the same order as epoch 0: seed the generator with the epoch, "
            "`torch.Generator().manual_seed(epoch)`.",
        ),
        WrongAnswer(
            "shuffles inside the shard",
            _shuffles_inside,
            "each rank sees the same rows in every epoch, only in another order: shuffle all rows "
            "first, then cut.",
        ),
        WrongAnswer("counts its calls", _counts_calls, _by_calls),
        WrongAnswer("seeds the rank's own random state", _reseeds, _left_alone),
    ),
    ranked=False,
)
