"""The messages of exercise 14.7: to whom, how many bytes, when, and who waits for them."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.exercises.compare import count, listing
from helpers.exercises.spec import Case, Observation


def not_to_the_right(case: Case, seen: Observation) -> Iterator[str]:
    """Messages to somebody else."""
    for rank, sent in enumerate(seen.sent):
        right = (rank + 1) % case.ranks
        others = sorted(set(sent) - {right})
        if others:
            yield (
                f"rank {rank} sent to rank{'s' if len(others) > 1 else ''} {listing(others)}: in a "
                f"ring it sends to its right neighbour alone, rank {right}, and holds one block "
                "that passes."
            )


def bytes_sent(case: Case, seen: Observation) -> Iterator[str]:
    """Other bytes than those of all blocks but the right neighbour's own."""
    held = [args[1].nbytes + args[2].nbytes for args in case.args]
    for rank, got in enumerate(seen.bytes):
        want = sum(held) - held[(rank + 1) % case.ranks]
        if got == want:
            continue
        begin = f"rank {rank} sent {got} B, where the blocks that it passes have {want} B"
        rounds = seen.messages[rank] / case.ranks
        if case.ranks > 1 and got == sum(held) and rounds in (1, 2):
            yield (
                f"{begin}: each block came back to the rank that it began with, which has it. "
                f"{count(case.ranks - 1, 'message')} are enough for {case.ranks} blocks."
            )
        if got == 0:
            yield f"{begin}: no key of another rank has come to anybody."
        if case.ranks == 1:
            yield f"{begin}: alone, there is nobody to send to."
        more = "is longer than keys and values take" if got > want else "is shorter than they are"
        yield f"{begin}: what travels {more}. Queries stay, and so do results."


def gathers(case: Case, seen: Observation) -> Iterator[str]:
    """Nothing is computed from the first block that arrives to the last; where it can be seen."""
    for rank, value in enumerate(seen.values):
        if case.ranks > 2 and value["between"] is False:
            yield (
                f"rank {rank} took in all blocks, one behind the other, and computed nothing in "
                "between: it held the whole sequence. Work on each block when it arrives, and let "
                "it go."
            )


def left_open(case: Case, seen: Observation) -> Iterator[str]:
    """A receive that nobody waits for, and that will take what is sent next."""
    for rank, value in enumerate(seen.values):
        if value["receiving"]:
            yield (
                f"rank {rank} began to receive and never waited: a receive is left open, and takes "
                f"the next message, whoever it was for. {count(case.ranks - 1, 'block')} arrive."
            )


def all_send(case: Case, seen: Observation) -> Iterator[str]:
    """Every rank waits until somebody receives."""
    waits = [seen.waiting.get(rank, "") for rank in range(case.ranks)]
    if seen.trouble == "deadlock" and all(each.startswith("waits to send") for each in waits):
        yield (
            "every rank waits for its right neighbour to take a message, and that one waits as "
            "well. Nobody comes to receive: start to send with `comm.isend`, receive, then "
            "`wait()`."
        )
