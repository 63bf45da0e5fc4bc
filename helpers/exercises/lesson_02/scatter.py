"""Exercise 02.1, scatter: every rank gets its own slice of rank 0's batch.

`scatter(comm, batch, rows, width) -> slice`: batch is (rows, width) on rank 0 and None elsewhere;
rank r of N gets rows ⌊r·rows/N⌋ to ⌊(r+1)·rows/N⌋. The claim: rank 0 sends no byte too many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how the rows were cut, and what rank 0 sent."""
    rows, n, sizes = case.facts["rows"], case.ranks, _sizes(seen)
    wanted = [high - low for low, high in bounds(rows, n)]
    lost = range(n * (rows // n), rows)
    sent, needed = seen.bytes[0], _needed(case)
    return {
        "last": n - 1,
        "last_got": count(sizes[-1] or 0, "row"),
        "last_wanted": wanted[-1],
        "first_got": count(sizes[0] or 0, "row"),
        "first_wanted": wanted[0],
        "lost": f"{'Row' if len(lost) == 1 else 'Rows'} {listing(lost)}",
        "times": times(sent, needed) if needed else "",
        "sent": sent,
        "needed": needed,
    }


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


def cut_at(bounds_of: Callable[[int, int, int], tuple[int, int]]) -> Callable[..., Any]:
    """The reference with other cuts. bounds_of: of a rank, the ranks and the rows."""

    def scatter(comm: Any, batch: Any, rows: int, width: int) -> Any:
        if comm.rank != 0:
            return comm.recv(0)
        for rank in range(1, comm.size):
            comm.send(batch[slice(*bounds_of(rank, comm.size, rows))], rank)
        return batch[slice(*bounds_of(0, comm.size, rows))]

    return scatter


loses_remainder = cut_at(lambda r, n, rows: (r * (rows // n), (r + 1) * (rows // n)))
rest_to_last = cut_at(
    lambda r, n, rows: (r * (rows // n), rows if r == n - 1 else (r + 1) * (rows // n))
)
tensor_split = cut_at(
    lambda r, n, rows: (
        r * (rows // n) + min(r, rows % n),
        (r + 1) * (rows // n) + min(r + 1, rows % n),
    )
)


def _whole_batch(comm: Any, batch: Any, rows: int, width: int) -> Any:
    if comm.rank == 0:
        for rank in range(1, comm.size):
            comm.send(batch, rank)
    else:
        batch = comm.recv(0)
    return batch[comm.rank * rows // comm.size : (comm.rank + 1) * rows // comm.size]


def _to_itself(comm: Any, batch: Any, rows: int, width: int) -> Any:
    if comm.rank == 0:
        for rank in range(comm.size):
            low, high = rank * rows // comm.size, (rank + 1) * rows // comm.size
            comm.send(batch[low:high], rank)
    return comm.recv(0)


def _from_the_left(comm: Any, batch: Any, rows: int, width: int) -> Any:
    if comm.rank != 0:
        return comm.recv(comm.rank - 1)
    return reference(comm, batch, rows, width)


def _keeps_nothing(comm: Any, batch: Any, rows: int, width: int) -> Any:
    part = reference(comm, batch, rows, width)
    return part if comm.rank else None


def _keeps_everything(comm: Any, batch: Any, rows: int, width: int) -> Any:
    part = reference(comm, batch, rows, width)
    return part if comm.rank else batch


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
        Mistake("receives from a rank that does not send", _wrong_source, unfinished=True),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "loses the remainder",
            loses_remainder,
            "rank {last} got {last_got}; it should get {last_wanted}. {lost} reached nobody: "
            "`rows // N` loses the remainder.",
        ),
        WrongAnswer(
            "leaves the remainder to the last rank",
            rest_to_last,
            "rank {last} got {last_got}; it should get {last_wanted}. The last rank takes the "
            "whole remainder: start rank r at ⌊r·B/N⌋ instead, so that the slices differ by one "
            "row at most.",
        ),
        WrongAnswer(
            "gives the extra rows to the first ranks",
            tensor_split,
            "rank 0 got {first_got}; it should get {first_wanted}. The first ranks take the extra "
            "rows, as `torch.chunk` and `torch.tensor_split` cut. Here rank r starts at row "
            "⌊r·B/N⌋.",
        ),
        WrongAnswer(
            "sends the whole batch to everyone",
            _whole_batch,
            "The slices are right, but rank 0 sent {times} the bytes it had to ({sent} B instead "
            "of {needed} B): send each rank only its slice.",
        ),
        WrongAnswer(
            "rank 0 keeps nothing",
            _keeps_nothing,
            "rank 0 returned None: rank 0 has a slice too. It sends that to nobody, and returns "
            "it.",
        ),
        WrongAnswer(
            "rank 0 returns the whole batch",
            _keeps_everything,
            "rank 0 returned the whole batch; it should return its own slice.",
        ),
        WrongAnswer("sends to itself", _to_itself, hint="Rank 0 waits for a message from rank 0"),
        WrongAnswer(
            "receives from the left", _from_the_left, hint="rank 2 waits to receive from rank 1"
        ),
    ),
    figure=0,
)
