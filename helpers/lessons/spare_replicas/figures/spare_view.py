"""Figures of lesson 07: one worker against the last of a hundred, timelines of steps, races."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from helpers.engine.servers.training import Training
from helpers.lessons.spare_replicas.figures.token_view import Fate, Panel, draw_panels
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, CYCLE, GREY, ORANGE, RED, axes


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


def show_steps(
    runs: Mapping[str, Training], seconds: float, caption: str, alt: str, first: int = 0
) -> None:
    """Timelines of several trainings, one above the other, dropped gradients crossed.

    runs: by title; each has a trace, and a point of its curve an update. seconds: how long the
    picture is. first: the update with which it begins.
    """
    panels = {}
    for title, run in runs.items():
        assert run.trace is not None
        fates = {worker: fates_of(run, worker) for worker in range(run.trace.size)}
        updates = [point.seconds for point in run.curve]
        panels[title] = Panel(run.trace, fates, updates, updates[first] if first else 0.0)
    show(draw_panels(panels, seconds), caption=caption, alt=alt)


def fates_of(run: Training, worker: int) -> list[Fate]:
    """Whether each of a worker's gradients counted, in the order in which it computed them."""
    server = run.servers[0]
    applied = [p.version for update in server.updates for p in update if p.worker == worker]
    dropped = [p.version for p in server.dropped if p.worker == worker]
    known = sorted([(v, True) for v in applied] + [(v, False) for v in dropped])
    return [Fate(counts) for _, counts in known]


def show_race(
    runs: Mapping[str, Sequence[Training]], target: float, horizon: float, workers: int
) -> None:
    """The least test error so far, against updates and against seconds, one line a training.

    runs: by way, a training for each seed. target: a test error in %. horizon: in seconds.
    """
    figure, (left, right) = axes(columns=2, width=9.5, height=3.8)
    words, middle, many = [], dict[str, float](), []
    for (name, trained), colour in zip(runs.items(), CYCLE, strict=False):
        for number, run in enumerate(trained):
            label = name if number == 0 else None
            error = np.minimum.accumulate([p.error for p in run.curve])
            line = {"color": colour, "linewidth": 1.6, "label": label}
            left.plot([p.updates for p in run.curve], error, **line)
            right.plot([p.seconds for p in run.curve], error, **line)
        made = [_updates_to(run, target) for run in trained if run.seconds_to(target) is not None]
        many.append(f"{name} {np.median(made):,.0f}" if made else f"{name} never")
        reached = [s for run in trained if (s := run.seconds_to(target)) is not None]
        middle[name] = float(np.median(reached)) if reached else np.inf
        words.append(f"{name} after {middle[name]:.0f} s" if reached else f"{name} never")
    first = min(middle, key=lambda name: middle[name])
    for ax in (left, right):
        ax.axhline(target, color=GREY, linewidth=1, linestyle=":")
        ax.set(yscale="log", ylabel="least test error so far (%)")
        ax.set_yticks([2, 3, 5, 10, 20, 50, 100], ["2", "3", "5", "10", "20", "50", "100"])
        ax.minorticks_off()
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


def _updates_to(run: Training, target: float) -> int:
    """How many updates a training that reaches an error made until then."""
    return next(point.updates for point in run.curve if point.error <= target)


def show_waiting(runs: Mapping[str, Training]) -> None:
    """Updates a second, and what part of the time each worker waits, one group a training.

    runs: by name; each has a trace.
    """
    figure, (left, right) = axes(columns=2, width=9.0, height=3.2)
    names = list(runs)
    shares = {name: _waiting(run) for name, run in runs.items()}
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
    waits = "; ".join(
        f"{name} {', '.join(f'{part:.0f}' for part in share)} %" for name, share in shares.items()
    )
    said = "; ".join(f"{name} {value:.0f}" for name, value in zip(names, speed, strict=True))
    show(
        figure,
        caption=f"Updates a second, and how long each worker waits, measured. On average: {mean}.",
        alt=f"Bars of updates a second, measured: {said}. Beside them the share of time that each "
        f"worker waits: {waits}.",
    )


def _waiting(run: Training) -> list[float]:
    """What part of the time each worker waits, in %."""
    assert run.trace is not None
    whole = run.trace.duration
    return [100 * run.trace.seconds(w, "waiting") / whole for w in range(run.trace.size)]


def show_one_spare(every: Training, four: Training) -> None:
    """Eight updates of five workers, with all of them and with one spare."""
    show_steps(
        {"all 5": every, "4 of 5": four},
        seconds=every.seconds,
        caption=f"Eight updates take {every.seconds:.1f} s when all wait for the last, and "
        f"{four.seconds:.1f} s when one is spare. Who is late finishes, is dropped, and "
        "joins the step that is going on.",
        alt="Two timelines of five workers, with a dashed line at every update. Above, "
        "waiting for all, long grey bars of waiting. Below, with one spare, short "
        f"ones; {four.drops} crossed bars, of gradients that are dropped, reach across "
        "an update.",
    )


def show_real_steps(real: Mapping[str, Training], span: float, first: int) -> None:
    """Steps of four workers on real processes, with all of them and with one spare."""
    begins = {name: run.curve[first].seconds for name, run in real.items()}
    shown = {
        name: sum(0 < point.seconds - begins[name] <= span for point in run.curve)
        for name, run in real.items()
    }
    lost = sum(push.worker == 3 for push in real["3 of 4"].servers[0].dropped)
    told = " ".join(f"{name}: {count} updates." for name, count in shown.items())
    show_steps(
        real,
        seconds=span,
        first=first,
        caption="Your rule on real processes: waiting for all 4, everybody keeps worker 3's "
        f"pace; with 3 of 4 the others go on without it. Of {real['3 of 4'].drops} "
        f"gradients that were dropped in the whole run {lost} were worker 3's.",
        alt="Two measured timelines of four workers, with a dashed line at every update, "
        f"crossed bars where a gradient is dropped. {told}",
    )
