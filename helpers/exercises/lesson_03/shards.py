"""Exercise 03.1, shards: which rows each rank gets in an epoch.

The claim: all rows, each once; shards differ by one row at most; the order depends on the epoch and
the rows alone, changes with it, and leaves the rank's random state as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import torch

from helpers.algorithms.data_parallel.data_parallel import shard as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, listing
from helpers.exercises.drives_training import over_epochs
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_EPOCHS = 3


def cases(seed: int) -> list[Case]:
    """Seed 0: 20 rows on 3 ranks, then 1, 2 and 5; else any rows; fewer than ranks too."""
    random = rng(seed, "03.1")
    shapes = [(20, 3), (16, 1), (17, 2), (23, 5), (3, 5)]
    if seed:
        shapes = [(n * int(random.integers(8, 30)) + n // 2, n) for n in (1, 2, 3, 5, 8)]
        shapes.append((3, 5))
    return [
        Case(f"With {rows} rows on {count(n, 'rank')}", ((rows, n, _EPOCHS, rows + 7),), n)
        for rows, n in shapes
    ]


def _epochs(seen: Observation) -> list[list[list[int]]]:
    """Row numbers by epoch and rank; raises where they are no row numbers."""
    return [[_rows(shard) for shard in epoch] for epoch in seen.values[0][:_EPOCHS]]


def _rows(shard: Any) -> list[int]:
    """The numbers in a list, or a tensor, or a list of tensors that hold one each."""
    items = shard.tolist() if is_array(shard) and shard.ndim == 1 else shard
    if type(items) in (list, tuple):
        found = [each.item() if is_array(each, ()) else each for each in items]
        if all(type(each) is int for each in found):
            return found
    raise TypeError(describe(shard) + (f" of {shard.dtype}" if is_array(shard) else ""))


def claim(case: Case, seen: Observation) -> str | None:
    """Every row once, even shards, another order in every epoch."""
    rows, n = case.args[0][0], case.ranks
    epochs = _epochs(seen)
    for epoch, shards in enumerate(epochs):
        everything = sorted(i for shard in shards for i in shard)
        if everything != list(range(rows)):
            missing, twice = _missing_and_twice(case, shards)
            return f"{case.name}, epoch {epoch}: {missing} rows on no rank, {twice} more than once."
        sizes = [len(shard) for shard in shards]
        if max(sizes) - min(sizes) > 1:
            return f"{case.name}, the shards have {listing(sizes)} rows: one apart at most."
    for one, other in combinations(range(_EPOCHS) if rows >= 8 else (), 2):
        if epochs[one] == epochs[other]:
            return f"{case.name}, epochs {one} and {other} have the same order."
    if n > 1 and rows >= 16 and [sorted(s) for s in epochs[0]] == [sorted(s) for s in epochs[1]]:
        return f"{case.name}, each rank sees the same rows in every epoch."
    return _by_calls(case, seen) or _other_rows(case, seen) or _left_alone(case, seen)


def _by_calls(case: Case, seen: Observation) -> str | None:
    own, next_ones = _epochs(seen)[1], [_rows(shard) for shard in seen.values[0][_EPOCHS]]
    if next_ones == own[1:] + own[:1]:
        return None
    if next_ones == own:
        return (
            f"{case.name}, asked for another rank's rows of epoch 1, each rank gives its own: what "
            "is kept from an earlier call has to fit the rank, too."
        )
    return (
        f"{case.name}, epoch 1 has other rows when it is asked for again: the order depends on how "
        "often you were called. Make the generator anew in every call, seeded with the epoch."
    )


def _other_rows(case: Case, seen: Observation) -> str | None:
    other = case.args[0][3]
    found = sorted(row for shard in seen.values[0][_EPOCHS + 1] for row in _rows(shard))
    if found == list(range(other)):
        return None
    return (
        f"{case.name}, the ranks are asked for {other} rows next, and do not get each of these "
        "once: a permutation that is kept is one of so many rows. Make it anew in every call."
    )


def _left_alone(case: Case, seen: Observation) -> str | None:
    if all(seen.values[0][-1]):
        return None
    return (
        f"{case.name}, the rank's own random state is another one afterwards: all would draw the "
        "same dropout. Seed a generator of your own, `torch.Generator().manual_seed(epoch)`."
    )


def _missing_and_twice(case: Case, shards: list[list[int]]) -> tuple[int, int]:
    """How many rows are on no rank, and how many are there more than once."""
    times = Counter(i for shard in shards for i in shard)
    missing = set(range(case.args[0][0])) - times.keys()
    return len(missing), sum(each > 1 for each in times.values())


def compared(case: Case, seen: Observation) -> Any:
    """What went wrong first: epoch 0's rows, then the epochs' order, then what calls leave behind.
    Which permutation it was is no matter."""
    first, second, _ = epochs = _epochs(seen)
    missing, twice = _missing_and_twice(case, first)
    if missing or twice:
        return [bool(missing), bool(twice), [len(shard) for shard in first]]
    moved = [sorted(shard) for shard in first] != [sorted(shard) for shard in second]
    if first == second or (case.ranks > 1 and not moved):
        flat = [i for shard in first for i in shard]
        return [first == second, flat == sorted(flat)]
    looks = (_by_calls, _other_rows, _left_alone)
    alike = [one == other for one, other in combinations(epochs, 2)]
    return [alike, *(look(case, seen) is None for look in looks)]


def _not_numbers(case: Case, seen: Observation) -> str | None:
    try:
        _epochs(seen)
    except TypeError as error:
        return f"{case.name}, a shard was {error}: return the row numbers, whole numbers."
    return None


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
_ends_early = _cut(more=-1)
_same_order = _cut(lambda rows, epoch: _order(rows, 0))
_two_orders = _cut(lambda rows, epoch: _order(rows, epoch % 2))
_never_shuffles = _cut(lambda rows, epoch: list(range(rows)))
_reseeds = _cut(_reseeded)
_ORDERS: dict[int, Any] = {}
_keeps_orders = _cut(lambda rows, epoch: _ORDERS.setdefault(epoch, _order(rows, epoch)))
_RANDOM = [np.random.default_rng(0)]


def _counts_calls(rows: int, rank: int, size: int, epoch: int) -> Any:
    if epoch == 0:
        _RANDOM[0] = np.random.default_rng(0)
    return _RANDOM[0].permutation(rows)[rank * rows // size : (rank + 1) * rows // size]


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
    numbers=lambda case, seen: dict(
        zip(("missing", "twice"), _missing_and_twice(case, _epochs(seen)[0]), strict=True)
    ),
    praise=lambda cases, seen: (
        "Passed: every row once an epoch, in a new order; 20 rows on 3 ranks are "
        f"{listing(len(shard) for shard in seen[0].values[0][0])}."
    ),
    reference=reference,
    wrong=(
        WrongAnswer("as a mask", _as_a_mask, hint="return the row numbers"),
        WrongAnswer(
            "each rank shuffles in its own way",
            _shuffles_its_own_way,
            "rows on no rank: {missing}; more than once: {twice}. All ranks cut one permutation, "
            "each row in it once: seed a generator with the epoch alone.",
        ),
        WrongAnswer(
            "loses the remainder",
            _loses_the_remainder,
            "rows on no rank: {missing}. `rows // size` loses the remainder: cut at ⌊r·rows/size⌋.",
        ),
        WrongAnswer("all rows", _everything, "every rank got all rows: keep this rank's part."),
        WrongAnswer(
            "parts that reach into the next",
            _reaches_over,
            "rows that come twice: {twice}. The next part begins at place ⌊(r+1)·rows/size⌋.",
        ),
        WrongAnswer(
            "parts that end one row early",
            _ends_early,
            "rows on no rank: {missing}. Every part is one row short: a slice leaves its end out, "
            "`order[a:b]` ends with place b − 1, the formula's last.",
        ),
        WrongAnswer(
            "rows that count twice",
            _padded,
            "rows that come twice: {twice}. Shards may differ by a row, and no row counts twice.",
        ),
        WrongAnswer(
            "never shuffles",
            _never_shuffles,
            "the rows are cut in their own order, so that a rank sees the same ones in every "
            "epoch: cut `torch.randperm(rows, generator=…)` instead.",
        ),
        WrongAnswer(
            "the same order in every epoch",
            _same_order,
            "epoch 1 has the same order as epoch 0: seed the generator with the epoch, "
            "`torch.Generator().manual_seed(epoch)`.",
        ),
        WrongAnswer(
            "two", _two_orders, "epoch 2 has the order of epoch 0: seed with the epoch itself."
        ),
        WrongAnswer(
            "shuffles inside the shard",
            _shuffles_inside,
            "each rank sees the same rows in every epoch, only in another order: shuffle all rows "
            "first, then cut.",
        ),
        WrongAnswer("counts its calls", _counts_calls, _by_calls),
        WrongAnswer("keeps an epoch's permutation", _keeps_orders, _other_rows),
        WrongAnswer("seeds the rank's own random state", _reseeds, _left_alone),
    ),
    ranked=False,
)
