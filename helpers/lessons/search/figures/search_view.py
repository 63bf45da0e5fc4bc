"""Figures of lesson 16: who trained which trial when, and what it cost not to wait."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np

from helpers.lessons.search.experiments.best_of_many import Chosen
from helpers.lessons.search.experiments.search_clock import Span
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, CYCLE, GREEN, GREY, ORANGE, RED, SKY, axes, note, ticks

RUNGS = (SKY, ORANGE, GREEN, RED, BLUE)


def idle(spans: Sequence[Span], workers: int) -> float:
    """The share of the workers' time, from the start to the last job's end, without a job."""
    end = max(span.end for span in spans)
    return 1 - sum(span.end - span.begin for span in spans) / (workers * end)


def duration(spans: Sequence[Span]) -> float:
    """Seconds of the clock until the last job ended."""
    return max(span.end for span in spans)


# --- what was drawn, and what came of it ----------------------------------------------------------


def show_drawn(points: Mapping[int, tuple[float, float]], least: int) -> None:
    """Losses after `least` steps over the learning rate. Infinite ones on top.

    points: a trial's rate and its loss, by its number.
    """
    figure, ax = axes(height=3.2)
    finite = [loss for _, loss in points.values() if loss < float("inf")]
    for trial, (rate, loss) in points.items():
        kept = loss < float("inf")
        y = loss if kept else 1.15 * max(finite)
        ax.plot(rate, y, "o" if kept else "^", color=BLUE if kept else RED)
        # Above where another point is close at the right.
        close = any(1 < r / rate < 1.33 and abs(other - loss) < 0.1 for r, other in points.values())
        by, side = ((0, 5), "center") if close else ((5, -3), "left")
        note(ax, str(trial), (rate, y), by, ha=side, fontsize=8, color=GREY)
    what = f"loss after {least} steps (nats)"
    ax.set(xscale="log", xlabel="learning rate", ylabel=what)
    rate, loss = min(points.values(), key=lambda point: point[1])
    even = math.log(10)  # the loss of who gives each of ten digits 1/10
    stuck = sum(not loss < even - 0.1 for _, loss in points.values())
    show(
        figure,
        f"After {least} steps {stuck} of {len(points)} trials are hardly better than ln 10 = "
        f"{even:.1f} nats, or worse: that is what equal chances for ten digits give, and they have "
        "learned nothing yet. The others lie apart, and the rate alone does not explain it: the "
        "numbers are trials, drawn in all five hyperparameters at once.",
        f"{what} against learning rate, logarithmic, {len(points)} trials: the least, {loss:.3g}, "
        f"at {rate:.2g}; {len(points) - len(finite)} without a finite one.",
    )


# --- searches on the clock ------------------------------------------------------------------------


def show_searches(runs: Mapping[str, Sequence[Span]], caption: str) -> None:
    """Rows of workers, a panel a search: which trial each trained, coloured by its rung."""
    workers = [1 + max(span.worker for span in spans) for spans in runs.values()]
    figure, panels = axes(rows=len(runs), height=0.6 + sum(0.7 + 0.2 * each for each in workers))
    panels = [panels] if len(runs) == 1 else list(panels)
    end = max(duration(spans) for spans in runs.values())
    told = []
    for ax, crew, (name, spans) in zip(panels, workers, runs.items(), strict=True):
        bars(ax, spans, crew)
        for span in spans:
            if (span.end - span.begin) > 0.022 * end:
                ax.text((span.begin + span.end) / 2, span.worker, str(span.job.trial),
                        ha="center", va="center", fontsize=7)  # fmt: skip
        finish(ax, spans, crew, end, name)
        told.append(
            f"{name}: {len(spans)} jobs, over after {duration(spans):.3g} s, workers idle for "
            f"{100 * idle(spans, crew):.0f} % of it"
        )
    panels[-1].set_xlabel("seconds of the clock")
    legend(panels[0], runs)
    show(
        figure, caption, f"What each worker trains, by time; numbers are trials. {'; '.join(told)}."
    )


def show_halving(in_step: Sequence[Span], lost: float, best: Sequence[int]) -> None:
    """Successive halving on the clock. lost: share of the workers' time; best: its best trials."""
    show_searches(
        {"successive halving": in_step},
        "Each rung waits for its slowest job, and the last has fewer trials than there "
        f"are workers: {100 * lost:.0f} % of the workers' time is lost. The best three "
        f"are {best}.",
    )


def show_asha(
    in_step: Sequence[Span], at_will: Sequence[Span], wrong: Any, best: Sequence[Sequence[int]]
) -> None:
    """ASHA beside halving. wrong: promotions from rung 0; best: trials of ASHA, and of halving."""
    one, two = (duration(spans) for spans in (in_step, at_will))
    rested_one, rested = (idle(spans, 8) for spans in (in_step, at_will))
    show_searches(
        {"successive halving": in_step, "ASHA": at_will},
        f"ASHA is over after {two:.1f} s and successive halving after {one:.1f} s, with "
        f"{len(at_will)} jobs instead of {len(in_step)}; its workers stand idle for "
        f"{100 * rested:.0f} % of their time, those of halving for {100 * rested_one:.0f} %. "
        f"Of its {wrong.promoted} promotions from rung 0, {wrong.wrong} would not "
        "have been made with all results known. Its best three are "
        f"{best[0]}, those of halving {best[1]}.",
    )


def bars(ax: Any, spans: Sequence[Span], workers: int) -> None:
    """A rectangle a job, all of a rung's in one collection: each alone would take ten times as
    long to draw. With many workers the white edges are thinner, or they would cover the bars."""
    from matplotlib.collections import PolyCollection

    tall, edge = (0.35, 0.6) if workers <= 16 else (0.45, 4.0 / workers**1.25)
    for rung in sorted({span.job.rung for span in spans}):
        corners = [
            [(x, span.worker + y) for x, y in ((span.begin, -tall), (span.begin, tall),
                                               (span.end, tall), (span.end, -tall))]
            for span in spans
            if span.job.rung == rung
        ]  # fmt: skip
        fill = RUNGS[rung % len(RUNGS)]
        boxes = PolyCollection(corners, facecolor=fill, edgecolor="white", linewidth=edge)
        boxes.set_label(f"rung {rung}")
        ax.add_collection(boxes, autolim=False)


def finish(ax: Any, spans: Sequence[Span], workers: int, end: float, name: str) -> None:
    """A panel's axes and title, and a line where its search is over."""
    ax.set(xlim=(0, 1.01 * end), ylim=(workers - 0.4, -0.6), ylabel="worker")
    step = 1 if workers <= 8 else 8
    ax.set_yticks(range(0, workers, step))
    ax.axvline(duration(spans), color="#222222", linewidth=1, linestyle="--")
    ax.grid(axis="y", visible=False)
    ax.set_title(name, loc="left")


def legend(ax: Any, runs: Mapping[str, Sequence[Span]]) -> None:
    """The rungs' colours, above a panel."""
    rungs = len({span.job.rung for spans in runs.values() for span in spans})
    look = {"fontsize": 8, "frameon": False, "handlelength": 1.2, "columnspacing": 1.0}
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=rungs, **look)


def show_wrong(
    found: Mapping[int, Sequence[tuple[int, float]]], paper: Sequence[tuple[int, float]]
) -> None:
    """The share of wrong promotions by trials, a curve for each number of workers.

    found: for each number of workers, (trials, share). paper: what the paper expects.
    """
    figure, ax = axes(height=3.4)
    curves = {f"{n} worker{'s' * (n > 1)}": curve for n, curve in found.items()}
    for (name, curve), colour, mark in zip(curves.items(), CYCLE, "osD^v", strict=False):
        ax.plot([n for n, _ in curve], [100 * s for _, s in curve], mark + "-", color=colour,
                label=name)  # fmt: skip
    trials, rule = zip(*paper, strict=True)
    label = "the paper: √n of n/η"
    ax.plot(trials, [100 * share for share in rule], "--", color="#222222", label=label)
    ax.set(xscale="log", yscale="log", xlabel="trials, n", ylabel="wrong promotions (%)")
    ticks(ax.xaxis, trials)
    ticks(ax.yaxis, (1, 2, 5, 10, 20, 50, 100))
    ax.legend(fontsize=9)
    ends = "; ".join(
        f"from {100 * c[0][1]:.0f} to {100 * c[-1][1]:.0f} % with {n}" for n, c in curves.items()
    )
    counted = [mean(curve[at][1] for curve in curves.values()) for at in (0, -1)]
    above, fall, steep = rule[0] / counted[0], counted[1] / counted[0], rule[-1] / rule[0]
    than = "less" if fall > 1.1 * steep else "more" if fall < 0.9 * steep else "as"
    show(
        figure,
        f"The share of wrong promotions from {trials[0]} to {trials[-1]} trials: {ends}. The "
        f"paper's rule of thumb is {above:.1f} times as high at {trials[0]}. The counted share "
        f"falls to {100 * fall:.0f} % of itself, the rule's to {100 * steep:.0f} %, so that it is "
        f"{'as steep as' if than == 'as' else f'{than} steep than'} the rule.",
        f"Wrong promotions from the first rung, both axes logarithmic: {ends}; by the paper's rule "
        f"from {100 * rule[0]:.0f} to {100 * rule[-1]:.0f} %.",
    )


def show_chosen(curve: Sequence[Chosen]) -> None:
    """Rows named rightly by the best of more and more trials: those that chose it, and others."""
    figure, ax = axes(height=3.2)
    n, *shares = zip(*curve, strict=True)
    chose, others = ([100 * share for share in column] for column in shares)
    ax.plot(n, chose, "o-", color=RED, label="on the rows that chose it")
    ax.plot(n, others, "s--", color=BLUE, label="on rows without a say")
    ax.fill_between(n, chose, others, color=RED, alpha=0.15, linewidth=0)
    ax.set(xscale="log", xlabel="how many it is the best of", ylabel="rows named rightly (%)")
    ticks(ax.xaxis, n)
    ax.legend(fontsize=9)
    told = "; ".join(
        f"best of {a}: {b:.1f} and {c:.1f} %" for a, b, c in zip(n, chose, others, strict=True)
    )
    # As they are printed: what is less cannot be told apart.
    first, last, own = (round(share, 1) for share in (others[0], others[-1], chose[-1]))
    helps = "helps" if last > first else "brings nothing here" if last == first else "harms here"
    more = "more than is true" if own > last else "no more than is true here"
    show(
        figure,
        f"Choosing among more trials {helps}, and the 50 rows that choose say {more}: with "
        f"{n[-1]} trials {chose[-1]:.1f} % on them and {others[-1]:.1f} % on others, "
        f"{100 * curve[-1].bias:.1f} points of flattery.",
        f"Rows named rightly by the chosen one, on the rows that chose it and others. {told}.",
    )


# --- under tables ---------------------------------------------------------------------------------


def honest_words(apart: np.ndarray) -> str:
    """Under the table of scores. apart: points by which yours lies above all others, by draw."""
    spread = float(apart.std(ddof=1))
    near = bool(abs(apart.mean()) < 2 * spread / len(apart) ** 0.5)
    side = "at"
    if round(abs(apart.mean()), 1):
        side = f"{abs(apart.mean()):.1f} points {'above' if apart.mean() > 0 else 'below'}"
    return (
        "On average of 40 draws of the 100 rows. With the trials yours lies "
        f"{side} the share of all others, and moves against it by {spread:.1f} points from draw to "
        f"draw: that is {'within' if near else 'beyond'} what chance does in 40 draws."
    )


def folds_words(lower: int, each: Sequence[Sequence[float]]) -> str:
    """Under the table of folds. lower: of how many trials the mean is below the loss; each: the
    losses of a trial's folds."""
    trials = len(each)
    between = max(map(mean, each)) - min(map(mean, each))
    more = sum(max(losses) - min(losses) > between for losses in each)
    return (
        f"Validation losses in nats. For {lower} of {trials} trials the mean of the "
        "folds is below the loss that chose: with five folds a trial learns from the "
        "rows that chose, too, and other rows judge it, so the two columns need not "
        f"agree. With {more} of them the folds differ among themselves by more than the trials' "
        "means do."
    )


def optuna_words() -> str:
    """Under the table of searches beside Optuna's."""
    return (
        "The same space and the same rungs; Optuna on two processes, where who asks "
        "first decides, so that its rows may be others when you run it again. Its own "
        "trials are drawn by what earlier ones found."
    )
