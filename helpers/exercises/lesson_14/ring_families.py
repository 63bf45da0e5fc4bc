"""Families of wrong answers to exercise 14.7, and what attention in one piece gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.compare import count, describe, is_array, listing
from helpers.exercises.spec import Case, Observation


def returned(value: Any) -> tuple[Any, Any]:
    """The mixed values and the logarithms that a rank gave; None, None where it gave no pair."""
    gave = value["returned"]
    if isinstance(gave, tuple | list) and len(gave) == 2:
        return gave[0], gave[1]
    return None, None


def dense_of(case: Case) -> tuple[list[Any], list[Any]]:
    """Each rank's mixed values and logarithms of sums, by attention in one piece."""
    places = [np.asarray(held, dtype=int) for held in case.facts["places"]]
    heads, _, width = case.args[0][0].shape
    length = sum(map(len, places))
    query, key, value = (np.empty((heads, length, width)) for _ in range(3))
    for held, args in zip(places, case.args, strict=True):
        query[:, held], key[:, held], value[:, held] = args[:3]
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(width)
    if case.args[0][3] is not None:
        scores[:, np.triu(np.ones((length, length), dtype=bool), 1)] = -np.inf
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    mixed, log_sums = weights @ value / total, (top + np.log(total))[..., 0]
    return [mixed[:, held] for held in places], [log_sums[:, held] for held in places]


def blocks(case: Case) -> list[int]:
    """The bytes of each rank's keys and values."""
    return [args[1].nbytes + args[2].nbytes for args in case.args]


def no_pair(case: Case, seen: Observation) -> str | None:
    """No values and logarithms."""
    for rank, value in enumerate(seen.values):
        if returned(value) == (None, None):
            what = describe(value["returned"])
            return f"{case.name}, rank {rank} returned {what}: return the pair (mixed, log_sums)."
    return None


def shapes(case: Case, seen: Observation) -> str | None:
    """Results of other shapes."""
    for rank, value in enumerate(seen.values):
        for gave, want, what in zip(returned(value), dense_of(case), WHAT, strict=True):
            shape = want[rank].shape
            if is_array(gave) and gave.shape != shape:
                return (
                    f"{case.name}, the {what} of rank {rank} has the shape {gave.shape}: a result "
                    f"for each head and query of this rank is {shape}."
                )
    return None


WHAT = ("first result", "second result")


def not_a_number(case: Case, seen: Observation) -> str | None:
    """NaN or infinity: too large scores, queries without a key, or a block without a key first."""
    for rank, value in enumerate(seen.values):
        mixed, log_sums = returned(value)
        both = np.concatenate([mixed, log_sums[..., None]], -1)
        if np.isfinite(both).all():
            continue
        if case.facts["large"]:
            return (
                f"{case.name}, rank {rank}'s results are not finite: exp of a large score is "
                "infinite, and of one far below what was subtracted it is 0. Subtract the largest "
                "score that this query of this head sees, from −∞ on, and when a block brings a "
                "larger one, make the old sums smaller."
            )
        held = np.asarray(case.facts["places"][rank])
        bad = held[~np.isfinite(both).all((0, 2))].tolist()
        if bad == [0]:
            return (
                f"{case.name}, the result at position 0 is not finite: that query sees no key at "
                "all, not even its own. Mask keys that are later (>), not those at the same place."
            )
        return (
            f"{case.name}, rank {rank}'s results at positions {listing(bad[:4])} are not finite: "
            "where a query sees no key of a block, its largest score is −∞, and neither −∞ − (−∞) "
            "nor a softmax over nothing is a number. Begin with the own block, where every query "
            "sees itself, and keep the maximum running; and is the mask that of the rank from "
            "which the block has come?"
        )
    return None


def changed(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    if not any(value["changed"] for value in seen.values):
        return None
    return (
        f"{case.name}, queries, keys, values or places that were handed in were written into: work "
        "on new tensors."
    )


def not_to_the_right(case: Case, seen: Observation) -> str | None:
    """Messages to somebody else."""
    for rank, sent in enumerate(seen.sent):
        right = (rank + 1) % case.ranks
        others = sorted(set(sent) - {right})
        if others:
            return (
                f"{case.name}, rank {rank} sent to {_ranks(others)}: in a ring it sends to its "
                f"right neighbour alone, rank {right}, and holds one block that passes."
            )
    return None


def _ranks(some: list[int]) -> str:
    return f"rank{'s' if len(some) > 1 else ''} {listing(some)}"


def bytes_sent(case: Case, seen: Observation) -> str | None:
    """Other bytes than those of all blocks but the right neighbour's own."""
    held = blocks(case)
    for rank, got in enumerate(seen.bytes):
        want = sum(held) - held[(rank + 1) % case.ranks]
        if got == want:
            continue
        begin = (
            f"{case.name}, rank {rank} sent {got} B, where the blocks that it passes have {want} B"
        )
        rounds = seen.messages[rank] / case.ranks
        if case.ranks > 1 and got == sum(held) and rounds in (1, 2):
            return (
                f"{begin}: each block came back to the rank that it began with, which has it. "
                f"{count(case.ranks - 1, 'message')} are enough for {case.ranks} blocks."
            )
        if got == 0:
            return f"{begin}: no key of another rank has come to anybody."
        if case.ranks == 1:
            return f"{begin}: alone, there is nobody to send to."
        more = "is longer than keys and values take" if got > want else "is shorter than they are"
        return f"{begin}: what travels {more}. Queries stay, and so do results."
    return None


def gathers(case: Case, seen: Observation) -> str | None:
    """Nothing is computed from the first block that arrives to the last; where it can be seen."""
    for rank, value in enumerate(seen.values):
        if case.ranks > 2 and value["between"] is False:
            return (
                f"{case.name}, rank {rank} took in all blocks, one behind the other, and computed "
                "nothing in between: it held the whole sequence. Work on each block when it "
                "arrives, and let it go."
            )
    return None


def left_open(case: Case, seen: Observation) -> str | None:
    """A receive that nobody waits for, and that will take what is sent next."""
    for rank, value in enumerate(seen.values):
        if value["receiving"]:
            return (
                f"{case.name}, rank {rank} began to receive and never waited: a receive is left "
                "open, and takes the next message, whoever it was for. "
                f"{count(case.ranks - 1, 'block')} arrive."
            )
    return None


def all_send(case: Case, seen: Observation) -> str | None:
    """Every rank waits until somebody receives."""
    waits = [seen.waiting.get(rank, "") for rank in range(case.ranks)]
    if seen.trouble != "deadlock" or not all(each.startswith("waits to send") for each in waits):
        return None
    return (
        f"{case.name}, every rank waits for its right neighbour to take a message, and that one "
        "waits as well. Nobody comes to receive: start to send with `comm.isend`, receive, then "
        "`wait()`."
    )
