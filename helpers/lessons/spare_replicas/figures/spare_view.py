"""Figures of lesson 07: one worker against the last of a hundred, races, waits, who costs what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from helpers.engine.servers.training import Point, Training
from helpers.lessons.spare_replicas.algorithms.blame import Blame
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, CYCLE, GREY, ORANGE, RED, axes, ticks


def show_first_and_last(times: np.ndarray) -> None:
    """How long single workers take, and how long the last of all of a step.

    times: (steps, workers), in seconds.
    """
    last, n = times.max(axis=1), times.shape[1]
    figure, ax = axes(height=3.4)
    edges = np.arange(1.0, 5.05, 0.1)
    for values, colour, name in (
        (times.ravel(), BLUE, "any one worker"),
        (last, RED, f"the last of {n}"),
    ):
        share = 100 * np.histogram(values.clip(max=5), edges)[0] / len(values)
        ax.stairs(share, edges, color=colour, fill=True, alpha=0.35)
        ax.stairs(share, edges, color=colour, linewidth=1.8, label=name)
        ax.axvline(values.mean(), color=colour, linestyle=":", linewidth=1.8)
    ax.set(
        xlabel="seconds for a gradient (5 and more in the last bar)",
        ylabel="share (%)",
        xlim=(1, 5),
    )
    ax.legend(title="dotted: the mean", alignment="left")
    one, all_ = times.mean(), last.mean()
    low, high = np.quantile(last, (0.05, 0.95))
    late = 100 * (last > 1.2 * one).mean()
    show(
        figure,
        caption=f"A worker takes {one:.2f} s on average, the last of {n} takes {all_:.2f} s: in "
        f"{late:.0f} % of the steps somebody is late by a fifth or more.",
        alt=f"Two histograms of seconds. Single workers: a narrow hill about {one:.2f} s. The last "
        f"of {n}: a wide one, mean {all_:.2f} s, nine in ten from {low:.1f} to {high:.1f} s.",
    )


def show_race(
    runs: Mapping[str, Sequence[Training]], target: float, horizon: float, workers: int
) -> None:
    """The least test error so far, against updates and against seconds, one line a training.

    runs: by way, a training for each seed. target: a test error in %. horizon: in seconds.
    """
    figure, (left, right) = axes(columns=2, width=9.5, height=3.8)
    middle, many = dict[str, float](), []
    for (name, trained), colour in zip(runs.items(), CYCLE, strict=False):
        for number, run in enumerate(trained):
            label = name if number == 0 else None
            error = np.minimum.accumulate([p.error for p in run.curve])
            line = {"color": colour, "linewidth": 1.6, "label": label}
            left.plot([p.updates for p in run.curve], error, **line)
            right.plot([p.seconds for p in run.curve], error, **line)
        reached = [there for run in trained if (there := _first(run, target))]
        made = float(np.median([point.updates for point in reached])) if reached else np.inf
        middle[name] = float(np.median([p.seconds for p in reached])) if reached else np.inf
        many.append(f"{name} {made:,.0f}" if reached else f"{name} never")
    words = [f"{n} after {s:.0f} s" if s < np.inf else f"{n} never" for n, s in middle.items()]
    first = min(middle, key=lambda name: middle[name])
    if middle[first] == np.inf:
        first = "none"
    for ax in (left, right):
        ax.axhline(target, color=GREY, linewidth=1, linestyle=":")
        ax.set(yscale="log", ylabel="least test error so far (%)")
        ticks(ax.yaxis, [2, 3, 5, 10, 20, 50, 100])
    left.set(xscale="log", xlabel="updates")
    right.set(xlabel="virtual time (s)", xlim=(0, horizon))
    right.legend()
    show(
        figure,
        caption=f"Updates to the target of {target:g} % (dotted): {'; '.join(many)}. "
        f"By time, with {workers} workers, first there: {first}.",
        alt="Two line charts of the least test error so far, against updates and against seconds. "
        f"{target:g} % is reached, in the middle of the runs: {'; '.join(words)}.",
    )


def _first(run: Training, target: float) -> Point | None:
    """Where a training first reaches an error."""
    return next((point for point in run.curve if point.error <= target), None)


def show_waiting(runs: Mapping[str, Training]) -> None:
    """Updates a second, and what part of the time each worker waits, one group a training.

    runs: by name; each has a trace.
    """
    figure, (left, right) = axes(columns=2, width=9.0, height=3.2)
    names, shares = list(runs), dict[str, list[float]]()
    for name, run in runs.items():
        assert run.trace is not None
        waits = [run.trace.seconds(w, "waiting") for w in range(run.trace.size)]
        shares[name] = [100 * each / run.trace.duration for each in waits]
    speed = [run.updates / run.seconds for run in runs.values()]
    left.bar(names, speed, color=[BLUE, ORANGE, RED][: len(names)], width=0.55)
    for place, value in enumerate(speed):
        left.text(place, value, f"{value:.0f}", ha="center", va="bottom")
    left.set(ylabel="updates a second", ylim=(0, 1.15 * max(speed)))
    wide = 0.8 / len(names)
    for number, (name, colour) in enumerate(zip(names, (BLUE, ORANGE, RED), strict=False)):
        share = shares[name]
        places = [w + (number - (len(names) - 1) / 2) * wide for w in range(len(share))]
        right.bar(places, share, width=wide, color=colour, label=name)
    right.set(ylabel="time spent waiting (%)", ylim=(0, 100), xlabel="worker")
    right.set_xticks(range(len(shares[names[0]])))
    right.legend()
    left.grid(axis="x", visible=False)
    mean = "; ".join(f"{name} {np.mean(share):.0f} %" for name, share in shares.items())
    each = "; ".join(
        f"{name} {', '.join(f'{part:.0f}' for part in share)} %" for name, share in shares.items()
    )
    said = "; ".join(f"{name} {value:.0f}" for name, value in zip(names, speed, strict=True))
    show(
        figure,
        caption=f"Updates a second, and how long each worker waits, measured. On average: {mean}.",
        alt=f"Bars of updates a second, measured: {said}. Beside them the share of time that each "
        f"worker waits: {each}.",
    )


def show_blame(blame: Blame) -> None:
    """What each worker costs by itself, and what part of the lost time each of them explains."""
    figure, (left, right) = axes(columns=2, width=9.0, height=3.0)
    workers = list(blame.workers)
    costs = [blame.cost(worker) for worker in workers]
    late = set(blame.stragglers())
    colours = [BLUE if worker in late else GREY for worker in workers]
    left.bar(workers, [cost - 1 for cost in costs], bottom=1, color=colours, width=0.6)
    left.axhline(1, color="black", linewidth=1, linestyle=":")
    top = 1 + 1.15 * max(max(costs) - 1, 0.01)
    left.set(ylabel="S of this worker alone", ylim=(min(1, *costs), top))
    shares = [100 * (blame.explained([worker]) or 0.0) for worker in workers]
    together = 100 * (blame.explained(sorted(late)) or 0.0)
    right.bar(
        [*map(str, workers), "all\nlate"], [*shares, together], color=[*colours, BLUE], width=0.6
    )
    right.set(ylabel="lost time that is back (%)", ylim=(min(0, *shares) * 1.1, 115))
    for ax in (left, right):
        ax.set_xlabel("worker")
        ax.grid(axis="x", visible=False)
    left.set_xticks(workers)
    words = [f"worker {w}: S {costs[w]:.2f}, {shares[w]:.0f} %" for w in workers]
    alone = " and ".join(f"{shares[w]:.0f} %" for w in sorted(late))
    named = " and ".join(map(str, sorted(late)))
    show(
        figure,
        caption="Left: the slowdown if this worker alone were late, from 1, which is none. Right: "
        f"repair one, or all that are late (blue: workers {named}). Alone they bring back {alone}, "
        f"together {together:.0f} %.",
        alt=f"Bars for each worker. {'; '.join(words)}. All late ones together: {together:.0f} %.",
    )
