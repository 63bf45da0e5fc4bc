"""Figures of stragglers: time to the k-th gradient, hours over N of N + b, both beside the paper's.

The `show_` functions draw and show with caption and alt text. The `draw_` functions return a
figure in well under 0.2 s at 500 workers, for `helpers.notebook.widgets.explore`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from helpers.lessons.parameter_servers.experiments.step_times import HeavyTail, StepTimes
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers
from helpers.notebook.figures import show
from helpers.notebook.published import load
from helpers.notebook.style import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    RED,
    axes,
    fix_layout,
    measured,
    modelled,
    published,
)

WIDGET_STEPS = 200  # steps that a widget draws for each picture
SHARE_STEPS = 4000  # steps that a share of steps is taken of


def show_kth(seconds: Mapping[int, float], times: np.ndarray) -> None:
    """The time to the k-th of 100 gradients: its mean over k, and its distribution for some k.

    seconds: the mean for each k from 1 to 100. times: (steps, 100), what they are the means of.
    """
    figure, (left, right) = axes(columns=2, width=9.5, height=3.6)
    left.plot(list(seconds), list(seconds.values()), **modelled(label="fitted stragglers"))
    paper = load("chen2017_fig4_mean_t_k_of_100_s").data
    left.plot([int(k) for k in paper], list(paper.values()), **published())
    left.set(xlabel="k, gradients that have come", ylabel="mean time to the k-th (s)", ylim=(1, 3))
    left.legend(loc="upper left")
    clock = np.linspace(1.3, 4, 181)
    come = np.array([(times[:SHARE_STEPS] <= now).sum(axis=1) for now in clock])
    for colour, k in zip(CYCLE, (50, 98, 99, 100), strict=False):
        share = (come >= k).mean(axis=1)
        right.plot(clock, share, color=colour, label=f"k = {k}", linewidth=1.8)
        dots = _published_shares(k)
        look = published("") | {"markeredgecolor": colour, "color": colour, "markersize": 5}
        right.plot([x for x, _ in dots], [y for _, y in dots], **look)
    right.set(xlabel="time to the k-th (s)", ylabel="share of steps", xlim=(1.3, 4), ylim=(0, 1.02))
    within = (times <= 2).sum(axis=1)
    right.axvline(2, color=GREY, linewidth=1, linestyle=":")
    right.legend(loc="lower right")
    show(
        figure,
        caption="Time to the k-th of 100 gradients, with the fitted stragglers and in "
        "Chen et al. 2017, figures 3 and 4 (diamonds, read off). The first 97 take "
        f"{seconds[97]:.2f} s, the last three another {seconds[100] - seconds[97]:.2f} s.",
        alt="Left: mean time over k from 1 to 100, a curve on the published diamonds: from "
        f"{seconds[1]:.2f} s it rises slowly to {seconds[97]:.2f} s at 97, then steeply to "
        f"{seconds[100]:.2f} s at 100. Right: four distribution curves through published diamonds. "
        "Within 2 s have come: "
        + ", ".join(f"the {k}th in {100 * (within >= k).mean():.0f} %" for k in (50, 98, 99, 100))
        + " of the steps.",
    )


def _published_shares(k: int) -> list[tuple[float, float]]:
    """(seconds, share of steps) that the paper shows for the k-th gradient."""
    if k == 100:
        points = load("chen2017_fig3_cdf_k100").data
        return [(float(seconds), share) for seconds, share in points.items()]
    points = load("chen2017_fig3_quantiles_s").data.get(f"k{k}", {})
    return [(seconds, float(quantile)) for quantile, seconds in points.items()]


def show_hours(found: Mapping[int, float], run: Mapping[int, float] | None = None) -> None:
    """Hours to converge over N of 100 workers, with the best N, beside the paper's.

    found: the hours by the formula for each N from 50 on. run: those of the rule on the clock.
    """
    top = min(found, key=found.__getitem__)
    figure, ax = axes(height=3.8)
    ax.plot(list(found), list(found.values()), **modelled(label="iterations × mean time to N-th"))
    said = ""
    if run:
        ax.plot(list(run), list(run.values()), **measured(label="the rule on the clock"))
        least = min(run, key=run.__getitem__)
        said = f" By the rule, of the N shown: N = {least}, {run[least]:.1f} h."
    paper = load("chen2017_fig6_hours").data
    ax.plot([int(n) for n in paper], list(paper.values()), **published())
    ax.plot(top, found[top], color=GREEN, marker="*", markersize=16, linestyle="none",
            label=f"least by the formula: {top} + {100 - top}")  # fmt: skip
    ax.set(xlabel="N, gradients in an update (of 100 workers)", ylabel="hours to converge")
    ax.set_ylim(0.85 * found[top], 1.05 * max(found.values()))
    ax.legend(loc="upper center")
    last = max(found)
    show(
        figure,
        caption=f"Hours to converge with N of 100 workers: fewer gradients need more "
        f"iterations, more wait for stragglers. Least by the formula: N = {top}, "
        f"{found[top]:.1f} h.{said} Iterations and diamonds: Chen et al. 2017, figures 5 and 6 "
        "(read off).",
        alt=f"A curve of hours over N. It falls from {found[50]:.0f} h at 50 to {found[top]:.1f} h "
        f"at {top}, marked with a star, and rises to {found[last]:.0f} h at {last}."
        + _how_far(found, "The published diamonds", paper)
        + (_how_far(found, "The dots of the rule", run) if run else ""),
    )


def _how_far(found: Mapping[int, float], whose: str, points: Mapping[Any, float]) -> str:
    """A sentence: how far some points lie from the curve."""
    error = max(abs(hours / found[int(n)] - 1) for n, hours in points.items())
    return f" {whose} lie within {100 * error:.0f} % of it."


def draw_spares(needed: int, spare: int, tail: float | str = "published", seed: int = 0) -> Any:
    """For `explore`: N gradients a step of N + b workers. Returns: a figure.

    needed: N. spare: b. tail: of log-normal step times with a median of 1 s; the stragglers of
    Chen et al. where it is a word.
    """
    fitted = isinstance(tail, str)
    model: StepTimes = FittedStragglers() if fitted else HeavyTail(1.0, float(tail))
    workers = needed + spare
    times = model.draw(WIDGET_STEPS, workers, np.random.default_rng(seed))
    times.sort(axis=1)
    mean = times.mean(axis=0)
    figure, (left, right) = axes(columns=2, width=9.5, height=3.3)
    fix_layout(figure, left=0.07, right=0.98, bottom=0.17, top=0.96)
    for ax in (left, right):
        ax.locator_params(nbins=5)  # each label takes its time
    k = np.arange(1, workers + 1)
    left.plot(k[:needed], mean[:needed], color=BLUE, label=f"taken: N = {needed}")
    if spare:
        left.plot(k[needed - 1 :], mean[needed - 1 :], color=RED, linestyle="--",
                  label=f"dropped: b = {spare}")  # fmt: skip
    left.plot(needed, mean[needed - 1], color=BLACK, marker="o")
    left.set(xlabel="k, gradients that have come", ylabel="mean time to the k-th (s)")
    left.set_ylim(0, min(max(1.1 * mean[-1], 2 * mean[0]), 12 * mean[0]))
    left.legend(loc="lower right", title=f"a step takes {mean[needed - 1]:.2f} s", alignment="left")
    rate = k / mean
    right.plot(workers - k, rate, color=BLUE)
    right.plot(spare, rate[needed - 1], color=BLACK, marker="o", linestyle="none", label="here")
    top = int(rate.argmax())
    right.plot(workers - k[top], rate[top], color=GREEN, marker="*", markersize=15,
               linestyle="none", label=f"most: b = {workers - k[top]}")  # fmt: skip
    right.set(xlabel=f"b, spare ones of {workers} workers", ylabel="gradients used a second")
    right.set_xlim(-0.5, 1.06 * max(spare, workers - k[top], workers // 5) + 0.5)
    right.set_ylim(0, 1.1 * rate.max())
    right.legend(loc="lower right")
    return figure


def spares_alt(needed: int, spare: int, tail: float | str = "published", seed: int = 0) -> str:
    """The alt text of `draw_spares`."""
    return (
        f"Left: mean time to the k-th of {needed + spare} gradients, rising steeply at the last; "
        f"a dot at {needed}, where the step ends. Right: gradients used a second over the number "
        f"of spare workers, with a dot at {spare} and a star at the most."
    )
