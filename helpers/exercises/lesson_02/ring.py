"""Exercise 02.3, all-reduce round a ring.

`all_reduce_ring(comm, tensor) -> None`: in place, every rank's one-dimensional tensor becomes the
sum over all ranks. The claim: each rank sends 2(N − 1) messages, all to the same neighbour, and
2(N − 1)/N of the tensor. Chunks are ⌊r·n/N⌋ to ⌊(r+1)·n/N⌋; padding every chunk to ⌈n/N⌉ is let
pass, so a rank may send up to 2(N − 1)⌈n/N⌉ elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng, self_hint
from helpers.exercises.compare import close, count, listing, times, worlds
from helpers.exercises.drives import in_place
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.lesson_02 import ring_second_half, ring_wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_ITEM = 4  # bytes of a float32


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2, 4 and 5 ranks, lengths that N divides and lengths that it does not."""
    random, made = rng(seed, "02.3"), []
    shapes = [(3, 12), (3, 10), (1, 7), (2, 9), (4, 16), (5, 3), (5, 23)]
    if seed:
        shapes = [(n, int(random.integers(1, 60))) for n in (1, 2, 3, 5, 6)]
        shapes += [(4, 4 * int(random.integers(2, 9)) + int(random.integers(1, 4))), (5, 3)]
    for ranks, length in shapes:
        # Whole numbers, so that every order of additions gives the same sum.
        held = random.integers(-50, 50, (ranks, length)).astype(np.float32)
        name = f"On {count(ranks, 'rank')} with {count(length, 'element')}"
        args = tuple((held[r],) for r in range(ranks))
        made.append(Case(name, args, ranks, {"bandwidth": 1e6}, {"held": held}))
    return made


def _after(seen: Observation) -> list[Any]:
    return [v["after"] for v in seen.values]


def _sum(case: Case) -> np.ndarray:
    total: np.ndarray = case.facts["held"].sum(axis=0)
    return total


def _length(case: Case) -> int:
    return int(case.facts["held"].shape[1])


def _most(case: Case) -> int:
    """Bytes that a rank may send: 2(N − 1) chunks of ⌈n/N⌉."""
    return 2 * (case.ranks - 1) * -(-_length(case) // case.ranks) * _ITEM


def _right_values(case: Case, seen: Observation) -> bool:
    return all(close(got, _sum(case), 1e-6) for got in _after(seen))


def claim(case: Case, seen: Observation) -> str | None:
    """The sum everywhere, by 2(N − 1) chunks a rank to one neighbour."""
    for rank, got in enumerate(_after(seen)):
        if not close(got, _sum(case), 1e-6):
            return f"{case.name}, rank {rank}'s tensor is not the sum over all ranks."
    n = case.ranks
    for rank in range(n):
        if seen.bytes[rank] > _most(case):
            return (
                f"{case.name}, rank {rank} sent {seen.bytes[rank]} B; 2(N − 1)/N of the tensor "
                f"are {_most(case)} B at most."
            )
        if seen.messages[rank] != 2 * (n - 1):
            sent = count(seen.messages[rank], "message")
            return f"{case.name}, rank {rank} sent {sent}; a ring sends 2(N − 1) = {2 * (n - 1)}."
        if len(set(seen.sent[rank])) > 1:
            return f"{case.name}, rank {rank} sent to several ranks; a ring has one neighbour."
    return not_waited(case, seen)


def _sent(seen: Observation) -> list[tuple[int, int]]:
    """Each rank's bytes and messages."""
    return list(zip(seen.bytes, seen.messages, strict=True))


def _whole_tensors(case: Case, seen: Observation) -> str | None:
    each = _length(case) * _ITEM
    if case.ranks < 3 or len(set(seen.bytes)) != 1 or not seen.bytes[0]:
        return None
    if any(sent != each * messages for sent, messages in _sent(seen)):
        return None
    least = 2 * (case.ranks - 1) * _length(case) * _ITEM / case.ranks
    return (
        f"{case.name}, the ring moves whole tensors: every rank sent {seen.bytes[0]} B, "
        f"{times(seen.bytes[0], least)} as much as 2(N − 1)/N of the tensor. Cut the tensor into N "
        "chunks and send one chunk a step."
    )


def _one_rank_works(case: Case, seen: Observation) -> str | None:
    if not _right_values(case, seen) or case.ranks < 3 or len(set(seen.bytes)) == 1:
        return None
    busiest = int(np.argmax(seen.bytes))
    if seen.bytes[busiest] <= _most(case):
        return None
    return (
        f"{case.name}, the sum is right, but rank {busiest} does most of the work: it sent "
        f"{seen.bytes[busiest]} B where a ring sends {_most(case)} B. In a ring all ranks send the "
        "same, chunk by chunk, to their right neighbour."
    )


def _half_way(case: Case, seen: Observation) -> str | None:
    n, length = case.ranks, _length(case)
    if n < 2 or seen.trouble or max(seen.messages) > n - 1 or _right_values(case, seen):
        return None
    if not max(seen.messages):
        return f"{case.name}, nothing was sent: no rank can know the others' values."
    cuts = [(r * length // n, (r + 1) * length // n) for r in range(n)]
    for after in _after(seen):
        if not any(close(after[a:b], _sum(case)[a:b], 1e-6) for a, b in cuts if b > a):
            return None
    return (
        f"{case.name}, each rank holds one chunk of the sum after {n - 1} steps, and the others "
        "are partial. That is the first half (reduce-scatter); in the second (all-gather) the "
        "finished chunks go round once more."
    )


def _too_many_steps(case: Case, seen: Observation) -> str | None:
    n = case.ranks
    if seen.trouble or n < 2 or min(seen.messages) <= 2 * (n - 1):
        return None
    if any(sent >= _length(case) * _ITEM * messages for sent, messages in _sent(seen)):
        return None
    return (
        f"{case.name}, rank 0 sent {count(seen.messages[0], 'message')} where the ring has "
        f"2(N − 1) = {2 * (n - 1)}: each half has N − 1 steps. A step more adds a rank's values "
        "a second time."
    )


def _renamed(case: Case, seen: Observation) -> str | None:
    """Every chunk is the sum over some ranks up to this one, as if nothing had been written."""
    n, length, held, open_ = case.ranks, _length(case), case.facts["held"], 0
    if seen.trouble or n < 2 or set(seen.messages) != {2 * (n - 1)}:
        return None
    for rank, after in enumerate(_after(seen)):
        sums = np.cumsum([held[(rank - back) % n] for back in range(n)], axis=0)
        for low, high in ((c * length // n, (c + 1) * length // n) for c in range(n)):
            ranks = [i + 1 for i in range(n) if close(after[low:high], sums[i][low:high], 1e-6)]
            if not ranks:
                return None
            open_ += high > low and n not in ranks
    if not open_:
        return None
    if all(close(v, own) for v, own in zip(_after(seen), held, strict=True)):
        return (
            f"{case.name}, all tensors stayed as they were: what was summed is another tensor. "
            "`chunks[i] = …` puts a new one on the list, `clone` and `pad` make one. Write "
            "into the tensor that was given, as `chunks[i] += …` does, or copy into it at the end."
        )
    what = f"{count(open_, 'chunk')} of the ranks' tensors never got the sum that arrived"
    return (
        f"{case.name}, {what}: `chunks[i] = …` puts another tensor on the list and does not write "
        "into the one that was given. Use `chunks[i] += …` and `comm.recv(left, into=chunks[i])`."
    )


def _added_twice(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks < 2 or set(seen.messages) != {2 * (case.ranks - 1)}:
        return None
    total, right, off = _sum(case), False, False
    for after in _after(seen):
        same = np.isclose(after, total)
        right, off = right or bool(same.any()), off or not bool(same.all())
    if not (right and off):
        return None
    return (
        f"{case.name}, a part of each tensor is right and another part counts values twice: in the "
        "second half a finished chunk replaces the one that is there; it is not added to it."
    )


def _averaged(case: Case, seen: Observation) -> str | None:
    if case.ranks < 2 or not all(close(v, _sum(case) / case.ranks) for v in _after(seen)):
        return None
    return f"{case.name}, every rank has the mean; the sum was asked for: do not divide by N."


def _loses_rest(case: Case, seen: Observation) -> str | None:
    n, length = case.ranks, _length(case)
    kept = n * (length // n)
    if kept == length or seen.trouble:
        return None
    for rank, after in enumerate(_after(seen)):
        own = case.facts["held"][rank]
        if not (close(after[:kept], _sum(case)[:kept]) and close(after[kept:], own[kept:])):
            return None
    return (
        f"{case.name}, the first {kept} elements are right, and the rest ({length - kept} of "
        f"{length}) was never summed: chunks of `length // N` lose the remainder. Cut at ⌊r·n/N⌋."
    )


def _not_in_place(case: Case, seen: Observation) -> str | None:
    if case.ranks < 2 or not all(close(v["returned"], _sum(case)) for v in seen.values):
        return None
    return (
        f"{case.name}, the sum was returned, but the tensor that was given stayed as it was: "
        "write into it, as in `chunk += …` and `chunk.copy_(…)`."
    )


def _everybody_sends(case: Case, seen: Observation) -> str | None:
    if len(seen.waiting) != case.ranks or not all("send" in w for w in seen.waiting.values()):
        return None
    first = f"rank 0 {seen.waiting[0]}"
    return (
        f"{case.name}, all ranks ({listing(sorted(seen.waiting))}) wait to send and none receives: "
        f"{first}, which waits too. Start the sending with `comm.isend`, receive, then `wait()`."
    )


def _short_chunks(case: Case, seen: Observation) -> str | None:
    if seen.kind != "IndexError" or _length(case) % case.ranks == 0:
        return None
    return (
        f"{case.name}, rank {seen.rank} asks for a chunk that is not there: `torch.chunk` and "
        "`split` may give fewer than N pieces. Cut at ⌊r·n/N⌋, which always gives N."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    at = next(i for i, case in enumerate(cases) if case.ranks == 4)
    sent = seen[at].bytes[0]
    return (
        f"Passed on {worlds(cases)}, with lengths that do not divide; on 4 ranks each rank sent "
        f"{sent} B for a tensor of {_length(cases[at]) * _ITEM} B, and 6 messages."
    )


def reference(comm: Any, tensor: Any) -> None:
    """The course's own."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    all_reduce_ring(comm, tensor)


EXERCISE = Exercise(
    number="02.3",
    title="Ring all-reduce",
    stars=3,
    minutes=25,
    points=4,
    function="all_reduce_ring",
    asks=(
        "every rank's tensor becomes the sum over all ranks, in place; each rank sends 2(N − 1) "
        "chunks of the tensor, all to its right neighbour."
    ),
    cases=cases,
    drive=in_place,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("every rank sends first", _everybody_sends, unfinished=True),
        Mistake("fewer chunks than ranks", _short_chunks, unfinished=True),
        Mistake("whole tensors round the ring", _whole_tensors),
        Mistake("returns a new tensor", _not_in_place),
        Mistake("divides by the number of ranks", _averaged),
        Mistake("loses the remainder", _loses_rest),
        Mistake("stops after reduce-scatter", _half_way),
        Mistake("a step too many", _too_many_steps),
        Mistake("one rank does the work", _one_rank_works),
        Mistake("names a new tensor", _renamed),
        Mistake("sends one chunk again and again", ring_second_half.another_chunk),
        Mistake("begins the second half too early", ring_second_half.not_complete),
        Mistake("adds in the second half", _added_twice),
        Mistake("messages not waited for", not_waited),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("whole tensors", ring_wrong.whole_tensors, hint="moves whole tensors"),
        WrongAnswer(
            "reduce, then broadcast", ring_wrong.through_rank_0, hint="does most of the work"
        ),
        WrongAnswer("half of it", ring_wrong.reduce_scatter_only, hint="That is the first half"),
        WrongAnswer("adds twice", ring_wrong.adds_in_both_halves, hint="it is not added to it"),
        WrongAnswer("a step too many", ring_wrong.step_too_many, hint="each half has N − 1 steps"),
        WrongAnswer("renames", ring_wrong.renames, hint="never got the sum"),
        WrongAnswer(
            "renames all", ring_wrong.renames_all, hint="what was summed is another tensor"
        ),
        WrongAnswer(
            "one chunk again", ring_wrong.one_chunk_again, hint="sends another chunk at each step"
        ),
        WrongAnswer("second half as first", ring_wrong.as_the_first, hint="that is not complete"),
        WrongAnswer("never waits", ring_wrong.never_waits, hint="returned without waiting for"),
        WrongAnswer("mean", ring_wrong.averages, hint="do not divide by N"),
        WrongAnswer("length // N", ring_wrong.loses_rest, hint="lose the remainder"),
        WrongAnswer("torch.chunk", ring_wrong.torch_chunk, hint="fewer than N pieces"),
        WrongAnswer("new tensor", ring_wrong.returns_new, hint="the sum was returned"),
        WrongAnswer(
            "all send first", ring_wrong.all_send_first, hint="wait to send and none receives"
        ),
    ),
    figure=0,
)
