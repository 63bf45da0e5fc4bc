"""Figures of a data-parallel step: cut out of a trace, modelled, and its efficiency by ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from helpers.engine.trace import Trace
from helpers.lessons.data_parallel.experiments.step_model import Step
from helpers.notebook import style
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


def step_picture(limits: Sequence[float], limit: float, step_of: Callable[[float], Step]) -> Any:
    """A step's timeline over its time for all bucket sizes, as a figure.

    limits: bucket sizes in MB. limit: the one that is drawn. step_of: the step for a size.
    """
    figure, (top, bottom) = style.axes(rows=2, height=4.4)
    style.fix_layout(figure, left=0.1, right=0.98, bottom=0.11, top=0.91, hspace=0.55)
    step = step_of(limit)
    step.trace().plot(ax=top)
    top.set_ylim(0.5, -0.4)
    curve = [1e3 * step_of(other).seconds for other in limits]
    bottom.plot(limits, curve, **style.modelled())
    here = {
        "color": style.BLUE,
        "marker": "o",
        "markersize": 10,
        "linestyle": "none",
        "label": "here",
    }
    bottom.plot([limit], [1e3 * step.seconds], **here)
    bottom.axhline(1e3 * step.computed, color=style.GREY, linewidth=1, label="computing alone")
    bottom.set(xscale="log", xlabel="bucket size (MB)", ylabel="step (ms)")
    bottom.set_ylim(0, 1.25 * max(curve))
    style.ticks(bottom.xaxis, limits)
    bottom.legend(ncols=3, loc="lower right")
    return figure


def step_words(limits: Sequence[float], limit: float, step_of: Callable[[float], Step]) -> str:
    """What `step_picture` shows."""
    step = step_of(limit)
    best = min(limits, key=lambda other: step_of(other).seconds)
    return (
        f"Above, a timeline of one rank: {1e3 * step.computed:.0f} ms of computing, "
        f"{len(step.sums)} buckets on the communication thread, the step ends at "
        f"{1e3 * step.seconds:.0f} ms. Below, the step's time against bucket size; the least, "
        f"{1e3 * step_of(best).seconds:.0f} ms, is at {best} MB."
    )


def show_efficiency(
    ranks: Sequence[int],
    model: Mapping[float, Sequence[float]],
    ours: float,
    horovod: Mapping[str, Mapping[str, float]],
    goyal: tuple[int, float],
) -> None:
    """Efficiency (%) against ranks: modelled, measured on 2 ranks, published.

    model: for each part of the computing time that the bytes take, a value a number of ranks.
    horovod: by "gpus_N" and network. goyal: GPUs and efficiency.
    """
    figure, ax = style.axes(height=4.0)
    middle = len(ranks) // 2 - 1
    for number, (part, values) in enumerate(model.items()):
        ax.plot(ranks, values, **style.modelled(label="modelled" if number == 0 else ""))
        style.note(ax, f"{part:.0%}", (ranks[middle], values[middle]), (0, 3), color=style.RED)
    ax.plot([2], [ours], **style.measured(label="measured: ours"))
    points = [(int(n[5:]), v) for n, nets in horovod.items() for v in nets.values()] + [goyal]
    ax.plot(*zip(*points, strict=True), **style.published())
    for words, at, up in (
        ("Inception-v3,\nResNet-101 [H]", (128, 90), 17),
        ("VGG-16 [H]", (128, 79), -15),
        ("VGG-16 [H]", (512, 68), -24),
        ("ResNet-50 [G], and\nboth of [H] at 512", (424, 90), 17),
    ):
        style.note(ax, words, at, (0, up), ha="center", fontsize=8)
    ax.set(xscale="log", xlabel="ranks", ylabel="efficiency (%)", ylim=(0, 115), xlim=(0.9, 800))
    style.ticks(ax.xaxis, ranks)
    ax.legend(loc="lower left")
    parts = ", ".join(f"{part:.0%}: {values[-1]:.0f} %" for part, values in model.items())
    show(
        figure,
        caption="Efficiency is lost as soon as the bytes take longer than backward can hide (in "
        "red: their part of the computing). [H] Horovod’s documentation, [G] Goyal et al. 2017.",
        alt=f"Efficiency against ranks from {ranks[0]} to {ranks[-1]}. Modelled at {ranks[-1]} "
        f"ranks, for sums whose bytes take a part of the computing time: {parts}. Published: 90, "
        "90 and 79 % at 128 GPUs, 90 % at 352, 90, 90 and 68 % at 512. "
        f"Measured here: {ours:.0f} % on 2 ranks.",
    )
