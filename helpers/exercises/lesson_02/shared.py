"""Exercise 02.5, all-reduce in shared memory.

`all_reduce_shared(comm, buffers) -> None`: buffers are one a rank, as `comm.shared` gives them;
this rank has just filled its own, others may be late. Afterwards every buffer holds the sum. The
claim: no message, each rank sums only its slice (⌊r·n/N⌋ to ⌊(r+1)·n/N⌋), and no rank reads what
is not written yet: the ranks come at different times, so that a missing barrier shows itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, listing, worlds
from helpers.exercises.drives_shared import on_buffers
from helpers.exercises.lesson_02 import shared_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_MOST_WORK = 4  # tensors' worth of elements on many ranks; split, it is 2; alone, N and more


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2, 5 and 8 ranks, each later than the one before; else in any order."""
    random, made = rng(seed, "02.5"), []
    shapes = [(3, 10), (1, 4), (2, 8), (5, 23), (8, 64)]
    if seed:
        shapes = [
            (n, n * int(random.integers(2, 9)) + int(random.integers(1, n + 1)))
            for n in (1, 2, 3, 5, 8)
        ]
    for ranks, length in shapes:
        held = random.integers(1, 50, (ranks, length)).astype(np.float32)
        late = [1e-3 * r for r in (random.permutation(ranks) if seed else range(ranks))]
        name = f"On {count(ranks, 'rank')} with {count(length, 'element')}"
        args = tuple((held[r], float(late[r])) for r in range(ranks))
        made.append(Case(name, args, ranks, facts={"held": held, "late": late}))
    return made


def _after(seen: Observation) -> list[Any]:
    return [v["after"] for v in seen.values]


def _sum(case: Case) -> np.ndarray:
    total: np.ndarray = case.facts["held"].sum(axis=0)
    return total


def claim(case: Case, seen: Observation) -> str | None:
    """The sum in every buffer when its rank returns, the work split, nothing sent."""
    for rank, got in enumerate(_after(seen)):
        if not close(got, _sum(case), 1e-6):
            return f"{case.name}, rank {rank}'s buffer does not hold the sum when it returns."
    if sum(seen.messages):
        return f"{case.name}, {sum(seen.messages)} messages were sent; shared memory needs none."
    return _too_much(case, seen) or _everything_at_once(case, seen)


def _too_much(case: Case, seen: Observation) -> str | None:
    """Whole buffers where slices are enough, by what the ranks' functions write."""
    if case.ranks < 8 or not all(close(after, _sum(case), 1e-6) for after in _after(seen)):
        return None
    length = case.facts["held"].shape[1]
    worked = [(v["worked"] or 0) / length for v in seen.values]
    busiest = int(np.argmax(worked))
    if worked[busiest] <= _MOST_WORK:
        return None
    if min(worked) == 0:
        return (
            f"{case.name}, the sum is right, but rank {busiest} made it alone while others waited: "
            "each rank sums its own slice, so that all of them work at a time."
        )
    return (
        f"{case.name}, the sum is right, but rank {busiest} worked through {worked[busiest]:.2g} "
        "tensors' worth of elements: whole buffers are added, or copied, on every rank. Let each "
        "rank cut its slice of every buffer first, sum those alone and write the sum to every "
        "buffer, which takes 2."
    )


def _everything_at_once(case: Case, seen: Observation) -> str | None:
    """The same by who wrote where, as the grader sees it, who does not know what was worked.

    A rank's first turn fills its buffer. In the next one it can write sums of its own slice alone,
    or of half the tensor on the way there; who has all of them has made them all.
    """
    length = case.facts["held"].shape[1]
    for rank, turns in enumerate(seen.writes if case.ranks >= 8 else []):
        if len({i % length for i in (turns[1:] or [[]])[0]}) > 0.75 * length:
            return (
                f"{case.name}, rank {rank} writes the whole sum at once: all the additions are "
                "done on every rank."
            )
    return None


def compared(case: Case, seen: Observation) -> Any:
    """The buffers when their ranks return."""
    return _after(seen)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """Who came first and what it lacks, what was left out, who read what was no longer there."""
    total, held, after = _sum(case), case.facts["held"], _after(seen)
    ranks = range(case.ranks)
    early, rest = int(np.argmin(case.facts["late"])), len(total) % case.ranks
    others = [rank for rank in ranks if rank != early]
    pairs = [(reader, writer) for reader in ranks for writer in ranks if reader != writer]
    sums = [(r, w) for r, w in pairs if close(after[r], 2 * total - held[w], 1e-6)]
    return {
        "early": early,
        "others": f"{'rank' if len(others) == 1 else 'ranks'} {listing(others)}",
        "open": count(int(np.sum(after[early] != total)), "element"),
        "rest": "element was" if rest == 1 else f"{rest} elements were",
        "cleared": next((rank for rank in ranks if (after[rank] == 0).any()), early),
        "reader": sums[0][0] if sums else early,
        "writer": sums[0][1] if sums else early,
    }


def _not_everybody(case: Case, seen: Observation) -> str | None:
    waiting = [r for r, words in seen.waiting.items() if "barrier" in words]
    gone = sorted(set(range(case.ranks)) - set(waiting))
    if not waiting or not gone:
        return None
    return (
        f"{case.name}, {'rank' if len(waiting) == 1 else 'ranks'} {listing(waiting)} "
        f"{'waits' if len(waiting) == 1 else 'wait'} at a barrier to which "
        f"{'rank' if len(gone) == 1 else 'ranks'} {listing(gone)} never "
        f"{'comes' if len(gone) == 1 else 'come'}: every rank comes to every barrier."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}, whoever comes late; no message was sent, and each rank did "
        "its own share of the additions."
    )


def reference(comm: Any, buffers: Any) -> None:
    """The course's own."""
    from helpers.algorithms.messages.collectives import all_reduce_shared

    all_reduce_shared(comm, buffers)


EXERCISE = Exercise(
    number="02.5",
    title="All-reduce in shared memory",
    stars=3,
    minutes=20,
    points=4,
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
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "reads when others have returned",
            wrong.gathers_late,
            "rank {cleared} still read buffers whose ranks had returned, and which were cleared "
            "for the next sum: nobody may return before all have read. Wait at a barrier.",
        ),
        WrongAnswer(
            "loses the remainder",
            wrong.loses_rest,
            "the last {rest} never summed: slices of `length // N` lose the remainder. Cut at "
            "⌊r·n/N⌋.",
        ),
        WrongAnswer(
            "writes to its own buffer alone",
            wrong.own_buffer_only,
            "each buffer holds the sum in its own rank's slice alone: write your slice of the sum "
            "to every rank's buffer, not only to your own.",
        ),
        WrongAnswer(
            "leaves its own buffer out",
            wrong.all_but_own,
            "each rank's slice of the sum is in all buffers but its own: a `clone()` is no view, "
            "so write the sum to your own buffer as well.",
        ),
        WrongAnswer(
            "no barrier after writing",
            wrong.no_last_barrier,
            "rank {early} returned while {open} of its buffer were not summed yet: other ranks had "
            "still to write there. After writing, wait until all have written: `comm.barrier()`.",
        ),
        WrongAnswer(
            "no barrier before reading",
            wrong.no_first_barrier,
            "the sum that rank {early} made lacks what {others} had to add: it read buffers that "
            "were not filled yet. Before the first read every rank must have come: "
            "`comm.barrier()`.",
        ),
        WrongAnswer(
            "overwrites what others still read",
            wrong.everything_in_place,
            "rank {reader} added rank {writer}'s buffer after rank {writer} had written the sum "
            "into it. Write nothing that somebody may still read: each rank reads and writes only "
            "its slice, in all buffers.",
        ),
        WrongAnswer(
            "adds its own slice to itself",
            wrong.adds_a_view,
            "`total` is your own slice itself and no copy, and the loop over all buffers adds it "
            "to itself: leave your own buffer out of it.",
        ),
        WrongAnswer(
            "counts itself twice",
            wrong.itself_twice,
            "every rank counts its own buffer twice: it is among `buffers` already.",
        ),
        WrongAnswer("one barrier too few", wrong.only_rank_0_waits, hint="never come"),
        WrongAnswer("all aside", wrong.everything_aside, hint="on every rank"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, hint="made it alone"),
    ),
    figure=0,
    unseen={"worked": "how many elements a rank works through"},
)
