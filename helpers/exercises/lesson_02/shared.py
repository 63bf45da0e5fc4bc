"""Exercise 02.5, all-reduce in shared memory.

This rank has just filled its buffer, others may be late. The claim: no message, each rank sums its
share alone (⌊r·n/N⌋ to ⌊(r+1)·n/N⌋, or as many others), and no rank reads what is not written yet:
ranks come at different times, and wait for each other at barriers, at three of them at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.algorithms.messages.collectives import all_reduce_shared as reference
from helpers.engines.deadlock import rank_words
from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, listing, worlds
from helpers.exercises.drives_shared import on_buffers
from helpers.exercises.lesson_02 import shared_wrong as wrong
from helpers.exercises.lesson_02.broadcast import after
from helpers.exercises.lesson_02.ring import sum_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_MOST_WORK = 4  # tensors' worth of elements on many ranks; split, it is 2; alone, N and more
_MOST_BARRIERS = 3  # two are enough
_LATENCY = 50e-6


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2, 5 and 8 ranks, each later than the one before; else in any order."""
    random, made = rng(seed, "02.5"), []
    shapes = [(3, 10), (1, 4), (2, 8), (5, 23), (8, 64)]
    if seed:
        shapes = [
            (n, n * int(random.integers(2, 9)) + (1 if n > 4 else int(random.integers(1, n + 1))))
            for n in (1, 2, 3, 5, 8)
        ]
    for ranks, length in shapes:
        held = random.integers(1, 50, (ranks, length)).astype(np.float32)
        late = [1e-3 * r for r in (random.permutation(ranks) if seed else range(ranks))]
        name = f"On {count(ranks, 'rank')} with {count(length, 'element')}"
        args = tuple((held[r], float(late[r])) for r in range(ranks))
        made.append(Case(name, args, ranks, {"latency": _LATENCY}, {"held": held, "late": late}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The sum in every buffer when its rank returns, the work split, nothing sent."""
    for rank, got in enumerate(after(seen)):
        if not close(got, sum_of(case), 1e-6):
            return f"{case.name}, rank {rank}'s buffer does not hold the sum when it returns."
    if sum(seen.messages):
        return f"{case.name}, {sum(seen.messages)} messages were sent; shared memory needs none."
    return _waits(case, seen) or _too_much(case, seen) or _shares(case, seen)


def _right(case: Case, seen: Observation) -> bool:
    return all(close(got, sum_of(case), 1e-6) for got in after(seen))


def _waits(case: Case, seen: Observation) -> str | None:
    """How ranks wait for each other, by their clocks, which nothing but that moves on."""
    late, rounds = case.facts["late"], (case.ranks - 1).bit_length()
    for rank in range(case.ranks if _right(case, seen) else 0):
        spent = [e.end - e.start for e in seen.events if (e.rank, e.kind) == (rank, "computing")]
        if sum(spent) > late[rank] + 1e-9:
            return (
                f"{case.name}, rank {rank} lets {sum(spent) - late[rank]:.3g} s go by. However "
                "long it is, another rank may come later: only a barrier knows when all are there."
            )
    took = (max(seen.seconds) - max(late)) / (rounds * _LATENCY or 1)
    if took > _MOST_BARRIERS + 0.5 and _right(case, seen):
        return (
            f"{case.name}, the ranks meet at {took:.0f} barriers, and each costs all of them a "
            "wait. Two are enough, before the first read and before the return."
        )
    return None


def _shares(case: Case, seen: Observation) -> str | None:
    """Ranks that sum more than others, or all more than a share, by where each writes first."""
    sums = [len(v["places"]) for v in seen.values]
    most, least = int(np.argmax(sums)), int(np.argmin(sums))
    everything = case.ranks >= 8 and sums[least] > 0.75 * case.facts["held"].shape[1]
    if not (everything or sums[most] - sums[least] > 1) or not _right(case, seen):
        return None
    who = f"rank {most} makes {sums[most]} of its elements, and rank {least} makes "
    who = "every rank makes all of it" if everything else who + str(sums[least] or "none")
    return (
        f"{case.name}, the sum is right, but {who}. Cut at ⌊r·n/N⌋, so that shares differ by one "
        "at most: all wait for the rank with the largest."
    )


def _too_much(case: Case, seen: Observation) -> str | None:
    """Whole buffers where slices are enough, by what the ranks' functions write."""
    if case.ranks < 8 or not _right(case, seen):
        return None
    length = case.facts["held"].shape[1]
    worked = [(v["worked"] or 0) / length for v in seen.values]
    busiest = int(np.argmax(worked))
    if worked[busiest] <= _MOST_WORK:
        return None
    return (
        f"{case.name}, the sum is right, but rank {busiest} worked through {worked[busiest]:.2g} "
        "tensors' worth of elements, as every rank does. Let each rank cut its slice of every "
        "buffer first, sum those alone and write the sum to every buffer, which takes 2."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """Who came first and what it lacks, and who read what was no longer there."""
    ends, early = after(seen), int(np.argmin(case.facts["late"]))
    others = [rank for rank in range(case.ranks) if rank != early]
    return {
        "early": early,
        "others": f"{'rank' if len(others) == 1 else 'ranks'} {listing(others)}",
        "open": count(int(np.sum(ends[early] != sum_of(case))), "element"),
        "cleared": next((rank for rank, end in enumerate(ends) if (end == 0).any()), early),
    }


def _not_everybody(case: Case, seen: Observation) -> str | None:
    waiting = [r for r, words in seen.waiting.items() if "barrier" in words]
    gone = sorted(set(range(case.ranks)) - set(waiting))
    if not waiting or not gone:
        return None
    return (
        f"{case.name}, {rank_words(waiting)} at a barrier will never see {rank_words(gone)} come: "
        "every rank comes to every barrier."
    )


_NOT_FILLED = (
    "the sum that rank {early} made lacks what {others} had to add: it read buffers that were not "
    "filled yet. Before the first read every rank must have come: `comm.barrier()`."
)

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
        Mistake("unequal shares", _shares),
        Mistake("waits for a time, or too often", _waits),
    ),
    numbers=numbers,
    compared=lambda case, seen: after(seen),
    praise=lambda cases, seen: (
        f"Passed on {worlds(cases)}, whoever comes late; no message was sent, and each rank did "
        "its own share of the additions."
    ),
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
            "the last elements were not summed: slices of `length // N` lose them. Cut at ⌊r·n/N⌋.",
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
        WrongAnswer("no barrier before reading", wrong.no_first_barrier, _NOT_FILLED),
        WrongAnswer("a barrier behind the reading", wrong.barrier_behind_reading, _NOT_FILLED),
        WrongAnswer(
            "overwrites what others still read",
            wrong.everything_in_place,
            "a buffer was added after its rank had written the sum into it. Write nothing that "
            "somebody may still read: each rank reads and writes only its slice, in all buffers.",
        ),
        WrongAnswer(
            "adds its own slice to itself",
            wrong.adds_a_view,
            "`total` is your own slice itself and no copy, and the loop over all buffers adds it "
            "to itself: leave your own buffer out of it.",
        ),
        WrongAnswer(
            "twice",
            wrong.itself_twice,
            "every rank counts its own buffer twice: it is in `buffers`.",
        ),
        WrongAnswer(
            "writes into no buffer",
            wrong.no_buffer,
            "every buffer is as it was: `buffers[i] = …` only puts another tensor on the list. "
            "Write into the one that is there, `buffers[i][low:high] = …`.",
        ),
        WrongAnswer(
            "a mean", wrong.averages, "every buffer holds the mean; the sum was asked for."
        ),
        WrongAnswer("waits for a time", wrong.waits_for_a_time, hint="only a barrier knows"),
        WrongAnswer("a barrier a buffer", wrong.barrier_a_buffer, hint="Two are enough"),
        WrongAnswer("one barrier too few", wrong.only_rank_0_waits, hint="never see"),
        WrongAnswer("all aside", wrong.everything_aside, hint="as every rank does"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, hint="rank 1 makes none"),
        WrongAnswer("slices rounded up", wrong.rounds_up, hint="rank 2 makes 2"),
    ),
    figure=0,
    unseen={"worked": "how many elements a rank works through"},
)
