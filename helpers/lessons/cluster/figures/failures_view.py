"""Figures of lesson 17: what failures cost, how often to save, and what a quorum gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from helpers.lessons.cluster.experiments.failure_clock import Job, Run, luck, share
from helpers.lessons.cluster.experiments.failure_published import PublishedShare
from helpers.lessons.cluster.experiments.failure_settings import (
    Compared,
    Interval,
    Share,
    chosen_for,
    expected_share,
)
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    ORANGE,
    PUBLISHED,
    SKY,
    axes,
    fix_layout,
    measured,
    modelled,
)
from helpers.notebook.tables import Table

# What a job does, as the legend names it, and how it is drawn.
DOES: dict[str, tuple[str, dict[str, Any]]] = {
    "work": ("work", {"facecolor": GREEN, "hatch": ""}),
    "lost": ("lost work", {"facecolor": "#F3C9B0", "hatch": "xxxx"}),
    "save": ("saving", {"facecolor": ORANGE, "hatch": "////"}),
    "restart": ("restarting", {"facecolor": SKY, "hatch": "\\\\\\\\"}),
}
TICKS = (
    1,
    10,
    60,
    300,
    1800,
    7200,
    28_800,
    172_800,
    864_000,
    4_320_000,
)  # seconds, on an axis of intervals
SEEN = 0.002  # of the width: what is shorter has no place in the legend


def said(seconds: float) -> str:
    """A time as people say it: "45 s", "19 min", "3.1 h", "12 days"."""
    for least, unit, name in ((172_800, 86_400, "days"), (7200, 3600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s"


# --- tables ---------------------------------------------------------------------------------------


def compared_table(rows: Sequence[Compared], caption: str = "") -> Table:
    """Each setting's interval by the formula beside the best one on the clock."""
    return Table(
        ["setting", "fails every", "save", "Young", "formula", "best on the clock", "apart",
         "time lost", "of it too much"],
        [
            [
                row.name,
                said(row.job.mtbf),
                said(row.job.save),
                said(row.young),
                said(row.formula),
                said(row.best),
                f"{100 * row.off:+.1f} %",
                f"{100 * (1 - row.share):.1f} %",
                f"{100 * max(0.0, row.lost_more):.1f} %",
            ]
            for row in rows
        ],
        caption,
    )  # fmt: skip


def published_table(rows: Sequence[PublishedShare], caption: str = "") -> Table:
    """Published shares of effective time beside ours, with what ours takes for granted."""
    return Table(
        ["job", "published", "formula", "clock", "apart", "assumed"],
        [
            [
                row.name,
                f"{'> ' * row.at_least}{100 * row.published:.1f} %",
                f"{100 * row.expected:.1f} %",
                f"{100 * row.clock:.1f} %",
                f"{100 * row.apart:+.1f}",
                row.assumed,
            ]
            for row in rows
        ],
        caption,
    )


def promises_words(version: str) -> str:
    """Under the table of what `async_save` writes. version: torch's."""
    return (
        f"torch {version.partition('+')[0]}. A stager makes the copy that is "
        "written. In a thread, wait for its `staging_completion` before the "
        "optimizer's next step; and use no stager again before its save is done."
    )


# --- what a job did -------------------------------------------------------------------------------


def show_runs(runs: Mapping[str, Run], caption: str) -> None:
    """What each job did, a panel a job, by hours of the clock."""
    figure, panels = axes(rows=len(runs), height=0.7 + 1.02 * len(runs))
    panels = [panels] if len(runs) == 1 else list(panels)
    told, seen = [], {}
    end = max(each.seconds for each in runs.values()) / 3600
    for ax, (name, each) in zip(panels, runs.items(), strict=True):
        for what, (label, look) in DOES.items():
            bars = [
                (span.begin / 3600, (span.end - span.begin) / 3600)
                for span in each.spans
                if span.what == what
            ]
            drawn = ax.broken_barh(bars, (-0.4, 0.8), edgecolor="white", linewidth=0.3, **look)
            if max((length for _, length in bars), default=0.0) > SEEN * end:
                seen[label] = drawn
        ax.set(xlim=(0, end), ylim=(0.5, -0.5), yticks=[])
        ax.grid(axis="y", visible=False)
        ax.set_title(f"{name}: {100 * each.share:.1f} % effective", loc="left")
        told.append(f"{name}: {100 * each.share:.1f} % of {said(each.seconds)} is effective")
    panels[-1].set_xlabel("hours of the clock")
    panels[0].legend(
        seen.values(), seen, loc="lower right", bbox_to_anchor=(1, 1), ncols=3,
        fontsize=8, handlelength=1.4, columnspacing=1.0,
    )  # fmt: skip
    show(figure, caption, f"What the job does, by time. {'; '.join(told)}.")


# --- the share of time ----------------------------------------------------------------------------


class Curves(NamedTuple):
    """Shares over `seconds` of work between two saves, and at the interval that is chosen."""

    seconds: np.ndarray
    formula: np.ndarray
    clock: np.ndarray
    chosen: float
    there: float


def curves_of(job: Job, interval: Interval, effective: Share) -> Curves:
    """Both shares for intervals around the formula's choice."""
    chosen = chosen_for(job, interval)
    seconds = np.geomspace(max(job.behind - job.save, chosen / 30, 1e-3), chosen * 30, 61)
    formula = [expected_share(job, each, effective) for each in seconds.tolist()]
    there = expected_share(job, chosen, effective)
    clock = share(job, seconds, luck(20_000, 1))
    return Curves(seconds, np.array(formula), clock, chosen, there)


def show_intervals(job: Job, interval: Interval, effective: Share) -> None:
    """Useful time over the work between two saves, of a job that waits for all saves: by the
    formula and on the clock, and the interval that is chosen."""
    figure, ax = axes(height=3.6)
    curves = curves_of(job, interval, effective)
    _draw(ax, curves)
    others = [expected_share(job, curves.chosen * by, effective) for by in (0.5, 2, 10)]
    half, twice, ten = (f"{100 * (curves.there - each):.1f}" for each in others)
    show(
        figure,
        "The share of time that is of use, over the work between two saves, of Llama 3's job if "
        f"all waited for a save. The top is flat: by the formula half the chosen interval costs "
        f"{half} points, twice as much {twice}, ten times as much {ten}.",
        _interval_words(job, curves),
    )


def _draw(ax: Any, curves: Curves) -> None:
    minutes, chosen = curves.seconds / 60, curves.chosen
    ax.plot(minutes, 100 * curves.formula, **modelled(label="formula"))
    dots = measured(BLUE, "on the clock")
    ax.plot(minutes[::3], 100 * curves.clock[::3], markersize=4, **dots)
    ax.axvline(chosen / 60, color=GREY, linewidth=1, linestyle="--")
    ax.plot(chosen / 60, 100 * curves.there, "*", color="#222222", markersize=13,
            label=f"the formula’s choice, {said(chosen)}")  # fmt: skip
    ax.set(xscale="log", xlabel="work between two saves", ylabel="effective time (%)")
    ax.set_ylim(0, 100)
    ticks = [each for each in TICKS if minutes[0] <= each / 60 <= minutes[-1]]
    ax.set_xticks([each / 60 for each in ticks], [said(each) for each in ticks])
    ax.minorticks_off()
    ax.legend(loc="lower left", fontsize=9)


def _interval_words(job: Job, curves: Curves) -> str:
    top = int(np.argmax(curves.clock))
    return (
        f"Effective share of time against the work between two saves, logarithmic, for "
        f"{job.gpus} GPU{'s' * (job.gpus > 1)} that fail every {said(job.mtbf)} together, saves of "
        f"{said(job.save)} and restarts of {said(job.restart)}: the formula chooses "
        f"{said(curves.chosen)}, which leaves {100 * curves.there:.1f} %; of those drawn the clock "
        f"finds {said(curves.seconds[top])} best, with {100 * curves.clock[top]:.1f} %."
    )


def show_by_gpus(
    gpus: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    points: Mapping[str, Sequence[float]],
    published: Sequence[PublishedShare],
) -> None:
    """The effective share over the number of GPUs: formulas, the clock, and what is published."""
    figure, ax = axes(height=4.0)
    colours = dict(zip(curves, CYCLE, strict=False))
    for name, shares in curves.items():
        ax.plot(gpus, [100 * each for each in shares], **modelled(colours[name], name))
    for number, (name, shares) in enumerate(points.items()):
        label = "on the clock" if number == 0 else None
        ax.plot(gpus, [100 * each for each in shares], "o", color=colours[name], markersize=4,
                label=label)  # fmt: skip
    for mark, each in zip("Ds^v", published, strict=False):  # names beside them would hide curves
        label = f"{each.name}: {'more than ' * each.at_least}{100 * each.published:.0f} %"
        look = {**PUBLISHED, "label": label, "marker": mark}
        ax.plot(each.gpus, 100 * each.published, **look)
    ax.set(xscale="log", xlabel="GPUs", ylabel="effective time (%)", ylim=(0, 104))
    ax.set_xticks(gpus, [f"{each:,}".replace(",", "\u202f") for each in gpus], fontsize=8)
    ax.minorticks_off()
    ax.legend(fontsize=8, loc="lower left", title="white: published", title_fontsize=8)
    told = "; ".join(
        f"{name}: {100 * shares[0]:.1f} % on {gpus[0]} GPUs, {100 * shares[-1]:.1f} % on {gpus[-1]}"
        for name, shares in curves.items()
    )
    marked = "; ".join(
        f"{each.name}: {'more than ' * each.at_least}{100 * each.published:.0f} %"
        for each in published
    )
    show(
        figure,
        "The share of time that is of use, for Llama 3's rate of failures and for saves and "
        "restarts that others print of jobs of its size. Restarting everybody does not scale; "
        "restarting one group of 128 nearly does. torchft's point lies apart: there a group was "
        "killed every minute, on purpose. The job of 100,000 GPUs failed more often than Llama 3's "
        "rate says.",
        f"Effective share of time against the number of GPUs, logarithmic. {told}. Published: "
        f"{marked}.",
    )


# --- the widget -----------------------------------------------------------------------------------


def _job(GPUs: int, years_a_GPU: float, save_s: float, restart_min: float) -> Job:
    return Job(years_a_GPU * 365.25 * 24, GPUs, save_s, 60 * restart_min)


def knobs_picture(interval: Interval, effective: Share, **knobs: Any) -> Any:
    """The effective share over the interval for a job of one's own, and the formula's choice.

    knobs: as `_job` takes them.
    """
    figure, ax = axes(height=3.8)
    fix_layout(figure, left=0.1, right=0.985, bottom=0.13, top=0.92)
    job = _job(**knobs)
    curves = curves_of(job, interval, effective)
    _draw(ax, curves)
    ax.set_title(
        f"a failure every {said(job.mtbf)}; save after {said(curves.chosen)} of work: "
        f"{100 * curves.there:.1f} % effective",
        loc="left",
    )
    return figure


def knobs_words(interval: Interval, effective: Share, **knobs: Any) -> str:
    """What `knobs_picture` shows."""
    return _interval_words(_job(**knobs), curves_of(_job(**knobs), interval, effective))
