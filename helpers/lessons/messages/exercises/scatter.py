"""Exercise 02.1, scatter: every rank gets its own slice of rank 0's batch.

The claim: the slices; rank 0 sends no byte and no message too many, and waits for each.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.checks.common import WORLDS, self_hint
from helpers.checks.compare import close, count, describe, is_array, listing, times
from helpers.checks.drives.arguments import left_alone
from helpers.checks.drives.requests import not_waited, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks, at last with fewer rows than ranks; else other rows."""
    random, made = rng(seed, "02.1"), []
    for ranks, rows in [*zip(WORLDS, (5, 4, 4, 7), strict=True), (5, 3)]:
        width = 8
        if seed and rows != 3:  # a remainder of 2 or more tells the ways to cut apart
            rest = int(random.integers(2, ranks)) if ranks > 2 else 1
            rows = ranks * int(random.integers(0, 4)) + rest
            width = int(random.integers(1, 12))
        batch = random.standard_normal((rows, width)).astype(np.float32)
        args = tuple((batch if r == 0 else None, rows, width) for r in range(ranks))
        name = f"On {count(ranks, 'rank')} with {count(rows, 'row')}"
        made.append(Case(name, args, ranks, {"bandwidth": 1e6}, {"batch": batch}))
    return made


def bounds(case: Case) -> list[tuple[int, int]]:
    """First and last row (exclusive) of each rank."""
    rows, n = len(case.facts["batch"]), case.ranks
    return [(r * rows // n, (r + 1) * rows // n) for r in range(n)]


def _values(case: Case, seen: Observation) -> list[Any]:
    """What the ranks returned."""
    return [returned(value) for value in seen.values]


def _needed(case: Case) -> int:
    """Bytes of all slices but rank 0's."""
    return int(case.facts["batch"][bounds(case)[0][1] :].nbytes)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every rank has its slice; rank 0 sent the others' rows once, the others sent nothing."""
    batch = case.facts["batch"]
    for rank, (low, high) in enumerate(bounds(case)):
        got, want = returned(seen.values[rank]), batch[low:high]
        wanted = f"{count(high - low, 'row')}, from row {low} on"
        if is_array(got, want.shape) and not close(got, want, 0.0):
            yield f"rank {rank} returned other numbers than those of its {wanted}."
        if not close(got, want, 0.0):
            yield f"rank {rank} returned {describe(got)}; it should get {wanted}."
        elif got.dtype != batch.dtype:
            yield f"rank {rank}'s rows are {got.dtype}; the batch's are {batch.dtype}."
    needed, sent = _needed(case), sum(seen.bytes)
    if sent != needed:
        yield (
            f"The slices are right, but {sent} B were sent where {needed} B are enough: rank 0 "
            "sends each rank its slice, and nobody else sends."
        )
    yield from more_messages(case, seen)
    yield not_waited(case, seen)


def more_messages(case: Case, seen: Observation) -> Iterator[str]:
    """More than one message to a rank, or any from another rank than 0."""
    if any(seen.messages[1:]) or len(set(seen.sent[0])) < len(seen.sent[0]):
        yield (
            f"{count(sum(seen.messages), 'message')} were sent where {case.ranks - 1} are enough: "
            "each pays the link's latency, however short it is. A slice goes in one."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how the rows were cut, and what rank 0 sent."""
    rows, n = len(case.facts["batch"]), case.ranks
    sizes = [len(v) if is_array(v) and v.ndim else 0 for v in _values(case, seen)]
    wanted = [high - low for low, high in bounds(case)]
    first = {"first_got": count(sizes[0], "row"), "first_wanted": wanted[0]}
    last = {"last": n - 1, "last_got": count(sizes[-1], "row"), "last_wanted": wanted[-1]}
    rest = range(n * (rows // n), rows)
    lost = f"{'Row' if len(rest) == 1 else 'Rows'} {listing(rest)}"
    sent, needed = seen.bytes[0], _needed(case)
    more = {"sent": sent, "needed": needed, "times": times(sent, needed) if needed else ""}
    return {**first, **last, **more, "lost": lost}


def _wrong_source(case: Case, seen: Observation) -> Iterator[str]:
    for rank, words in sorted(seen.waiting.items()):
        if "receive" in words and not words.endswith("rank 0"):
            yield f"rank {rank} {words}. Only rank 0 has the batch: receive from it."


def reference(comm: Any, batch: Any, rows: int, width: int) -> Any:
    """The course's own."""
    cuts = [r * rows // comm.size for r in range(comm.size + 1)]
    if comm.rank != 0:
        return comm.recv(0)
    for rank in range(1, comm.size):
        comm.send(batch[cuts[rank] : cuts[rank + 1]], rank)
    return batch[: cuts[1]]


WRONG = """
loses the remainder
    | r * rows // comm.size => r * (rows // comm.size)
    rank {last} got {last_got}; it should get {last_wanted}. {lost} reached nobody: `rows // N`
    loses the remainder.
leaves the remainder to the last rank
    | r * rows // comm.size for r in range(comm.size + 1)]
        => r * (rows // comm.size) for r in range(comm.size)] + [rows]
    rank {last} got {last_got}; it should get {last_wanted}. The last rank takes the whole
    remainder: start rank r at ⌊r·B/N⌋ instead, and slices differ by a row at most.
every N-th row
    | batch[cuts[rank] : cuts[rank + 1]] => batch[rank :: comm.size].contiguous()
    | batch[: cuts[1]] => batch[:: comm.size]
    each rank got every N-th row: here a slice is rows that follow each other, from ⌊r·B/N⌋ on.
gives the extra rows to the first ranks
    | r * rows // comm.size => r * (rows // comm.size) + min(r, rows % comm.size)
    rank 0 got {first_got}; it should get {first_wanted}. The first ranks take the extra rows, as
    `torch.chunk` and `tensor_split` cut. Here rank r starts at row ⌊r·B/N⌋.
rounds to the nearest row
    | r * rows // comm.size => round(r * rows / comm.size)
    the cuts are at r·B/N rounded to the nearest row: round down, `r * rows // N`.
sends the whole batch to everyone
    | return comm.recv(0) => return comm.recv(0)[cuts[comm.rank] : cuts[comm.rank + 1]]
    | comm.send(batch[cuts[rank] : cuts[rank + 1]], => comm.send(batch,
    The slices are right, but rank 0 sent {times} the bytes it had to ({sent} B instead of {needed}
    B): send each rank only its slice.
rank 0 keeps nothing
    | return batch[: cuts[1]] => return None
    rank 0 returned None: it has a slice too, which it sends to nobody, and returns.
rank 0 returns the whole batch
    | return batch[: cuts[1]] => return batch
    rank 0 returned the whole batch; it should return its own slice.
row by row
    | return comm.recv(0) => import torch; mine = range(cuts[comm.rank], cuts[comm.rank + 1]);
        return torch.stack([comm.recv(0) for _ in mine] or [torch.empty(0)])
    | comm.send(batch[cuts[rank] : cuts[rank + 1]], rank)
        => [comm.send(row, rank) for row in batch[cuts[rank] : cuts[rank + 1]]]
    ! more_messages
never waits
    | comm.send( => comm.isend(
    ? returned without waiting for
sends to itself
    | range(1, comm.size) => range(comm.size)
    ? Rank 0 waits for a message from rank 0
receives from the left
    | comm.recv(0) => comm.recv(comm.rank - 1)
    ? 2 waits to receive from rank 1
"""

EXERCISE = Exercise(
    number="02.1",
    title="Scatter",
    size=Size(stars=1, minutes=8, points=2),
    function="scatter",
    asks=(
        "rank r of N returns rows ⌊r·B/N⌋ to ⌊(r+1)·B/N⌋ of rank 0's batch, and rank 0 sends every "
        "other rank its slice, once."
    ),
    cases=cases,
    drive=left_alone,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("receives from a rank that does not send", _wrong_source, unfinished=True),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    compared=_values,
    praise="Passed on {worlds}; rank 0 sent exactly what it had to.",
    reference=reference,
    wrong=wrong_answers("02.1", WRONG, reference, more_messages),
    figure=0,
)
