"""Figures of the four ways to train with TensorFlow: how quick, how stale, how good; who did what.

A way has the same colour and place in all of them. What the widget draws is modelled.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np

from helpers.lessons.four_ways.experiments.record import WAYS, Gradient
from helpers.lessons.four_ways.experiments.runs import WayRun
from helpers.lessons.spare_replicas.figures.bars import Bar, Timeline, draw_timelines
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, GREEN, GREY, ORANGE, RED, axes, rows

COLOURS = dict(zip(WAYS, (BLUE, GREEN, ORANGE, RED), strict=True))
SMOOTH = 12  # batches that a point of a loss curve is the mean of
SECONDS = 0.25  # of each run, in the timeline of gradients
GRADIENTS = 600  # of a way, in the model


def draw_bars(
    ax: Any,
    label: str,
    found: Mapping[str, Sequence[float]],
    words: str,
    highest: Mapping[str, int] | None = None,
) -> None:
    """A bar to the median of each way's values, a dot for each where there are several.

    words: a format of the median, which stands behind the bar; highest: what is said after it.
    """
    for row, (way, values) in enumerate(found.items()):
        middle, most = median(values), max(values)
        ax.barh(row, middle, height=0.55, color=COLOURS[way], alpha=0.55)
        if len(values) > 1:
            ax.plot(values, [row] * len(values), "o", color=COLOURS[way], markersize=5)
        said = words.format(middle) + (f", max. {highest[way]}" if highest else "")
        ax.text(most, row, f"  {said}", va="center", fontsize=9)
    first = ax.get_subplotspec().is_first_col()
    rows(ax, [way if first else "" for way in found])
    ax.set(xlabel=label, xlim=(0, (1.7 if highest else 1.35) * max(0.1, *map(max, found.values()))))


def show_four(runs: Sequence[WayRun]) -> None:
    """Batches a second, staleness and final loss of each way; one run or more of each."""
    figure, panels = axes(columns=3, width=9.0, height=2.85)
    by_way = {way: [run for run in runs if run.way == way] for way in WAYS}
    rate = {way: [run.steps_per_second for run in mine] for way, mine in by_way.items()}
    late = {way: [mean(run.staleness) for run in mine] for way, mine in by_way.items()}
    loss = {way: [run.loss for run in mine] for way, mine in by_way.items()}
    highest = {way: max(max(run.staleness) for run in mine) for way, mine in by_way.items()}
    draw_bars(panels[0], "batches a second", rate, "{:.0f}")
    draw_bars(panels[1], "mean staleness (updates)", late, "{:.1f}", highest)
    draw_bars(panels[2], "final loss (nats)", loss, "{:.2f}")
    told = [
        f"{way}: {median(rate[way]):.0f} batches a second, staleness {median(late[way]):.1f}, at "
        f"most {highest[way]}, loss {median(loss[way]):.2f}"
        for way in WAYS
    ]
    show(
        figure,
        caption="One server, three workers: batches a second, staleness, and the loss after as "
        "many rows. A dot is a run.",
        alt="Bars of the four ways: batches a second, mean staleness in updates, final loss in "
        f"nats. {'; '.join(told)}.",
    )


def show_losses(runs: Sequence[WayRun]) -> None:
    """The batches' loss over the batches that all workers have computed, a curve a way."""
    figure, ax = axes(height=3.4)
    told, in_step = [], list[list[float]]()
    for run in runs:
        losses = [each.loss for each in run.gradients]
        ends = range(SMOOTH, len(losses) + 1)
        means = [mean(losses[end - SMOOTH : end]) for end in ends]
        line = "-" if run.way.startswith("in-graph") else "--"
        ax.plot(ends, means, color=COLOURS[run.way], linestyle=line, label=run.way)
        told.append(f"{run.way}: from {means[0]:.2f} to {means[-1]:.2f}")
        if run.way.endswith(" sync"):
            in_step.append(means)
    ax.set(xlabel="batches computed by all workers", ylabel="loss of the batch (nats)")
    ax.set_ylim(bottom=0)
    ax.legend()
    apart = max((abs(one - other) for one, other in zip(*in_step, strict=False)), default=0.0)
    lie = "lie on each other" if apart < 0.1 else f"are up to {apart:.1f} nats apart"
    show(
        figure,
        caption=f"The two synchronous ways {lie}; asynchronous ones make three small updates "
        "where those make one.",
        alt=f"Line chart of the batches' loss in nats. {'; '.join(told)}.",
    )


class Modelled(NamedTuple):
    """What a client, workers and their stragglers cost, on a clock.

    batches: a second, of all workers. staleness: the mean over all gradients.
    """

    batches: float
    staleness: float


def model(way: str, workers: int, compute: float, client: float, slow: float) -> Modelled:
    """One way's rate and staleness.

    One call of `session.run` keeps its client's Python busy for a while; a gradient takes its
    worker's time. In-graph there is one client for all, between-graph each worker has its own.
    Everything else takes no time.

    compute: seconds of a gradient, give or take a tenth. client: seconds that a client's Python
    needs for each `session.run`. slow: how many times as long the last worker takes.
    """
    random = np.random.default_rng(0)
    times = compute * random.uniform(0.9, 1.1, (GRADIENTS, workers))
    times[:, -1] *= slow
    if way.endswith(" sync"):
        # In-graph one run makes a step; between-graph each client has one, all at once.
        return Modelled(workers / float((client + times.max(axis=1)).mean()), 0.0)
    return _asynchronous(way, times, client)


def _asynchronous(way: str, times: np.ndarray, client: float) -> Modelled:
    """Each worker goes round: its client's Python, its gradient, its update."""
    workers = times.shape[1]
    free = [0.0] * workers if way.startswith("between") else [0.0]
    updates, stale, now = 0, 0, 0.0
    # What happens next: (when, worker, the version that it has read; None: it needs its client).
    events: list[tuple[float, int, int]] = [(0.0, worker, -1) for worker in range(workers)]
    rounds = [0] * workers
    while updates < GRADIENTS:
        now, worker, version = heapq.heappop(events)
        mine = worker % len(free)
        if version == -1:
            start = max(now, free[mine])
            free[mine] = start + client
            heapq.heappush(events, (start + client, worker, -2))
        elif version == -2:
            seconds = times[rounds[worker] % GRADIENTS, worker]
            rounds[worker] += 1
            heapq.heappush(events, (now + seconds, worker, updates))
        else:
            stale += updates - version
            updates += 1
            heapq.heappush(events, (now, worker, -1))
    return Modelled(updates / now, stale / updates)


def draw_ways(workers: int, compute_ms: float, client_ms: float, slow: float) -> Any:
    """For a widget: batches a second and mean staleness of the four ways, modelled."""
    found = {way: model(way, workers, compute_ms / 1e3, client_ms / 1e3, slow) for way in WAYS}
    figure, (left, right) = axes(columns=2, width=9.0, height=2.7)
    rate = {way: [each.batches] for way, each in found.items()}
    late = {way: [each.staleness] for way, each in found.items()}
    draw_bars(left, "batches a second (modelled)", rate, "{:.0f}")
    draw_bars(right, "mean staleness (updates, modelled)", late, "{:.1f}")
    return figure


def ways_alt(workers: int, compute_ms: float, client_ms: float, slow: float) -> str:
    """What `draw_ways` shows, in words and numbers."""
    told = []
    for way in WAYS:
        each = model(way, workers, compute_ms / 1e3, client_ms / 1e3, slow)
        told.append(f"{way} {each.batches:.0f} batches a second, staleness {each.staleness:.1f}")
    return f"Bars for {workers} workers: {'; '.join(told)}."


def show_step_gradients(runs: Mapping[str, WayRun], spared: WayRun) -> None:
    """What workers did for a while out of the middle of three runs with a slow worker.

    A bar is a worker's step, with its wait for others where it waits; the number in it is the
    gradient's staleness, where it has any. spared: the run with 2 of 3.
    """
    panels, told = {}, []
    for title, run in runs.items():
        shown = middle_of(run)
        panels[title] = Timeline(run.workers, [bar_of(each) for each in shown])
        each = [sum(g.worker == w for g in shown) for w in range(run.workers)]
        stale = max((g.staleness for g in shown if g.counted), default=0)
        told.append(
            f"{title}: {', '.join(map(str, each))} gradients of workers 0 to {run.workers - 1}, "
            f"staleness up to {stale}, {sum(not g.counted for g in shown)} dropped."
        )
    show(
        draw_timelines(panels, SECONDS),
        caption="A quarter of a second. With 3 of 3 everybody waits for worker 2. With 2 of 3 "
        "the others need not, and what comes late is dropped (hatched): "
        f"{spared.dropped[2]} of the {spared.counted[2] + spared.dropped[2]} gradients "
        "that worker 2 gave in the whole run. Asynchronously each is applied, as stale "
        "as the number in its bar.",
        alt=f"Timeline of {1e3 * SECONDS:.0f} ms of each run. {' '.join(told)}",
    )


def middle_of(run: WayRun) -> list[Gradient]:
    """The gradients in the middle `SECONDS` of a run, on a clock that begins with these."""
    begin, end = run.gradients[0].end, run.gradients[-1].end
    start = max(begin, (begin + end - SECONDS) / 2)
    return [
        each._replace(start=each.start - start, end=each.end - start)
        for each in run.gradients
        if each.end > start and each.start < start + SECONDS
    ]


def bar_of(each: Gradient) -> Bar:
    """A gradient's bar: its colour says whether it was stale, hatches that it was dropped."""
    look: dict[str, Any] = {"facecolor": ORANGE if each.staleness else BLUE, "alpha": 0.75}
    text = str(each.staleness or "")
    if not each.counted:
        look, text = {"facecolor": GREY, "hatch": "////", "alpha": 0.75}, "dropped"
    return Bar(each.worker, each.start, each.end, {"edgecolor": "white", **look}, text)
