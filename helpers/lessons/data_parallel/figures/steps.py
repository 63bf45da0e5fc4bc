"""Figures of a modelled data-parallel step: a widget's picture, and efficiency against ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.lessons.data_parallel.experiments.step_model import Step
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, GREY, RED, axes, fix_layout, measured, modelled, published


def step_picture(limits: Sequence[float], limit: float, step_of: Callable[[float], Step]) -> Any:
    """A step's timeline over its time for all bucket sizes, as a figure.

    limits: bucket sizes in MB. limit: the one that is drawn. step_of: the step for a size.
    """
    figure, (top, bottom) = axes(rows=2, height=4.4)
    fix_layout(figure, left=0.1, right=0.98, bottom=0.11, top=0.91, hspace=0.55)
    step = step_of(limit)
    step.trace().plot(ax=top)
    top.set_ylim(0.5, -0.4)
    curve = [1e3 * step_of(other).seconds for other in limits]
    bottom.plot(limits, curve, **modelled())
    here = {"color": BLUE, "marker": "o", "markersize": 10, "linestyle": "none", "label": "here"}
    bottom.plot([limit], [1e3 * step.seconds], **here)
    bottom.axhline(1e3 * step.computed, color=GREY, linewidth=1, label="computing alone")
    bottom.set(xscale="log", xlabel="bucket size (MB)", ylabel="step (ms)")
    bottom.set_ylim(0, 1.25 * max(curve))
    bottom.set_xticks(limits, [str(other) for other in limits])
    bottom.minorticks_off()
    bottom.legend(ncols=3, loc="lower right", frameon=False)
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
    figure, ax = axes(height=4.0)
    middle = len(ranks) // 2 - 1
    for number, (part, values) in enumerate(model.items()):
        ax.plot(ranks, values, **modelled(label="modelled" if number == 0 else ""))
        above = {"xytext": (0, 3), "textcoords": "offset points", "color": RED, "fontsize": 9}
        ax.annotate(f"{part:.0%}", (ranks[middle], values[middle]), **above)
    ax.plot([2], [ours], **measured(label="measured: ours"))
    points = [(int(n[5:]), v) for n, nets in horovod.items() for v in nets.values()] + [goyal]
    ax.plot(*zip(*points, strict=True), **published())
    for words, at, up in (
        ("Inception-v3,\nResNet-101 [H]", (128, 90), 17),
        ("VGG-16 [H]", (128, 79), -15),
        ("VGG-16 [H]", (512, 68), -24),
        ("ResNet-50 [G], and\nboth of [H] at 512", (424, 90), 17),
    ):
        beside = {"xytext": (0, up), "textcoords": "offset points", "ha": "center", "fontsize": 8}
        ax.annotate(words, at, **beside)
    ax.set(xscale="log", xlabel="ranks", ylabel="efficiency (%)", ylim=(0, 115), xlim=(0.9, 800))
    ax.set_xticks(ranks, [str(n) for n in ranks])
    ax.minorticks_off()
    ax.legend(loc="lower left", frameon=False)
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
