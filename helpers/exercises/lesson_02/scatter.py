"""Exercise 02.1, scatter: every rank gets its own slice of rank 0's batch.

`scatter(comm, batch, rows, width) -> slice`: batch is (rows, width) on rank 0 and None elsewhere;
rank r of N gets rows ⌊r·rows/N⌋ to ⌊(r+1)·rows/N⌋. The claim: rank 0 sends no byte too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import WORLDS, rng, self_hint
from helpers.exercises.compare import close, count, describe, is_array, listing, times, worlds
from helpers.exercises.drives import on_ranks
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_ROWS = {1: 4, 2: 4, 3: 5, 5: 7}
_WIDTH = 8


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks; other seeds also have fewer rows than ranks."""
    random, made = rng(seed, "02.1"), []
    for ranks in WORLDS:
        rows = _ROWS[ranks]
        if seed:  # a remainder of 2 or more tells the ways to cut apart
            rest = int(random.integers(2, ranks)) if ranks > 2 else 1
            rows = ranks * int(random.integers(0, 4)) + rest
        width = int(random.integers(1, 12)) if seed else _WIDTH
        batch = random.standard_normal((rows, width)).astype(np.float32)
        args = tuple((batch if r == 0 else None, rows, width) for r in range(ranks))
        name = f"On {count(ranks, 'rank')} with {count(rows, 'row')}"
        made.append(Case(name, args, ranks, {"bandwidth": 1e6}, {"batch": batch, "rows": rows}))
    return made


def bounds(rows: int, ranks: int) -> list[tuple[int, int]]:
    """First and last row (exclusive) of each rank."""
    return [(r * rows // ranks, (r + 1) * rows // ranks) for r in range(ranks)]


def _sizes(seen: Observation) -> list[int | None]:
    return [len(v) if is_array(v) and v.ndim else None for v in seen.values]


def _needed(case: Case) -> int:
    batch = case.facts["batch"]
    return int(batch.nbytes - batch[: bounds(case.facts["rows"], case.ranks)[0][1]].nbytes)


def claim(case: Case, seen: Observation) -> str | None:
    """Every rank has its slice; rank 0 sent the others' rows once, the others sent nothing."""
    for rank, (low, high) in enumerate(bounds(case.facts["rows"], case.ranks)):
        want, got = case.facts["batch"][low:high], seen.values[rank]
        if not close(got, want, 0.0):
            wanted = f"{count(high - low, 'row')}, from row {low} on"
            return f"{case.name}, rank {rank} returned {describe(got)}; it should get {wanted}."
    needed, sent = _needed(case), sum(seen.bytes)
    if sent != needed:
        return (
            f"The slices are right, but {sent} B were sent where {needed} B are enough: "
            "rank 0 sends each rank its slice, and nobody else sends."
        )
    return None


def _remainder(case: Case, seen: Observation) -> str | None:
    rows, n = case.facts["rows"], case.ranks
    if rows % n == 0 or _sizes(seen) != [rows // n] * n:
        return None
    low, high = bounds(rows, n)[-1]
    lost = range(n * (rows // n), rows)
    reached = "Row" if len(lost) == 1 else "Rows"
    return (
        f"{case.name}, rank {n - 1} got {count(rows // n, 'row')}; it should get {high - low}. "
        f"{reached} {listing(lost)} reached nobody: `rows // N` loses the remainder."
    )


def _last_takes_rest(case: Case, seen: Observation) -> str | None:
    rows, n, sizes = case.facts["rows"], case.ranks, _sizes(seen)
    if rows % n < 1 or sizes != [rows // n] * (n - 1) + [rows // n + rows % n]:
        return None
    low, high = bounds(rows, n)[-1]
    return (
        f"{case.name}, rank {n - 1} got {count(sizes[-1] or 0, 'row')}; it should get "
        f"{high - low}. The last rank takes the whole remainder: start rank r at ⌊r·B/N⌋ "
        "instead, so that the slices differ by one row at most."
    )


def _first_take_more(case: Case, seen: Observation) -> str | None:
    rows, n, sizes = case.facts["rows"], case.ranks, _sizes(seen)
    wanted = [high - low for low, high in bounds(rows, n)]
    if None in sizes or sizes == wanted or sum(s or 0 for s in sizes) != rows:
        return None
    if (sizes[0] or 0) <= wanted[0]:
        return None
    return (
        f"{case.name}, rank 0 got {count(sizes[0] or 0, 'row')}; it should get {wanted[0]}. "
        "The first ranks take the extra rows, as `torch.chunk` and `torch.tensor_split` cut. "
        "Here rank r starts at row ⌊r·B/N⌋."
    )


def _whole_batch(case: Case, seen: Observation) -> str | None:
    whole, needed = (case.ranks - 1) * case.facts["batch"].nbytes, _needed(case)
    if not seen.bytes or seen.bytes[0] != whole or whole == needed:
        return None
    cuts = bounds(case.facts["rows"], case.ranks)
    right = _sizes(seen) == [high - low for low, high in cuts]
    return (
        f"{'The slices are right, but' if right else case.name + ','} rank 0 sent "
        f"{times(whole, needed)} the bytes it had to "
        f"({whole} B instead of {needed} B): send each rank only its slice."
    )


def _nothing_kept(case: Case, seen: Observation) -> str | None:
    if not seen.values or (seen.values[0] is not None and seen.values[0] != []):
        return None
    return (
        f"{case.name}, rank 0 returned None: rank 0 has a slice too. It sends that to nobody, "
        "and returns it."
    )


def _kept_everything(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not close(seen.values[0], case.facts["batch"], 0.0):
        return None
    return f"{case.name}, rank 0 returned the whole batch; it should return its own slice."


def _wrong_source(case: Case, seen: Observation) -> str | None:
    for rank, words in sorted(seen.waiting.items()):
        if "receive" in words and not words.endswith("rank 0"):
            return (
                f"{case.name}, rank {rank} {words}. Only rank 0 has the batch: "
                "every other rank receives from rank 0."
            )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return f"Passed on {worlds(cases)}; rank 0 sent exactly what it had to."


def reference(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """The course's own."""

    def part(rank: int) -> slice:
        return slice(rank * rows // comm.size, (rank + 1) * rows // comm.size)

    if comm.rank != 0:
        return comm.recv(0)
    for rank in range(1, comm.size):
        comm.send(batch[part(rank)], rank)
    return batch[part(0)]


def loses_remainder(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """Cuts with `rows // N`."""
    each = rows // comm.size
    if comm.rank != 0:
        return comm.recv(0)
    for rank in range(1, comm.size):
        comm.send(batch[rank * each : (rank + 1) * each], rank)
    return batch[:each]


def rest_to_last(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """Cuts with `rows // N` and leaves the rest to the last rank."""
    each = rows // comm.size
    if comm.rank != 0:
        return comm.recv(0)
    for rank in range(1, comm.size):
        high = rows if rank == comm.size - 1 else (rank + 1) * each
        comm.send(batch[rank * each : high], rank)
    return batch[: each if comm.size > 1 else rows]


def tensor_split(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """Cuts with `torch.tensor_split`, which gives the extra rows to the first ranks."""
    if comm.rank != 0:
        return comm.recv(0)
    parts = batch.tensor_split(comm.size)
    for rank in range(1, comm.size):
        comm.send(parts[rank], rank)
    return parts[0]


def whole_batch(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """Sends the whole batch to everyone, then slices."""
    if comm.rank == 0:
        for rank in range(1, comm.size):
            comm.send(batch, rank)
    else:
        batch = comm.recv(0)
    return batch[comm.rank * rows // comm.size : (comm.rank + 1) * rows // comm.size]


def to_itself(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """Rank 0 also sends to itself."""
    if comm.rank == 0:
        for rank in range(comm.size):
            low, high = rank * rows // comm.size, (rank + 1) * rows // comm.size
            comm.send(batch[low:high], rank)
    return comm.recv(0)


def from_the_left(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """Receives from the neighbour on the left, which never sends: a deadlock."""
    if comm.rank != 0:
        return comm.recv(comm.rank - 1)
    for rank in range(1, comm.size):
        comm.send(batch[rank * rows // comm.size : (rank + 1) * rows // comm.size], rank)
    return batch[: rows // comm.size]


def keeps_nothing(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """Rank 0 forgets its own slice."""
    if comm.rank != 0:
        return comm.recv(0)
    for rank in range(1, comm.size):
        comm.send(batch[rank * rows // comm.size : (rank + 1) * rows // comm.size], rank)
    return None


EXERCISE = Exercise(
    number="02.1",
    title="Scatter",
    stars=1,
    minutes=8,
    points=2,
    function="scatter",
    asks=(
        "rank r of N returns rows ⌊r·B/N⌋ to ⌊(r+1)·B/N⌋ of rank 0's batch, and rank 0 sends "
        "every other rank its slice, once."
    ),
    cases=cases,
    drive=on_ranks,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("loses the remainder", _remainder),
        Mistake("leaves the remainder to the last rank", _last_takes_rest),
        Mistake("gives the extra rows to the first ranks", _first_take_more),
        Mistake("rank 0 keeps nothing", _nothing_kept),
        Mistake("rank 0 returns the whole batch", _kept_everything),
        Mistake("sends the whole batch to everyone", _whole_batch),
        Mistake("receives from a rank that does not send", _wrong_source, unfinished=True),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("cuts with rows // N", loses_remainder, "Rows 3 and 4 reached nobody"),
        WrongAnswer("leaves the rest to the last", rest_to_last, "takes the whole remainder"),
        WrongAnswer("cuts with tensor_split", tensor_split, "The first ranks take the extra rows"),
        WrongAnswer("sends the whole batch", whole_batch, "320 B instead of 128 B"),
        WrongAnswer("sends to itself", to_itself, "Rank 0 waits for a message from rank 0"),
        WrongAnswer("receives from the left", from_the_left, "rank 2 waits to receive from rank 1"),
        WrongAnswer("rank 0 keeps nothing", keeps_nothing, "rank 0 has a slice too"),
    ),
    figure=0,
)
