"""Exercise 02.2, broadcast along a binomial tree.

`broadcast_tree(comm, tensor, root) -> None`: in place, every rank's tensor becomes rank `root`'s.
The claim: ⌈log₂ N⌉ rounds, the root sends ⌈log₂ N⌉ messages, every other rank receives one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng, self_hint, sends_to_itself
from helpers.exercises.compare import close, count, worlds
from helpers.exercises.drives import in_place
from helpers.exercises.lesson_02 import broadcast_wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_LATENCY, _BANDWIDTH = 50e-6, 1e7


def cases(seed: int) -> list[Case]:
    """Seed 0: 5, 1, 2, 3 and 8 ranks, from rank 0 and from others; else also larger worlds."""
    random, made = rng(seed, "02.2"), []
    worlds_here = [(5, 0), (1, 0), (2, 1), (3, 1), (8, 0), (5, 3)]
    if seed:
        worlds_here = [(n, int(random.integers(n))) for n in (1, 2, 3, 5, 7, 8, 12)]
    for ranks, root in worlds_here:
        length = int(random.integers(1, 90)) if seed else 64
        held = random.standard_normal((ranks, length)).astype(np.float32)
        name = f"On {count(ranks, 'rank')}, from rank {root}"
        args = tuple((held[r], root) for r in range(ranks))
        clock = {"latency": _LATENCY, "bandwidth": _BANDWIDTH}
        made.append(Case(name, args, ranks, clock, {"root": root, "held": held}))
    return made


def rounds(ranks: int) -> int:
    """⌈log₂ N⌉."""
    return (ranks - 1).bit_length()


def _after(seen: Observation) -> list[Any]:
    return [v["after"] for v in seen.values]


def _right_values(case: Case, seen: Observation) -> bool:
    want = case.facts["held"][case.facts["root"]]
    return all(close(got, want, 0.0) for got in _after(seen))


def _round_trip(case: Case) -> float:
    return _LATENCY + float(case.facts["held"][0].nbytes) / _BANDWIDTH


def claim(case: Case, seen: Observation) -> str | None:
    """Everybody has the root's tensor, by N − 1 messages in ⌈log₂ N⌉ rounds."""
    root = case.facts["root"]
    want = case.facts["held"][root]
    for rank, got in enumerate(_after(seen)):
        if not close(got, want, 0.0):
            return f"{case.name}, rank {rank}'s tensor does not hold rank {root}'s values."
    needed = rounds(case.ranks)
    if seen.messages[root] != needed:
        sent = count(seen.messages[root], "message")
        return f"{case.name}, the root sent {sent}; ⌈log₂ {case.ranks}⌉ is {needed}."
    if sum(seen.messages) != case.ranks - 1:
        return (
            f"{case.name}, {sum(seen.messages)} messages were sent; {case.ranks - 1} are enough, "
            "one to every rank but the root."
        )
    took, allowed = max(seen.seconds, default=0.0), needed * _round_trip(case)
    if took > allowed * 1.01:
        return (
            f"{case.name}, it took {took / _round_trip(case):.3g} rounds; {needed} are enough: "
            "in every round each rank that has the tensor sends it on."
        )
    return None


def _naive(case: Case, seen: Observation) -> str | None:
    root, n = case.facts["root"], case.ranks
    if not _right_values(case, seen) or seen.messages[root] != n - 1 or n - 1 == rounds(n):
        return None
    return (
        f"{case.name}, every rank has the tensor, but the root sent all {n - 1} messages itself; "
        f"⌈log₂ {n}⌉ = {rounds(n)} are its part. Let those that have the tensor send it on."
    )


def _chain(case: Case, seen: Observation) -> str | None:
    if not _right_values(case, seen) or case.ranks < 3 or max(seen.messages) != 1:
        return None
    return (
        f"{case.name}, every rank has the tensor, but it went hand to hand through "
        f"{case.ranks - 1} rounds instead of {rounds(case.ranks)}: whoever has it sends again in "
        "the next round, so the number of ranks that have it doubles."
    )


def _ignores_root(case: Case, seen: Observation) -> str | None:
    root = case.facts["root"]
    if root == 0 or not all(close(v, case.facts["held"][0], 0.0) for v in _after(seen)):
        return None
    return (
        f"{case.name}, every rank ended with rank 0's tensor. Count places from the root: "
        "place = (rank − root) % N, and place p is rank (p + root) % N."
    )


def _not_in_place(case: Case, seen: Observation) -> str | None:
    want = case.facts["held"][case.facts["root"]]
    returned = [v["returned"] for v in seen.values]
    if case.ranks == 1 or not any(close(r, want, 0.0) for r in returned):
        return None
    return (
        f"{case.name}, the right tensor was returned, but the one that was given stayed as it was. "
        "Receive into it: `comm.recv(source, into=tensor)`, or `tensor.copy_(...)`."
    )


def _lost(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks == 1 or sum(seen.messages) != case.ranks - 1:
        return None
    held = case.facts["held"]
    same = [r for r, v in enumerate(_after(seen)) if close(v, held[r], 0.0)]
    stale = [r for r in same if r != case.facts["root"]]
    if not stale:
        return None
    return (
        f"{case.name}, rank {stale[0]} received the tensor but still holds its own: `tensor = "
        "comm.recv(...)` only names a new tensor. Receive with `into=tensor`, or copy into it."
    )


def _no_partner(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "the ranks are 0 to" not in seen.text:
        return None
    if case.ranks & (case.ranks - 1) == 0:
        return (
            f"{case.name}, rank {seen.rank} asks for a rank that does not exist: from a root in "
            "the middle, ranks are counted round the circle. Take the partner's number `% N`."
        )
    return (
        f"{case.name}, rank {seen.rank} asks for a rank that does not exist: where N is no power "
        "of two, some partners of the last round are missing. Ask whether place + distance < N."
    )


def _wraps_round(case: Case, seen: Observation) -> str | None:
    n, root, last = case.ranks, case.facts["root"], 1 << max(rounds(case.ranks) - 1, 0)
    for rank, words in seen.waiting.items():
        beyond = (rank - root) % n + last >= n
        if not (beyond and "send" in words and words.endswith(f"rank {(rank + last) % n}")):
            return None
    if not seen.waiting:
        return None
    rank, words = min(seen.waiting.items())
    return (
        f"{case.name}, rank {rank} {words}, round the end of the circle: it means place "
        f"{(rank - root) % n + last}, and there are {n}. Send only where place + distance < N."
    )


def _all_wait(case: Case, seen: Observation) -> str | None:
    receiving = [r for r, words in sorted(seen.waiting.items()) if "receive" in words]
    if not receiving:
        return None
    first = receiving[0]
    return (
        f"{case.name}, rank {first} {seen.waiting[first]}, which never sends to it. In "
        "the round with distance d, places 0 to d − 1 send and places d to 2d − 1 receive."
    )


def _place_for_rank(case: Case, seen: Observation) -> str | None:
    """A message to oneself in a tree that does not begin at rank 0."""
    rank, root = sends_to_itself(case, seen), case.facts["root"]
    if rank is None or root == 0:
        return None
    return (
        f"{case.name}, rank {rank} sends to itself, or waits for a message of its own: a place in "
        f"the tree was taken for a rank. Place p is rank (p + {root}) % {case.ranks}."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}, from any root; on 8 ranks it took 3 rounds and the root sent "
        "3 messages."
    )


EXERCISE = Exercise(
    number="02.2",
    title="Broadcast along a tree",
    stars=2,
    minutes=15,
    points=3,
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
        Mistake("the root sends to everybody", _naive),
        Mistake("hand to hand along a chain", _chain),
        Mistake("ignores the root", _ignores_root),
        Mistake("returns a new tensor", _not_in_place),
        Mistake("receives into a new name", _lost),
        Mistake("asks for ranks that do not exist", _no_partner, unfinished=True),
        Mistake("sends round the end of the circle", _wraps_round, unfinished=True),
        Mistake("waits for the wrong rank", _all_wait, unfinished=True),
    ),
    praise=praise,
    reference=broadcast_wrong.reference,
    wrong=(
        WrongAnswer("naive", broadcast_wrong.naive, hint="the root sent all 4 messages itself"),
        WrongAnswer("chain", broadcast_wrong.chain, hint="hand to hand through 4 rounds"),
        WrongAnswer(
            "always from rank 0", broadcast_wrong.from_rank_0, hint="Count places from the root"
        ),
        WrongAnswer(
            "places for ranks", broadcast_wrong.places_for_ranks, hint="was taken for a rank"
        ),
        WrongAnswer(
            "returns a new tensor",
            broadcast_wrong.returns_new,
            hint="the right tensor was returned",
        ),
        WrongAnswer(
            "receives into a new name", broadcast_wrong.rebinds, hint="only names a new tensor"
        ),
        WrongAnswer(
            "powers of two only", broadcast_wrong.no_bound, hint="a rank that does not exist"
        ),
        WrongAnswer("wraps round", broadcast_wrong.wraps_round, hint="round the end of the circle"),
        WrongAnswer("wrong partner", broadcast_wrong.wrong_partner, hint="which never sends to it"),
    ),
    figure=0,
)
