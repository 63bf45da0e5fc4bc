"""One step cut out of a trace, for a timeline in which the step fills the width."""

from __future__ import annotations

from dataclasses import replace

from helpers.engines.trace import Trace


def last_step(trace: Trace) -> Trace:
    """What came after the last barrier of the ranks' own threads, from time zero.

    Put a `comm.barrier()` before the step that is to be drawn. A trace without one is returned
    as it is.
    """
    ends = [e.end for e in trace if e.label == "barrier" and e.lane == 0]
    if not ends:
        return trace
    begin = max(ends)
    kept = [
        replace(e, start=max(e.start, begin) - begin, end=e.end - begin)
        for e in trace
        if e.end > begin
    ]
    return Trace(kept, trace.size, trace.virtual)


def share_beside(trace: Trace) -> float:
    """Of the time that communication threads are busy, the part in which their ranks compute."""
    busy = beside = 0.0
    for rank in range(trace.size):
        for event in trace.of(rank, lane=1):
            busy += event.end - event.start
            for own in trace.of(rank, "computing", lane=0):
                beside += max(0.0, min(event.end, own.end) - max(event.start, own.start))
    return beside / busy if busy else 0.0
