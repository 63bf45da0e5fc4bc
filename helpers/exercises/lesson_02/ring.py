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
from helpers.exercises.lesson_02 import ring_wrong as wrong
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


def compared(case: Case, seen: Observation) -> Any:
    """The tensors afterwards, and what was returned in their place."""
    return [
        (v["after"], None if close(v["returned"], v["after"], 0.0) else v["returned"])
        for v in seen.values
    ]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What was sent and left out, and the first chunk that does not hold its sum."""
    n, length, total, after = case.ranks, _length(case), _sum(case), _after(seen)
    cuts = [slice(c * length // n, (c + 1) * length // n) for c in range(n)]
    chunks = [(rank, c) for rank in range(n) for c in range(n)]
    wrong = [(r, c) for r, c in chunks if not close(after[r][cuts[c]], total[cuts[c]], 1e-6)]
    rank, chunk = wrong[0] if wrong else (0, 0)
    held = after[rank][cuts[chunk]]
    sent, least = seen.bytes[0], 2 * (n - 1) * length * _ITEM / n
    return {
        "n": n,
        "steps": n - 1,
        "all_but_one": count(n - 1, "rank"),
        "length": length,
        "kept": n * (length // n),
        "rest": length % n,
        "sent": sent,
        "times": times(sent, least) if least else "",
        "wrong": count(len(wrong), "chunk"),
        "rank": rank,
        "chunk": chunk,
        "other": next((c for c, cut in enumerate(cuts) if close(held, total[cut])), chunk),
    }


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


def _too_many_steps(case: Case, seen: Observation) -> str | None:
    n = case.ranks
    if n < 2 or min(seen.messages) <= 2 * (n - 1):
        return None
    if any(b >= _length(case) * _ITEM * m for b, m in zip(seen.bytes, seen.messages, strict=True)):
        return None  # whole tensors
    return (
        f"{case.name}, rank 0 sent {count(seen.messages[0], 'message')} where the ring has "
        f"2(N − 1) = {2 * (n - 1)}: each half has N − 1 steps. A step more adds a rank's values "
        "a second time."
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
        Mistake("a step too many", _too_many_steps),
        Mistake("one rank does the work", _one_rank_works),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "nothing is sent",
            wrong.nothing,
            "nothing was sent: no rank can know the others' values.",
        ),
        WrongAnswer(
            "whole tensors round the ring",
            wrong.whole_tensors,
            "the ring moves whole tensors: every rank sent {sent} B, {times} as much as 2(N − 1)/N "
            "of the tensor. Cut the tensor into N chunks and send one chunk a step.",
        ),
        WrongAnswer(
            "returns a new tensor",
            wrong.returns_new,
            "the sum was returned, but the tensor that was given stayed as it was: write into it, "
            "as in `chunk += …` and `chunk.copy_(…)`.",
        ),
        WrongAnswer(
            "divides by the number of ranks",
            wrong.averages,
            "every rank has the mean; the sum was asked for: do not divide by N.",
        ),
        WrongAnswer(
            "loses the remainder",
            wrong.loses_rest,
            "the first {kept} elements are right, and the rest ({rest} of {length}) was never "
            "summed: chunks of `length // N` lose the remainder. Cut at ⌊r·n/N⌋.",
        ),
        WrongAnswer(
            "stops after reduce-scatter",
            wrong.first_half,
            "each rank holds one chunk of the sum after {steps} steps, and the others are partial. "
            "That is the first half (reduce-scatter); in the second (all-gather) the finished "
            "chunks go round once more.",
        ),
        WrongAnswer(
            "names a new tensor",
            wrong.renames,
            "{wrong} of the ranks' tensors never got the sum that arrived: `chunks[i] = …` puts "
            "another tensor on the list and does not write into the one that was given. Use "
            "`chunks[i] += …` and `comm.recv(left, into=chunks[i])`.",
        ),
        WrongAnswer(
            "names new tensors alone",
            wrong.renames_all,
            "all tensors stayed as they were: what was summed is another tensor. `chunks[i] = …` "
            "puts a new one on the list, `clone` and `pad` make one. Write into the tensor that "
            "was given, as `chunks[i] += …` does, or copy into it at the end.",
        ),
        WrongAnswer(
            "sends one chunk again and again",
            wrong.one_chunk_again,
            "rank {rank}'s chunk {chunk} holds the sum of chunk {other}: in the second half, too, "
            "a rank sends another chunk at each step, the one that came last.",
        ),
        WrongAnswer(
            "begins the second half too early",
            wrong.as_the_first,
            "all ranks hold the same, but a chunk of it is what 1 rank of {n} had: the second half "
            "began with a chunk that is not complete. Send the one first that the first half added "
            "to last.",
        ),
        WrongAnswer(
            "begins the second half with the chunk after its own",
            wrong.after_its_own,
            "all ranks hold the same, but a chunk of it is what {all_but_one} of {n} had: the "
            "second half began with a chunk that is not complete. Send the one first that the "
            "first half added to last.",
        ),
        WrongAnswer(
            "adds in the second half",
            wrong.adds_twice,
            "a part of each tensor is right and another part counts values twice: in the second "
            "half a finished chunk replaces the one that is there; it is not added to it.",
        ),
        WrongAnswer("to itself", wrong.to_itself, hint="Rank 0 waits for a message from rank 0"),
        WrongAnswer("all send first", wrong.all_send_first, hint="wait to send and none receives"),
        WrongAnswer("torch.chunk", wrong.torch_chunk, hint="fewer than N pieces"),
        WrongAnswer("N steps", wrong.step_too_many, hint="each half has N − 1 steps"),
        WrongAnswer("reduce, then broadcast", wrong.through_rank_0, hint="does most of the work"),
        WrongAnswer("never waits", wrong.never_waits, hint="returned without waiting for"),
    ),
    figure=0,
)
