"""Exercise 02.2, broadcast along a binomial tree, in place.

The claim: ⌈log₂ N⌉ rounds, the root sends ⌈log₂ N⌉ messages, every other rank receives one.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.checks.common import after, compared_in_place, self_hint, sends_to_itself
from helpers.checks.compare import close, count
from helpers.checks.drives.ranks import in_place
from helpers.checks.drives.requests import not_waited
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.messages.algorithms.collectives import broadcast_tree as reference

_LATENCY, _BANDWIDTH = 50e-6, 1e7


def cases(seed: int) -> list[Case]:
    """Seed 0: 5, 1, 2, 3 and 8 ranks, from rank 0 and from others, at last a matrix in float64;
    else also larger worlds, and whole numbers."""
    random, made = rng(seed, "02.2"), []
    worlds = [(5, 0), (1, 0), (2, 1), (3, 1), (8, 0), (5, 3), (3, 2)]
    if seed:
        worlds = [(n, int(random.integers(n))) for n in (1, 2, 3, 7, 8, 12)]
        worlds = [(5, 0), *worlds]
    for number, (ranks, root) in enumerate(worlds):
        length = int(random.integers(1, 90)) if seed else 64
        held = random.standard_normal((ranks, length)).astype(np.float32)
        name = f"On {count(ranks, 'rank')}, from rank {root}"
        if number % 7 == 6 or (seed and number % 3 == 2):
            kind = ("float64", "int64")[number % 2]
            held = (2.0**40 * random.standard_normal((ranks, 6, 4))).astype(kind)
            name += f", with a matrix of {kind}"
        args = tuple((held[r], root) for r in range(ranks))
        clock = {"latency": _LATENCY, "bandwidth": _BANDWIDTH}
        made.append(Case(name, args, ranks, clock, {"root": root, "held": held}))
    return made


def rounds(ranks: int) -> int:
    """⌈log₂ N⌉."""
    return (ranks - 1).bit_length()


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Everybody has the root's tensor, by N − 1 messages in ⌈log₂ N⌉ rounds."""
    root, needed = case.facts["root"], rounds(case.ranks)
    want = case.facts["held"][root]
    for rank, got in enumerate(after(seen)):
        if not close(got, want, 0.0):
            yield f"rank {rank}'s tensor does not hold rank {root}'s values."
    if seen.messages[root] != needed:
        yield (
            f"the root sent {count(seen.messages[root], 'message')}; ⌈log₂ {case.ranks}⌉ is "
            f"{needed}. Any tree will do in which everybody who has the tensor sends it on in "
            "every round, the root too."
        )
    if sum(seen.messages) != case.ranks - 1:
        yield (
            f"{sum(seen.messages)} messages were sent; {case.ranks - 1} are enough, one to every "
            "rank but the root."
        )
    took = max(seen.seconds) / (_LATENCY + want.nbytes / _BANDWIDTH)
    if took > needed * 1.01:
        yield (
            f"it took {took:.3g} rounds; {needed} are enough: in every round each rank that has "
            "the tensor sends it on."
        )
    yield not_waited(case, seen)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name, counted in places from the root."""
    n, root = case.ranks, case.facts["root"]
    rank, first = min(seen.waiting, default=0), next((r for r in range(n) if r != root), root)
    last = 1 << max(rounds(n) - 1, 0)  # how far the messages of the last round go
    waits = {"waits": f"rank {rank} {seen.waiting.get(rank)}", "beyond": (rank - root) % n + last}
    world = {"n": n, "others": n - 1, "rounds": rounds(n), "other": -root % n, "first": first}
    return {**world, **waits}


def _no_partner(case: Case, seen: Observation) -> Iterator[str]:
    if seen.trouble != "failed" or "the ranks are 0 to" not in seen.text:
        return
    asked, root = int(seen.text.partition(", but")[0].rpartition(" ")[2]), case.facts["root"]
    why = "in the round with distance d, places d to 2d − 1 receive, each from place − d."
    if asked >= case.ranks != 2 ** rounds(case.ranks):
        why = (
            "where N is no power of two, some partners of the last round are missing. Ask whether "
            "place + distance < N"
        )
        why += ", and take a partner's number `% N`." if root else "."
    elif root:
        why = (
            "from a root in the middle, ranks are counted round the circle. Take the partner's "
            "number `% N`."
        )
    yield f"rank {seen.rank} asks for rank {asked}, which does not exist: {why}"


def _all_wait(case: Case, seen: Observation) -> Iterator[str]:
    for rank, words in sorted(seen.waiting.items()):
        if "receive" in words:
            yield (
                f"rank {rank} {words}, which never sends to it. In the text, places 0 to d − 1 "
                "send in the round with distance d, and d to 2d − 1 receive."
            )


def _place_for_rank(case: Case, seen: Observation) -> Iterator[str]:
    """A message to oneself in a tree that does not begin at rank 0."""
    rank, root = sends_to_itself(case, seen), case.facts["root"]
    if rank is not None and root != 0:
        yield (
            f"rank {rank} sends to itself, or waits for a message of its own: a place in the tree "
            f"was taken for a rank. Place p is rank (p + {root}) % {case.ranks}."
        )


WRONG = """
the root sends to everybody
    | place < have and place + have < comm.size => place == 0
    | have <= place < 2 * have => place == have
    | have *= 2 => have += 1
    every rank has the tensor, but the root sent all {others} messages itself; ⌈log₂ {n}⌉ =
    {rounds} are its part. Let those that have the tensor send it on.
hand to hand along a chain
    | place < have and place + have < comm.size => place == have - 1
    | comm.rank + have => comm.rank + 1
    | have <= place < 2 * have => place == have
    | comm.rank - have => comm.rank - 1
    | have *= 2 => have += 1
    every rank has the tensor, but it went hand to hand, {others} messages one after the other:
    whoever has it sends again in the next round, so that the number of ranks that have it doubles.
ignores the root
    | flat = flat_view(tensor) => flat, root = flat_view(tensor), 0
    every rank ended with rank 0's tensor. Count places from the root: place = (rank − root) % N,
    and place p is rank (p + root) % N.
places the other way round
    | comm.rank - root => comm.rank + root
    every rank ended with the tensor of rank {other}, (−root) % N, which has place 0 where places
    are (rank + root) % N. A place is (rank − root) % N, and place p is rank (p + root) % N.
returns a new tensor
    | flat = flat_view(tensor) => tensor = flat = flat_view(tensor).clone()
    the right tensor was returned, but the one that was given stayed as it was. Receive into it:
    `comm.recv(source, into=tensor)`, or `tensor.copy_(...)`.
receives into a new name
    | flat_view(tensor) => flat_view(tensor).clone()
    rank {first} received the tensor but still holds its own: `tensor = comm.recv(...)` only names
    a new tensor. Receive with `into=tensor`, or copy into it.
sends round the end of the circle
    | and place + have < comm.size =>
    {waits}, round the end of the circle: it means place {beyond}, and there are {n}. Send only
    where place + distance < N.
never waits
    | comm.send( => comm.isend(
    ? returned without waiting for
places for ranks
    | (comm.rank + have) % comm.size => place + have
    | (comm.rank - have) % comm.size => place - have
    ? was taken for a rank
sends to itself
    | have = 1 => have = comm.rank != root or comm.send(tensor, root) or 1
    ? Rank 0 waits for a message from rank 0
powers of two only
    | and place + have < comm.size =>
    | (comm.rank + have) % comm.size
        => ((comm.rank + have) % comm.size, place + have)[place + have >= comm.size]
    ? where N is no power of two
no modulo
    | (comm.rank + have) % comm.size => place + have + root
    | (comm.rank - have) % comm.size => place - have + root
    ? ranks are counted round the circle
wrong partner
    | (comm.rank - have) % comm.size => (place // 2 + root) % comm.size
    ? which never sends to it
"""

EXERCISE = Exercise(
    number="02.2",
    title="Broadcast along a tree",
    size=Size(stars=2, minutes=15, points=3),
    function="broadcast_tree",
    asks=(
        "every rank's tensor holds rank `root`'s values afterwards; in each round every rank that "
        "has them sends them to one that has not, so that ⌈log₂ N⌉ rounds are enough."
    ),
    cases=cases,
    drive=in_place,
    claim=claim,
    mistakes=(
        Mistake("takes a place for a rank", _place_for_rank, unfinished=True),
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("asks for ranks that do not exist", _no_partner, unfinished=True),
        Mistake("waits for the wrong rank", _all_wait, unfinished=True),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    # Who sends nothing is not told what becomes of what came.
    compared=lambda case, seen: [compared_in_place(case, seen), any(seen.messages)],
    praise=(
        "Passed on {worlds}, from any root; on 8 ranks it took 3 rounds and the root sent 3 "
        "messages."
    ),
    reference=reference,
    wrong=wrong_answers("02.2", WRONG, reference),
    figure=0,
)
