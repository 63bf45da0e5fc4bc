"""Exercise 03.1, shards: which rows each rank gets in an epoch.

`shard(rows, rank, size, epoch) -> tensor of row numbers`. The claim: in every epoch the ranks'
rows together are all rows, each once; shards differ by one row at most; the order changes from
epoch to epoch, depends on the epoch alone, and leaves every rank's own random state as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

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
        Case(
            f"With {rows} rows on {count(n, 'rank')}",
            ((rows, n, _EPOCHS),),
            n,
            facts={"rows": rows},
        )
        for rows, n in shapes
    ]


def _epochs(seen: Observation) -> list[list[list[int]]]:
    """Row numbers by epoch and rank; raises where they are no row numbers."""
    return [[_rows(shard) for shard in epoch] for epoch in seen.values[0][:_EPOCHS]]


def _asked_again(seen: Observation) -> list[list[int]]:
    """The same for epoch 0, asked for once more at the end."""
    return [_rows(shard) for shard in seen.values[0][_EPOCHS]]


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
    rows, n = case.facts["rows"], case.ranks
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
    return _by_calls(case, seen) or _reseeds(case, seen)


def _by_calls(case: Case, seen: Observation) -> str | None:
    again = _asked_again(seen)
    if again == _epochs(seen)[0]:
        return None
    return (
        f"{case.name}, epoch 0 has other rows when it is asked for again, after the others: the "
        "order depends on how often you were called. Make the generator anew in every call, seeded "
        "with the epoch."
    )


def _reseeds(case: Case, seen: Observation) -> str | None:
    if all(seen.values[0][-1]):
        return None
    return (
        f"{case.name}, the rank's own random state is another one afterwards: seeded alike, all "
        "ranks would draw the same dropout. Seed a generator of your own, "
        "`torch.Generator().manual_seed(epoch)`."
    )


def _missing_and_twice(case: Case, shards: list[list[int]]) -> tuple[list[int], list[int]]:
    times = Counter(i for shard in shards for i in shard)
    missing = sorted(set(range(case.facts["rows"])) - times.keys())
    return missing, sorted(i for i, count in times.items() if count > 1)


def _own_random(case: Case, seen: Observation) -> str | None:
    missing, twice = _missing_and_twice(case, _epochs(seen)[0])
    sizes = [len(s) for s in _epochs(seen)[0]]
    if not missing or not twice or case.ranks == 1 or sum(sizes) != case.facts["rows"]:
        return None
    return (
        f"{case.name}, {count(len(missing), 'row')} {'is' if len(missing) == 1 else 'are'} on no "
        f"rank and {count(len(twice), 'row')} on several: each rank shuffled in its own way. "
        "Every rank must draw the same permutation: seed a generator with the epoch alone."
    )


def _remainder(case: Case, seen: Observation) -> str | None:
    missing, twice = _missing_and_twice(case, _epochs(seen)[0])
    lost = case.facts["rows"] % case.ranks
    if twice or not missing or len(missing) != lost:
        return None
    return (
        f"{case.name}, {count(lost, 'row')} {'is' if lost == 1 else 'are'} on no rank: "
        "`rows // size` loses the remainder. Cut the permutation at ⌊r·rows/size⌋."
    )


def _padded(case: Case, seen: Observation) -> str | None:
    shards = _epochs(seen)[0]
    missing, twice = _missing_and_twice(case, shards)
    if missing or not twice:
        return None
    if all(len(s) == case.facts["rows"] for s in shards):
        return f"{case.name}, every rank got all rows: keep only this rank's part of them."
    told = f"{case.name}, {count(len(twice), 'row')} {'comes' if len(twice) == 1 else 'come'} twice"
    if len({len(s) for s in shards}) > 1:
        return (
            f"{told}: a part reaches into the next one. It ends before row ⌊(r+1)·rows/size⌋ of "
            "the permutation, where the next one begins."
        )
    return f"{told}, to make the shards equal. They may differ by one row, and no row counts twice."


def _same_order(case: Case, seen: Observation) -> str | None:
    first, second = _epochs(seen)[:2]
    if first != second:
        return None
    flat = [i for shard in first for i in shard]
    if flat == sorted(flat):
        return (
            f"{case.name}, the rows are cut in their own order and never shuffled: a rank sees the "
            "same rows in every epoch. Cut `torch.randperm(rows, generator=…)` instead."
        )
    return (
        f"{case.name}, epoch 1 has the same order as epoch 0: seed the generator with the epoch, "
        "`torch.Generator().manual_seed(epoch)`."
    )


def _shuffled_inside(case: Case, seen: Observation) -> str | None:
    first, second = _epochs(seen)[:2]
    if case.ranks == 1 or [sorted(s) for s in first] != [sorted(s) for s in second]:
        return None
    return (
        f"{case.name}, each rank sees the same rows in every epoch, only in another order: shuffle "
        "all rows first, then cut."
    )


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
    import torch

    from helpers.algorithms.data_parallel.data_parallel import shard_bounds

    order = torch.randperm(rows, generator=torch.Generator().manual_seed(epoch))
    start, stop = shard_bounds(rows, rank, size)
    return order[start:stop]


def own_random(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Shuffles with the rank's own random state."""
    import torch

    return torch.randperm(rows)[rank * rows // size : (rank + 1) * rows // size]


def loses_rest(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Cuts with `rows // size`."""
    import torch

    order = torch.randperm(rows, generator=torch.Generator().manual_seed(epoch))
    return order[rank * (rows // size) : (rank + 1) * (rows // size)]


def padded(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Fills up with rows from the front, as torch's DistributedSampler does."""
    import torch

    order = torch.randperm(rows, generator=torch.Generator().manual_seed(epoch))
    return torch.cat([order, order[: -rows % size]])[rank::size]


def reaches_over(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Includes the end, as if a slice did."""
    import torch

    order = torch.randperm(rows, generator=torch.Generator().manual_seed(epoch))
    return order[rank * rows // size : (rank + 1) * rows // size + 1]


def same_order(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Seeds with a constant."""
    return reference(rows, rank, size, 0)


def in_order(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Never shuffles."""
    return list(range(rank * rows // size, (rank + 1) * rows // size))


def inside(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Cuts first, then shuffles inside the shard."""
    random = np.random.default_rng(epoch)
    shard = np.arange(rank * rows // size, (rank + 1) * rows // size)
    return [int(i) for i in random.permutation(shard)]


_RANDOM: dict[tuple[int, int, int], np.random.Generator] = {}


def counts_calls(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Draws on from a generator that outlives the call."""
    random = _RANDOM.setdefault((rows, rank, size), np.random.default_rng(0))
    order = random.permutation(rows)
    return [int(i) for i in order[rank * rows // size : (rank + 1) * rows // size]]


def reseeds(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Seeds the rank's own random state."""
    import torch

    torch.manual_seed(epoch)
    return torch.randperm(rows)[rank * rows // size : (rank + 1) * rows // size]


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
    mistakes=(
        Mistake("no row numbers", _not_numbers),
        Mistake("each rank shuffles in its own way", _own_random),
        Mistake("loses the remainder", _remainder),
        Mistake("rows that count twice", _padded),
        Mistake("the same order in every epoch", _same_order),
        Mistake("shuffles inside the shard", _shuffled_inside),
        Mistake("counts its calls", _by_calls),
        Mistake("seeds the rank's own random state", _reseeds),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("own random state", own_random, hint="each rank shuffled in its own way"),
        WrongAnswer("rows // size", loses_rest, hint="loses the remainder"),
        WrongAnswer("padded", padded, hint="to make the shards equal"),
        WrongAnswer("includes the end", reaches_over, hint="a part reaches into the next one"),
        WrongAnswer("constant seed", same_order, hint="seed the generator with the epoch"),
        WrongAnswer("no shuffle", in_order, hint="never shuffled"),
        WrongAnswer("shuffles inside", inside, hint="shuffle all rows first"),
        WrongAnswer("counts its calls", counts_calls, hint="how often you were called"),
        WrongAnswer("reseeds", reseeds, hint="would draw the same dropout"),
    ),
    ranked=False,
)
