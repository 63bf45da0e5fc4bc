"""Exercise 02.5, all-reduce in shared memory.

This rank has just filled its buffer, others may be late. The claim: no message, each rank sums its
share alone (⌊r·n/N⌋ to ⌊(r+1)·n/N⌋, or as many others), and no rank reads what is not written yet:
ranks come at different times, and wait for each other at barriers, at three of them at most. The
driver, which sees who works on what, makes this file long.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.checks.common import after
from helpers.checks.compare import close, count, listing, rounded
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.engine.deadlock import rank_words
from helpers.lessons.messages.algorithms.collectives import all_reduce_shared, chunk_bounds

_LATENCY = 50e-6


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2, 5 and 8 ranks, each later than the one before; else in any order. At last
    no elements, and fewer than ranks, in float64, with numbers that float32 rounds."""
    random, made = rng(seed, "02.5"), []
    shapes = [(3, 10), (1, 4), (2, 8), (5, 23), (8, 64)]
    if seed:
        shapes = [
            (n, n * int(random.integers(2, 9)) + (1 if n > 4 else int(random.integers(1, n + 1))))
            for n in (3, 1, 2, 5, 8)
        ]
    for ranks, length in [*shapes, (2, 0), (5, 3)]:
        held = random.integers(1, 50, (ranks, length)).astype(np.float32)
        late = [1e-3 * r for r in (random.permutation(ranks) if seed else range(ranks))]
        name = f"On {count(ranks, 'rank')} with {count(length, 'element')}"
        if length == 3:
            held = random.integers(1, 2**40, (ranks, length)).astype(np.float64)
            name += " of float64"
        args = tuple((held[r], float(late[r])) for r in range(ranks))
        facts = {"sum": held.sum(axis=0), "late": late}
        made.append(Case(name, args, ranks, {"latency": _LATENCY}, facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The sum in every buffer when its rank returns, the work split, nothing sent."""
    for rank, got in enumerate(after(seen)):
        if not close(got, case.facts["sum"], 1e-12):
            why = rounded([got], [case.facts["sum"]])
            yield f"rank {rank}'s buffer does not hold the sum when it returns{why}."
    if sum(seen.messages):
        yield f"{sum(seen.messages)} messages were sent; shared memory needs none."
    for look in (_waits, _too_much, _shares):
        yield from look(case, seen)


def _right(case: Case, seen: Observation) -> bool:
    return all(close(got, case.facts["sum"], 1e-6) for got in after(seen))


def _waits(case: Case, seen: Observation) -> Iterator[str]:
    """How ranks wait for each other, by their clocks, which nothing but that moves on."""
    late, rounds = case.facts["late"], (case.ranks - 1).bit_length()
    for rank in range(case.ranks if _right(case, seen) else 0):
        spent = sum(e.end - e.start for e in seen.events if (e.rank, e.kind) == (rank, "computing"))
        if spent > late[rank] + 1e-9:
            yield (
                f"rank {rank} lets {spent - late[rank]:.3g} s go by. However long it is, another "
                "rank may come later: only a barrier knows when all are there."
            )
    took = (max(seen.seconds) - max(late)) / (rounds * _LATENCY or 1)
    if took > 3.5 and _right(case, seen):  # three barriers
        yield (
            f"the ranks meet at {took:.0f} barriers, and each costs all of them a wait. Two are "
            "enough, before the first read and before the return."
        )


def _shares(case: Case, seen: Observation) -> Iterator[str]:
    """Ranks that sum more than others, or all more than a share, by where each writes first."""
    sums = [len(v["places"]) for v in seen.values]
    most, least = int(np.argmax(sums)), int(np.argmin(sums))
    length = len(case.facts["sum"])  # a rank without a share may first write something else
    everything = case.ranks >= 8 and sums[least] > 0.75 * length
    uneven = length >= case.ranks and sums[most] - sums[least] > 1
    if (everything or uneven) and _right(case, seen):
        who = f"rank {most} makes {sums[most]} of its elements, and rank {least} makes "
        who = "every rank makes all of it" if everything else who + str(sums[least] or "none")
        yield (
            f"the sum is right, but {who}. Cut at ⌊r·n/N⌋, so that shares differ by one at most: "
            "all wait for the rank with the largest."
        )


def _too_much(case: Case, seen: Observation) -> Iterator[str]:
    """Whole buffers where slices are enough, by what the ranks' functions write."""
    worked = [(v["worked"] or 0) / (len(case.facts["sum"]) or 1) for v in seen.values]
    most = max(worked)  # split, it is 2; alone, N and more
    if case.ranks >= 8 and most > 4 and _right(case, seen):
        yield (
            f"the sum is right, but rank {worked.index(most)} worked through {most:.2g} tensors' "
            "worth of elements, as every rank does. Let each rank cut its slice of every buffer "
            "first, sum those alone and write the sum to every buffer, which takes 2."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """Who came first and what it lacks, and who read what was no longer there."""
    ends, early = after(seen), int(np.argmin(case.facts["late"]))
    others = [rank for rank in range(case.ranks) if rank != early]
    return {
        "early": early,
        "others": f"{'rank' if len(others) == 1 else 'ranks'} {listing(others)}",
        "open": count(int(np.sum(ends[early] != case.facts["sum"])), "element"),
        "cleared": next((rank for rank, end in enumerate(ends) if (end == 0).any()), early),
    }


def _not_everybody(case: Case, seen: Observation) -> Iterator[str]:
    waiting = [r for r, words in seen.waiting.items() if "barrier" in words]
    gone = sorted(set(range(case.ranks)) - set(waiting))
    if waiting and gone:
        yield (
            f"{rank_words(waiting)} at a barrier will never see {rank_words(gone)} come: every "
            "rank comes to every barrier."
        )


class Counter(TorchFunctionMode):
    """Counts the elements that this thread's torch functions write; views write none."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is Tensor.__setitem__:
            self.elements += args[0][args[1]].numel()
        name = getattr(func, "__name__", "")
        # In place, what comes out is an argument, and it was written; any other such one is a view.
        in_place = name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))
        held = {a.untyped_storage().data_ptr() for a in args if isinstance(a, Tensor)}
        for out in result if isinstance(result, list | tuple) else [result]:
            if isinstance(out, Tensor):
                written = in_place or out.untyped_storage().data_ptr() not in held
                self.elements += out.numel() if written else 0
        return result


class First:
    """Where a rank wrote first: on the virtual clock no other moves between two barriers."""

    def __init__(self, comm: Any, buffers: list[Tensor]) -> None:
        self.buffers, self.barrier, self.places = buffers, comm.barrier, list[int]()
        self.before = self._now()
        comm.barrier = self._meet

    def _now(self) -> np.ndarray:
        return np.stack([buffer.numpy() for buffer in self.buffers])

    def look(self) -> list[int]:
        """The places, in any buffer."""
        changed = (self._now() != self.before).any(axis=0)
        self.places = self.places or np.flatnonzero(changed).tolist()
        return self.places

    def _meet(self) -> None:
        self.look()
        self.barrier()
        self.before = self._now()


def _on_buffers(fn: Function, comm: Any, held: Tensor, late: float) -> Any:
    """Call `fn(comm, buffers)`; this rank's buffer holds its case's array just before.

    The case's second argument says how many seconds this rank is late. `values[rank]` is
    `{"after": its buffer when the function returns, "places": where it wrote first, "worked": how
    much}`. The buffer is cleared then: who still reads it finds zeros.
    """
    buffers = comm.shared(tuple(held.shape), held.dtype)
    comm.compute(late)
    buffers[comm.rank].copy_(held)
    first = First(comm, buffers)
    with Counter() as counter:
        fn(comm, buffers)
    places, end = first.look(), buffers[comm.rank].clone()
    buffers[comm.rank].zero_()  # as whoever fills it for the next sum
    return {"after": end, "places": places, "worked": counter.elements}


on_buffers = Ranked(_on_buffers, arguments=2, clocked=("places",), shares=True)


def without_blocks(comm: Any, buffers: Any) -> None:
    """The course's own with a slice at a time, which is what answers look like."""
    start, stop = chunk_bounds(len(buffers[0]), comm.size)[comm.rank]
    comm.barrier()
    total = sum(buffer[start:stop] for buffer in buffers)
    for buffer in buffers:
        buffer[start:stop] = total
    comm.barrier()


WRONG = """
reads when others have returned
    | for buffer in buffers: buffer[start:stop] = total
        => buffers[comm.rank][start:stop] = total
    | total comm.barrier() => total; comm.barrier(); [buffers[comm.rank][a:b].copy_(other[a:b])
        for other, (a, b) in zip(buffers, chunk_bounds(len(buffers[0]), comm.size), strict=True)]
    rank {cleared} still read buffers whose ranks had returned, and which were cleared for the next
    sum: nobody may return before all have read. Wait at a barrier.
loses the remainder
    | chunk_bounds(len(buffers[0]), => chunk_bounds(len(buffers[0]) // comm.size * comm.size,
    the last elements were not summed: slices of `length // N` lose them. Cut at ⌊r·n/N⌋.
writes to its own buffer alone
    | for buffer in buffers: => for buffer in [buffers[comm.rank]]:
    each buffer holds the sum in its own rank's slice alone: write your slice of the sum to every
    rank's buffer, not only to your own.
leaves its own buffer out
    | for buffer in buffers: => for buffer in buffers[: comm.rank] + buffers[comm.rank + 1 :]:
    each rank's slice of the sum is in all buffers but its own: a `clone()` is no view, so write the
    sum to your own buffer as well.
no barrier after writing
    | = total comm.barrier() => = total
    rank {early} returned while {open} of its buffer were not summed yet: other ranks had still to
    write there. After writing, wait until all have written: `comm.barrier()`.
no barrier before reading
    | comm.barrier() total => total
    the sum that rank {early} made lacks what {others} had to add: it read buffers that were not
    filled yet. Before the first read every rank must have come: `comm.barrier()`.
a barrier behind the reading
    | comm.barrier() total => total
    | in buffers) => in buffers); comm.barrier()
    the sum that rank {early} made lacks what {others} had to add: it read buffers that were not
    filled yet. Before the first read every rank must have come: `comm.barrier()`.
overwrites what others still read
    | chunk_bounds(len(buffers[0]), comm.size)[comm.rank] => 0, len(buffers[0])
    | for buffer in buffers: => for buffer in [buffers[comm.rank]]:
    a buffer was added after its rank had written the sum into it. Write nothing that somebody may
    still read: each rank reads and writes only its slice, in all buffers.
adds its own slice to itself
    | sum(buffer[start:stop] for buffer in buffers) => buffers[comm.rank][start:stop];
        [total.add_(buffer[start:stop]) for buffer in buffers]
    `total` is your own slice itself and no copy, and the loop over all buffers adds it to itself:
    leave your own buffer out of it.
twice
    | total = sum( => total = buffers[comm.rank][start:stop] + sum(
    every rank counts its own buffer twice: it is in `buffers`.
writes into no buffer
    | buffer[start:stop] = total => buffer = total
    every buffer is as it was: `buffers[i] = …` only puts another tensor on the list. Write into the
    one that is there, `buffers[i][low:high] = …`.
a mean
    | = total => = total / comm.size
    every buffer holds the mean; the sum was asked for.
waits for a time
    | comm.barrier() *=> comm.compute(0.01)
    ? only a barrier knows
a barrier a buffer
    | comm.barrier() total => [comm.barrier() for _ in buffers]; comm.barrier(); total
    ? Two are enough
one barrier too few
    | comm.barrier() total => comm.rank or comm.barrier(); total
    | = total comm.barrier() => = total
    ? never see
all aside
    | chunk_bounds(len(buffers[0]), comm.size)[comm.rank] => 0, len(buffers[0])
    | in buffers) => in buffers); comm.barrier()
    | for buffer in buffers: => for buffer in [buffers[comm.rank]]:
    | = total comm.barrier() => = total
    ? as every rank does
rank 0 alone
    | chunk_bounds(len(buffers[0]), comm.size)[comm.rank] => 0, (comm.rank == 0) * len(buffers[0])
    ? rank 1 makes none
slices rounded up
    | start, stop = chunk_bounds(len(buffers[0]), comm.size)[comm.rank]
        => each = -(-len(buffers[0]) // comm.size); start = comm.rank * each; stop = start + each
    ? rank 2 makes 2
"""

EXERCISE = Exercise(
    number="02.5",
    title="All-reduce in shared memory",
    size=Size(stars=3, minutes=20, points=4),
    function="all_reduce_shared",
    asks=(
        "every rank's buffer holds the sum of all buffers; each rank sums its own slice over all "
        "buffers and writes it to all of them, and barriers keep readers and writers apart."
    ),
    cases=cases,
    drive=on_buffers,
    claim=claim,
    mistakes=(
        Mistake("not every rank comes to the barrier", _not_everybody, unfinished=True),
        Mistake("every rank does all the work", _too_much),
        Mistake("unequal shares", _shares),
        Mistake("waits for a time, or too often", _waits),
    ),
    numbers=numbers,
    compared=lambda case, seen: after(seen),
    praise=(
        "Passed on {worlds}, whoever comes late; no message was sent, and each rank did its own "
        "share of the additions."
    ),
    reference=all_reduce_shared,
    wrong=wrong_answers("02.5", WRONG, without_blocks),
    figure=0,
)
