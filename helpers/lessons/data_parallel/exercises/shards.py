"""Exercise 03.1, shards: which rows each rank gets in an epoch.

The claim: all rows, each once; shards differ by one row at most; the order depends on the epoch and
the rows alone, changes with it, and leaves the rank's random state as it was.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from helpers.checks.compare import count, describe, is_array, listing
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Apart
from helpers.checks.drives.values import plain
from helpers.checks.random_states import seed_all, states
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.data_parallel.algorithms.data_parallel import shard as reference

_EPOCHS = 4


def _over_epochs(fn: Function, rank: int, rows: int, size: int, epochs: int, other: int) -> Any:
    """`fn(rows, rank, size, epoch)` for every epoch, for the next rank's of 1, and of `other` rows.

    Every rank's global random state differs, as it does on real ranks. What comes last is whether
    `fn` left it alone, {"random": …}.
    """
    asked = [(rows, rank, size, epoch) for epoch in range(epochs)]
    asked += [(rows, (rank + 1) % size, size, 1), (other, rank, size, 0)]
    found, left_alone = list[Any](), True
    for call, args in enumerate(asked):
        seed_all(1000 * rank + call)
        before = states()
        found.append(plain(fn(*args)))
        left_alone = left_alone and states() == before
    return [*found, {"random": left_alone}]


over_epochs = Apart(_over_epochs, arguments=4)  # `values[0][call][rank]` are row numbers


def cases(seed: int) -> list[Case]:
    """Seed 0: 20 rows on 3 ranks, then 1, 2 and 5; else any rows; fewer than ranks too."""
    random = rng(seed, "03.1")
    shapes = [(20, 3), (16, 1), (17, 2), (23, 5), (3, 5), (300, 2)]
    if seed:
        shapes = [(n * int(random.integers(8, 30)) + n // 2, n) for n in (3, 1, 2, 5, 8)]
        shapes += [(3, 5), (300, 2)]
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


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every row once, even shards, another order in every epoch."""
    rows, n, epochs = case.args[0][0], case.ranks, _epochs(seen)
    for epoch, shards in enumerate(epochs):
        missing, twice = _missing_and_twice(case, shards)
        if sorted(i for shard in shards for i in shard) != list(range(rows)):
            yield f"epoch {epoch}: {missing} rows on no rank, {twice} more than once."
        sizes = [len(shard) for shard in shards]
        if max(sizes) - min(sizes) > 1:
            yield f"the shards have {listing(sizes)} rows: one apart at most."
    for one, other in combinations(range(_EPOCHS) if rows >= 8 else (), 2):
        if epochs[one] == epochs[other]:
            yield f"epochs {one} and {other} have the same order."
    kept = sum(len({*one} & {*other}) for one, other in zip(*epochs[:2], strict=True)) / rows
    if n > 1 and rows >= 16 and kept == 1:
        yield "each rank sees the same rows in every epoch."
    if n > 1 and rows >= 100 and kept > 0.8:
        yield f"{kept:.0%} of the rows stay on their rank from epoch to epoch: mix them anew."
    for look in (by_calls, other_rows, left_alone):
        yield look(case, seen)


def by_calls(case: Case, seen: Observation) -> str | None:
    """Another rank's rows that are not those that it has itself."""
    own, next_ones = _epochs(seen)[1], [_rows(shard) for shard in seen.values[0][_EPOCHS]]
    if next_ones == own[1:] + own[:1]:
        return None
    if next_ones == own:
        return (
            "asked for another rank's rows of epoch 1, each rank gives its own: what is kept from "
            "an earlier call has to fit the rank, too."
        )
    return (
        "epoch 1 has other rows when it is asked for again: the order depends on how often you "
        "were called. Make the generator anew in every call, seeded with the epoch."
    )


def other_rows(case: Case, seen: Observation) -> str | None:
    """Rows of another number that are not each there once."""
    other = case.args[0][3]
    found = sorted(row for shard in seen.values[0][_EPOCHS + 1] for row in _rows(shard))
    if found == list(range(other)):
        return None
    return (
        f"the ranks are asked for {other} rows next, and do not get each of these once: a "
        "permutation that is kept is one of so many rows. Make it anew in every call."
    )


def left_alone(case: Case, seen: Observation) -> str | None:
    """A random state that is another one afterwards."""
    if all(rank["random"] for rank in seen.values[0][-1]):
        return None
    return (
        "the rank's own random state is another one afterwards: all would draw the same dropout. "
        "Seed a generator of your own, `torch.Generator().manual_seed(epoch)`."
    )


def _missing_and_twice(case: Case, shards: list[list[int]]) -> tuple[int, int]:
    """How many rows are on no rank, and how many are there more than once."""
    times = Counter(i for shard in shards for i in shard)
    missing = set(range(case.args[0][0])) - times.keys()
    return len(missing), sum(each > 1 for each in times.values())


def compared(case: Case, seen: Observation) -> Any:
    """What went wrong first: epoch 0's rows, then the epochs' order, then what calls leave behind.
    Which permutation it was is no matter."""
    first, second, *_ = epochs = _epochs(seen)
    missing, twice = _missing_and_twice(case, first)
    if missing or twice:
        drawn = any(len({*shard}) < len(shard) and min(shard) >= 0 for shard in first)
        return [bool(missing), bool(twice), [len(shard) for shard in first], drawn]
    moved = [sorted(shard) for shard in first] != [sorted(shard) for shard in second]
    if first == second or (case.ranks > 1 and not moved):
        flat = [i for shard in first for i in shard]
        return [first == second, flat == sorted(flat)]
    looks = (by_calls, other_rows, left_alone)
    alike = [one == other for one, other in combinations(epochs, 2)]
    return [alike, *(look(case, seen) is None for look in looks)]


def _not_numbers(case: Case, seen: Observation) -> str | None:
    try:
        _epochs(seen)
    except TypeError as error:
        return f"a shard was {error}: return the row numbers, whole numbers."
    return None


WRONG = """
as a mask
    | [start:stop] => * size // rows == rank
    ? return the row numbers
each rank shuffles in its own way
    | , generator=torch.Generator().manual_seed(epoch) =>
    rows on no rank: {missing}; more than once: {twice}. All ranks cut one permutation, each row in
    it once: seed a generator with the epoch alone.
draws with replacement
    | torch.randperm(rows, => torch.randint(rows, (rows,),
    rows on no rank: {missing}; more than once: {twice}, also on one rank: `randint` may draw a row
    again, `randperm` has each once.
loses the remainder
    | shard_bounds(rows, rank, size) => rank * (rows // size), (rank + 1) * (rows // size)
    rows on no rank: {missing}. `rows // size` loses the remainder: cut at ⌊r·rows/size⌋.
all rows
    | [start:stop] =>
    every rank got all rows: keep this rank's part.
parts that reach into the next
    | [start:stop] => [start : stop + 1]
    rows that come twice: {twice}. The next part begins at place ⌊(r+1)·rows/size⌋.
parts that end one row early
    | [start:stop] => [start : stop - 1]
    rows on no rank: {missing}. Every part is one row short: a slice leaves its end out,
    `order[a:b]` ends with place b − 1, the formula's last.
rows that count twice
    | return torch => order = torch
    | [start:stop] => ; return torch.cat([order, order[: -rows % size]])[rank::size]
    rows that come twice: {twice}. Shards may differ by a row, and no row counts twice.
never shuffles
    | torch.randperm(rows, generator=torch.Generator().manual_seed(epoch)) => list(range(rows))
    the rows are cut in their own order, so that a rank sees the same ones in every epoch: cut
    `torch.randperm(rows, generator=…)` instead.
the same order in every epoch
    | manual_seed(epoch) => manual_seed(0)
    epoch 1 has the same order as epoch 0: seed the generator with the epoch,
    `torch.Generator().manual_seed(epoch)`.
two
    | manual_seed(epoch) => manual_seed(epoch % 2)
    epoch 2 has the order of epoch 0: seed with the epoch itself.
shuffles inside the shard
    | torch.randperm(rows, => start + torch.randperm(stop - start,
    | [start:stop] =>
    each rank sees the same rows in every epoch, only in another order: shuffle all rows first, then
    cut.
counts its calls
    | epoch: int) => epoch: int, source: Any = torch.Generator())
    | torch.Generator().manual_seed(epoch) => source if epoch else source.manual_seed(0)
    ! by_calls
keeps an epoch's permutation
    | epoch: int) => epoch: int, kept: Any = {})
    | torch.randperm(rows, => kept.setdefault(epoch, torch.randperm(rows,
    | [start:stop] => )[start:stop]
    ! other_rows
seeds the rank's own random state
    | torch.Generator().manual_seed => torch.manual_seed
    ! left_alone
"""

EXERCISE = Exercise(
    number="03.1",
    title="Shards",
    size=Size(stars=1, minutes=10, points=2),
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
    wrong=wrong_answers("03.1", WRONG, reference, by_calls, other_rows, left_alone),
    ranked=False,
)
