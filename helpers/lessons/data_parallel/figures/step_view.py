"""One step cut out of a trace, for a timeline in which the step fills the width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from helpers.engine.trace import Trace
from helpers.notebook.figures import show


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


def show_without_overlap(without: Any) -> None:
    """A step on the clock whose sums come after backward. without: its results."""
    show(
        without.trace.plot(arrows=False),
        caption="Without overlap the links rest while the ranks compute, and no rank computes "
        "while the links work.",
        alt="Timeline of four ranks on the virtual clock: all compute for 24 ms, then send "
        f"and wait round the ring until {1e3 * max(without.stats.seconds):.1f} ms.",
    )


def show_with_overlap(with_overlap: Any, without: Any) -> None:
    """The same with overlap, on the scale of the figure without. Both: results."""
    figure = with_overlap.trace.plot(arrows=False)
    figure.axes[0].set_xlim(0, 1e3 * max(without.stats.seconds) * 1.01)
    show(
        figure,
        caption="With overlap and four buckets only the last bucket is left when backward "
        "ends; the scale is that of the figure above.",
        alt="Timeline of four ranks on the virtual clock: computing for 24 ms, and in a "
        "thin row under each rank its communication thread sends four buckets, the "
        "first from 12 ms on; the step ends at "
        f"{1e3 * max(with_overlap.stats.seconds):.1f} ms.",
    )


def show_real_step(step: Trace) -> None:
    """A step on two real ranks with their communication threads."""
    show(
        step.plot(arrows=False),
        caption=f"One step on two real ranks: in {share_beside(step):.0%} of the time in which "
        "the communication threads (thin rows) are at work, their rank computes too.",
        alt=f"Timeline of two real ranks over {1e3 * step.duration:.0f} ms: a wide row "
        "for each rank, computing or waiting, and under it a thin row of its "
        f"communication thread, sending and waiting; {share_beside(step):.0%} of the "
        "thin rows lie under computing.",
    )
