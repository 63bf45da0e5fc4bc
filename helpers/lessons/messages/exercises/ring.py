"""Exercise 02.3, all-reduce round a ring, in place.

The claim: each rank sends 2(N − 1) messages, all to the same neighbour, and 2(N − 1)/N of the
tensor, all ranks at the same time. Padding every chunk to ⌈n/N⌉ is let pass.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.common import after, compared_in_place, self_hint
from helpers.checks.compare import close, count, rounded, times, worlds
from helpers.checks.drives.ranks import in_place
from helpers.checks.drives.requests import not_waited
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds

_LATENCY, _BANDWIDTH = 50e-6, 1e6


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2, 4 and 5 ranks, lengths that N divides and lengths that it does not. At last
    float64, with numbers that float32 rounds, and so few that a large remainder shows."""
    random, made = rng(seed, "02.3"), []
    shapes = [(3, 12), (3, 10), (1, 7), (2, 9), (4, 16), (5, 3), (5, 23)]
    if seed:
        shapes = [(n, int(random.integers(1, 60))) for n in (1, 2, 5, 6)]
        shapes = [(3, 3 * int(random.integers(2, 20))), *shapes, (3, 10)]
        shapes += [(4, 4 * int(random.integers(2, 9)) + int(random.integers(1, 4))), (5, 3)]
    for ranks, length in [*shapes, (2, 0), (5, 9)]:
        # Numbers without rounding, so that every order of additions gives the same sum.
        held: np.ndarray = random.integers(-50, 50, (ranks, length)).astype(np.float32)
        name = f"On {count(ranks, 'rank')} with {count(length, 'element')}"
        if (ranks, length) == (5, 9):
            held = random.integers(-(2**40), 2**40, (ranks, length)) / 2.0**10
            name += " of float64"
        args = tuple((held[r],) for r in range(ranks))
        clock = {"latency": _LATENCY, "bandwidth": _BANDWIDTH}
        made.append(Case(name, args, ranks, clock, {"sum": held.sum(axis=0)}))
    return made


def _most(case: Case) -> int:
    """Bytes that a rank may send: 2(N − 1) chunks of ⌈n/N⌉ numbers."""
    length, size = len(case.facts["sum"]), case.facts["sum"].itemsize
    return 2 * (case.ranks - 1) * -(-length // case.ranks) * int(size)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The sum everywhere, by 2(N − 1) chunks a rank to one neighbour."""
    for rank, got in enumerate(after(seen)):
        if not close(got, case.facts["sum"], 1e-12):
            why = rounded([got], [case.facts["sum"]])
            yield f"rank {rank}'s tensor is not the sum over all ranks{why}."
    most, steps = _most(case), 2 * (case.ranks - 1)
    for rank, (sent, messages) in enumerate(zip(seen.bytes, seen.messages, strict=True)):
        if sent > most:
            yield f"rank {rank} sent {sent} B; 2(N − 1)/N of the tensor are {most} B at most."
        if messages != steps:
            told = count(messages, "message")
            yield f"rank {rank} sent {told}; a ring sends 2(N − 1) = {steps}."
        if len(set(seen.sent[rank])) > 1:
            yield f"rank {rank} sent to several ranks; a ring has one neighbour."
    yield not_waited(case, seen)
    yield from _takes_turns(case, seen)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What was sent and left out."""
    n, length = case.ranks, len(case.facts["sum"])
    sent, least = seen.bytes[0], 2 * (n - 1) * case.facts["sum"].nbytes / n
    left = {"steps": n - 1, "length": length, "rest": length % n}
    return {**left, "sent": sent, "times": times(sent, least) if least else ""}


def _other_steps(case: Case, seen: Observation) -> Iterator[str]:
    steps, whole = 2 * (case.ranks - 1), case.facts["sum"].nbytes
    chunks = all(b < whole * m for b, m in zip(seen.bytes, seen.messages, strict=True))
    other = len(set(seen.messages)) == 1 and abs(seen.messages[0] - steps) in (1, 2)
    if other and chunks:
        yield (
            f"rank 0 sent {count(seen.messages[0], 'message')} where the ring has 2(N − 1) = "
            f"{steps}: each half has N − 1 steps, one less than there are chunks."
        )


def _takes_turns(case: Case, seen: Observation) -> Iterator[str]:
    """Right in all but the time: a step takes more than one message's."""
    steps = 2 * (case.ranks - 1)
    seconds = steps * _LATENCY + _most(case) / _BANDWIDTH
    sent = set(seen.messages) == {steps} and max(seen.bytes) <= _most(case)
    right = all(close(got, case.facts["sum"], 1e-6) for got in after(seen))
    if max(seen.seconds) > 1.2 * seconds and sent and right:
        yield (
            f"the sum is right, but it took {times(max(seen.seconds), seconds)} the time of "
            f"{steps} messages: ranks wait for a turn, or at a barrier. In each step all send at "
            "the same time: start with `comm.isend`, receive, then `wait()`."
        )


def _everybody_sends(case: Case, seen: Observation) -> Iterator[str]:
    if sum("send" in words for words in seen.waiting.values()) >= case.ranks:
        yield (
            f"all ranks wait to send and none receives: rank 0 {seen.waiting[0]}, which waits too. "
            "Start the sending with `comm.isend`, receive, then `wait()`."
        )


def _short_chunks(case: Case, seen: Observation) -> Iterator[str]:
    if seen.kind == "IndexError" and len(case.facts["sum"]) % case.ranks:
        yield (
            f"rank {seen.rank} asks for a chunk that is not there: `torch.chunk` and `split` may "
            "give fewer than N pieces. Cut at ⌊r·n/N⌋, which always gives N."
        )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    at = next(i for i, case in enumerate(cases) if case.ranks == 4)
    sent, whole = seen[at].bytes[0], cases[at].facts["sum"].nbytes
    return (
        f"Passed on {worlds(cases)}, with lengths that do not divide; on 4 ranks each rank sent "
        f"{sent} B for a tensor of {whole} B, and 6 messages."
    )


def two_halves(comm: Any, tensor: Any) -> Any:
    """The ring in one function, which is what answers look like."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = [tensor[start:stop] for start, stop in chunk_bounds(len(tensor), comm.size)]
    for step in range(1, comm.size):
        sending = comm.isend(chunks[(comm.rank - step) % comm.size], right)
        i, got = (comm.rank - step - 1) % comm.size, comm.recv(left)
        chunks[i].add_(got)
        sending.wait()
    for again in range(comm.size - 1):
        sending = comm.isend(chunks[(comm.rank - again) % comm.size], right)
        i, got = (comm.rank - again - 1) % comm.size, comm.recv(left)
        chunks[i].copy_(got)
        sending.wait()
    return tensor


def through_rank_0(comm: Any, tensor: Any) -> None:
    if comm.rank:
        comm.send(tensor, 0)
        comm.recv(0, into=tensor)
        return
    for other in range(1, comm.size):
        tensor += comm.recv(other)
    for other in range(1, comm.size):
        comm.send(tensor, other)


WRONG = """
nothing is sent
    | right, left = => return tensor; right, left =
    nothing was sent: no rank knows the others.
whole tensors round the ring
    | chunks = => passing = tensor.clone(); chunks =
    | chunks[(comm.rank - step) % comm.size] => passing
    | chunks[i].add_(got) => tensor.add_(got); passing = got
    | range(comm.size - 1) => range(0)
    the ring moves whole tensors: every rank sent {sent} B, {times} as much as 2(N − 1)/N of the
    tensor. Cut the tensor into N chunks and send one chunk a step.
returns a new tensor
    | right, left = => tensor = tensor.clone(); right, left =
    the sum was returned, but the tensor that was given stayed as it was: write into it.
divides by the number of ranks
    | return tensor => return tensor.div_(comm.size)
    every rank has the mean; the sum was asked for: do not divide by N.
loses the remainder
    | chunk_bounds(len(tensor), => chunk_bounds(len(tensor) // comm.size * comm.size,
    the last {rest} of {length} elements were never summed: chunks of `length // N` lose the
    remainder. Cut at ⌊r·n/N⌋.
leaves the remainder to the last chunk
    | for start, stop in chunk_bounds(len(tensor), comm.size)]
        => for n, last in [(len(tensor) // comm.size, comm.size - 1)] for start, stop in
        [*((r * n, r * n + n) for r in range(last)), (last * n, len(tensor))]]
    the sum is right, but the last chunk takes the whole remainder, and in each step all wait for
    it. Cut at ⌊r·n/N⌋: chunks differ by one element at most.
stops after reduce-scatter
    | range(comm.size - 1) => range(0)
    each rank holds one chunk of the sum after {steps} steps, and the others are partial. That is
    the first half (reduce-scatter); in the second (all-gather) the finished chunks go round once
    more.
names a new tensor
    | chunks[i].copy_(got) => chunks[i] = got
    some chunks never got the sum that arrived: `chunks[i] = …` puts another tensor on the list and
    does not write into the one that was given. Use `chunks[i] += …` and `comm.recv(left,
    into=chunks[i])`.
names new tensors alone
    | chunks[i].add_(got) => chunks[i] = chunks[i] + got
    | chunks[i].copy_(got) => chunks[i] = got
    all tensors stayed as they were: what was summed is another tensor. `chunks[i] = …` puts a new
    one on the list, `clone` and `pad` make one. Write into the tensor that was given, as `chunks[i]
    += …` does, or copy into it at the end.
sends one chunk again and again
    | (comm.rank - again) % comm.size => comm.rank
    chunks hold the sum of another one: in the second half, too, a rank sends another chunk at each
    step, the one that came last.
to the left
    | right, left = => left, right =
    chunks went to the left, and their numbers are those of a ring to the right: what comes is
    another chunk than the one that it is added to. Right is (rank + 1) % N.
begins the second half as the first
    | (comm.rank - again - 1) => (comm.rank - again - 2)
    | (comm.rank - again) => (comm.rank - again - 1)
    all ranks hold the same, but each chunk is one rank's alone. Either the first half does not add
    what comes into the tensor, as `chunks[i] += …` does, or the second does not begin with the
    chunk to which the first half added last.
begins the first half with its own chunk
    | (comm.rank - step) => (comm.rank - step + 1)
    | (comm.rank - step - 1) => (comm.rank - step)
    ! begins the second half as the first
begins the second half with the chunk after its own
    | (comm.rank - again) => (comm.rank - again + 1)
    | (comm.rank - again - 1) => (comm.rank - again)
    all ranks hold the same, but one rank's values are missing in it: the second half began with a
    chunk that is not complete. Send the one first that the first half added to last.
adds in the second half
    | chunks[i].copy_(got) => chunks[i].add_(got)
    a part of each tensor is right and another part counts values twice: in the second half a
    finished chunk replaces the one that is there; it is not added to it.
to itself
    | right, left = => comm.send(tensor, comm.rank); right, left =
    ? Rank 0 waits for a message from rank 0
all send first
    | comm.isend *=> comm.send
    ? wait to send and none receives
torch.chunk
    | [tensor[start:stop] for start, stop in chunk_bounds(len(tensor), comm.size)]
        => tensor.chunk(comm.size)
    ? fewer than N pieces
N steps
    | range(1, comm.size) => range(1, comm.size + (comm.size > 1))
    | range(comm.size - 1) => range(comm.size - (comm.size == 1))
    ? each half has N − 1 steps
reduce, then broadcast
    = through_rank_0
    the sum is right, but it went through rank 0, which sent {sent} B, {times} as much as 2(N − 1)/N
    of the tensor. In a ring all ranks send the same, chunk by chunk.
never waits
    | sending.wait() *=>
    ? returned without waiting for
rank 0 sends first
    | comm.recv(left) *=> (came if comm.rank else comm.recv(left))
    | sending = *=> came = comm.recv(left) if comm.rank else None; sending =
    ? wait for a turn
"""


EXERCISE = Exercise(
    number="02.3",
    title="Ring all-reduce",
    size=Size(stars=3, minutes=25, points=4),
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
        Mistake("another number of steps", _other_steps),
        Mistake("messages not waited for", not_waited),
        Mistake("takes turns", _takes_turns),
    ),
    numbers=numbers,
    compared=compared_in_place,
    praise=praise,
    reference=all_reduce_ring,
    wrong=wrong_answers("02.3", WRONG, two_halves, through_rank_0),
    figure=0,
)
