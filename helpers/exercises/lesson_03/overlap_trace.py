"""What the trace shows of exercise 03.5: when each bucket went out, whatever the answer says."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.engines.trace import Event


def sent_during_backward(
    events: Sequence[Event], rank: int, layers: int, nbytes: Sequence[int]
) -> list[bool]:
    """For each step, whether the rank's communication thread began while backward computed.

    Ranks other than 0 must also have sent there one message a bucket, of `nbytes` bytes: the
    driver's all-reduce sends a bucket to rank 0. layers: how often backward computes in a step.
    """
    mine = [event for event in events if event.rank == rank]
    work = [event for event in mine if event.kind == "computing" and event.lane == 0]
    behind = [event for event in mine if event.lane == 1]
    found = []
    for first in range(0, len(work), layers):
        begin, end = work[first].start, work[min(first + layers, len(work)) - 1].end
        after = work[first + layers].start if first + layers < len(work) else float("inf")
        own = [event for event in behind if begin <= event.start < after]
        sent = sorted(event.bytes for event in own if event.kind == "sending")
        whole = rank == 0 or sent == sorted(nbytes)
        found.append(whole and any(event.start < end for event in own))
    return found
