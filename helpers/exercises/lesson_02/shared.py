"""Exercise 02.5, all-reduce in shared memory.

`all_reduce_shared(comm, buffers) -> None`: buffers are one a rank, as `comm.shared` gives them;
this rank has just filled its own, others may be late. Afterwards every buffer holds the sum. The
claim: no message, each rank sums only its slice (⌊r·n/N⌋ to ⌊(r+1)·n/N⌋), and no rank reads what
is not written yet: the ranks come at different times, so that a missing barrier shows itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, listing, worlds
from helpers.exercises.drives_shared import on_buffers
from helpers.exercises.lesson_02 import shared_work, shared_wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


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


def _slices(case: Case) -> list[slice]:
    n, length = case.ranks, case.facts["held"].shape[1]
    return [slice(r * length // n, (r + 1) * length // n) for r in range(n)]


def claim(case: Case, seen: Observation) -> str | None:
    """The sum in every buffer when its rank returns, the work split, nothing sent."""
    for rank, got in enumerate(_after(seen)):
        if not close(got, _sum(case), 1e-6):
            return f"{case.name}, rank {rank}'s buffer does not hold the sum when it returns."
    if sum(seen.messages):
        return f"{case.name}, {sum(seen.messages)} messages were sent; shared memory needs none."
    return shared_work.too_much(case, seen) or shared_work.everything_at_once(case, seen)


def _no_first_barrier(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks < 2:
        return None
    held = case.facts["held"]
    for rank, part in enumerate(_slices(case)):
        got = _after(seen)[rank][part]
        for some in _subsets(case.ranks, rank):
            if close(got, held[list(some), part].sum(axis=0), 1e-6):
                missing = sorted(set(range(case.ranks)) - set(some))
                return (
                    f"{case.name}, the sum that rank {rank} made lacks what "
                    f"{'rank' if len(missing) == 1 else 'ranks'} {listing(missing)} had to add: it "
                    "read buffers that were not filled yet. Before the first read every rank must "
                    "have come: `comm.barrier()`."
                )
    return None


def _subsets(ranks: int, rank: int) -> Iterator[tuple[int, ...]]:
    """Every proper subset of the ranks that holds `rank`."""
    others = [r for r in range(ranks) if r != rank]
    for size in range(len(others)):
        for some in combinations(others, size):
            yield (rank, *some)


def _stale(case: Case, seen: Observation) -> dict[int, list[int]]:
    """For each rank, the elements that still hold its own value; {} where others are wrong too."""
    found: dict[int, list[int]] = {}
    for rank, after in enumerate(_after(seen)):
        wrong = np.flatnonzero(after != _sum(case))
        if not np.array_equal(after[wrong], case.facts["held"][rank][wrong]):
            return {}
        found[rank] = [int(i) for i in wrong]
    return found


def _loses_rest(case: Case, seen: Observation) -> str | None:
    length = case.facts["held"].shape[1]
    rest = list(range(case.ranks * (length // case.ranks), length))
    stale = _stale(case, seen)
    if not rest or not stale or any(wrong != rest for wrong in stale.values()):
        return None
    return (
        f"{case.name}, the last {_few(len(rest))} never summed: slices of "
        "`length // N` lose the remainder. Cut at ⌊r·n/N⌋."
    )


def _few(number: int) -> str:
    return "element was" if number == 1 else f"{number} elements were"


def _all_but_own(case: Case, seen: Observation) -> str | None:
    stale = _stale(case, seen)
    parts = [list(range(part.start, part.stop)) for part in _slices(case)]
    if case.ranks < 2 or [stale.get(rank) for rank in range(case.ranks)] != parts:
        return None
    return (
        f"{case.name}, each rank's slice of the sum is in all buffers but its own: a `clone()` is "
        "no view, so write the sum to your own buffer as well."
    )


def _own_only(case: Case, seen: Observation) -> str | None:
    stale = _stale(case, seen)
    length = case.facts["held"].shape[1]
    for rank, part in enumerate(_slices(case)):
        others = [i for i in range(length) if not part.start <= i < part.stop]
        if case.ranks < 2 or stale.get(rank) != others:
            return None
    return (
        f"{case.name}, each buffer holds the sum in its own rank's slice alone: write your slice "
        "of the sum to every rank's buffer, not only to your own."
    )


def _no_last_barrier(case: Case, seen: Observation) -> str | None:
    """The rank that came first has its own values in the slices of others: it did not wait."""
    if seen.trouble:
        return None
    rank = int(np.argmin(case.facts["late"]))
    part, after, own = _slices(case)[rank], _after(seen)[rank], case.facts["held"][rank]
    wrong = [int(i) for i in np.flatnonzero(after != _sum(case))]
    others = [i for i in wrong if not part.start <= i < part.stop]
    if not others or not np.array_equal(after[others], own[others]):
        return None
    return (
        f"{case.name}, rank {rank} returned while {count(len(others), 'element')} of its buffer "
        "were not summed yet: other ranks had still to write there. After writing, wait until all "
        "have written: `comm.barrier()`."
    )


def _read_too_late(case: Case, seen: Observation) -> str | None:
    """Zeros, which no sum here has: the buffers of ranks that had returned."""
    if seen.trouble:
        return None
    late = [rank for rank, after in enumerate(_after(seen)) if (after == 0).any()]
    if not late:
        return None
    return (
        f"{case.name}, rank {late[0]} still read buffers whose ranks had returned, and which were "
        "cleared for the next sum: nobody may return before all have read. Wait at a barrier."
    )


def _reads_sums(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks < 2:
        return None
    total, held = _sum(case), case.facts["held"]
    for rank, after in enumerate(_after(seen)):
        for other in range(case.ranks):
            if other != rank and close(after, 2 * total - held[other], 1e-6):
                return (
                    f"{case.name}, rank {rank} added rank {other}'s buffer after rank {other} had "
                    "written the sum into it. Write nothing that somebody may still read: each "
                    "rank reads and writes only its slice, in all buffers."
                )
    return None


def _itself_twice(case: Case, seen: Observation) -> str | None:
    if seen.trouble:
        return None
    if _doubles(case, seen):
        return (
            f"{case.name}, `total` is your own slice itself and no copy, and the loop over all "
            "buffers adds it to itself: leave your own buffer out of it."
        )
    for rank, part in enumerate(_slices(case)):
        want = _sum(case)[part] + case.facts["held"][rank][part]
        if not close(_after(seen)[rank][part], want, 1e-6):
            return None
    return f"{case.name}, every rank counts its own buffer twice: it is among `buffers` already."


def _doubles(case: Case, seen: Observation) -> bool:
    """Whether each rank doubled what it had when it came to its own buffer."""
    held, slices = case.facts["held"], _slices(case)
    return case.ranks > 1 and all(
        close(after[part], (_sum(case) + held[: rank + 1].sum(axis=0))[part], 1e-6)
        for rank, (after, part) in enumerate(zip(_after(seen), slices, strict=True))
    )


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
        Mistake("every rank does all the work", shared_work.too_much),
        Mistake("reads when others have returned", _read_too_late),
        Mistake("loses the remainder", _loses_rest),
        Mistake("writes to its own buffer alone", _own_only),
        Mistake("leaves its own buffer out", _all_but_own),
        Mistake("no barrier after writing", _no_last_barrier),
        Mistake("no barrier before reading", _no_first_barrier),
        Mistake("overwrites what others still read", _reads_sums),
        Mistake("counts itself twice", _itself_twice),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("no first barrier", shared_wrong.no_first_barrier, hint="not filled yet"),
        WrongAnswer(
            "no last barrier", shared_wrong.no_last_barrier, hint="had still to write there"
        ),
        WrongAnswer("gathers late", shared_wrong.gathers_late, hint="before all have read"),
        WrongAnswer("own buffer only", shared_wrong.own_buffer_only, hint="not only to your own"),
        WrongAnswer("all in place", shared_wrong.everything_in_place, hint="may still read"),
        WrongAnswer("all aside", shared_wrong.everything_aside, hint="on every rank"),
        WrongAnswer("length // N", shared_wrong.loses_rest, hint="lose the remainder"),
        WrongAnswer("itself twice", shared_wrong.itself_twice, hint="its own buffer twice"),
        WrongAnswer("all but its own", shared_wrong.all_but_own, hint="a `clone()` is no view"),
        WrongAnswer("rank 0 alone", shared_wrong.rank_0_alone, hint="made it alone"),
        WrongAnswer("adds a view", shared_wrong.adds_a_view, hint="no copy, and the loop"),
        WrongAnswer("one barrier too few", shared_wrong.only_rank_0_waits, hint="never come"),
    ),
    figure=0,
    unseen={"worked": "how many elements a rank works through"},
)
