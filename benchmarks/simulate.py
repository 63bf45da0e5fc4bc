"""Timing-only runs beside SimPy, on the same drawn times: events a second, and how they grow.

An asynchronous server whose link is half busy. A gradient is three events: its worker has
finished, it has arrived at the server, and the answer is back.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import goals, simpy_peer
from benchmarks.arrivals import Arrivals, asynchronous
from benchmarks.report import Report
from helpers.lessons.parameter_servers.experiments.step_times import Gamma

BESIDE, SIZES = (10, 100, 1000), (10, 100, 1_000, 10_000)
UPDATES, MANY, REPEATS = 20_000, 600_000, 7
LATENCY, EVENTS = 0.001, 3


def measure() -> Report:
    """Beside SimPy, then alone on more and more workers, then behind a slider."""
    report = Report("simulate", "An asynchronous server and its workers, without gradients")
    for workers in BESIDE:
        beside_simpy(report, workers)
    growth(report)
    redraw(report)
    report.notes.append(
        "All see the same table of step times, and give the same arrivals in the same order. The "
        "way of SimPy's guide queues for a Resource; the quickest way keeps a number in its place."
    )
    return report


def workload(workers: int, updates: int) -> tuple[np.ndarray, float]:
    """Step times (steps, workers) about 1 s, and the seconds a message occupies the link."""
    steps = max(updates // workers, 20)
    return Gamma(1.0, 0.2).draw(steps, workers, np.random.default_rng(workers)), 0.5 / workers


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and what it returns."""
    gc.collect()
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def beside_simpy(report: Report, workers: int) -> None:
    """Both of SimPy's ways and ours, in turn, on the same times."""
    times, message = workload(workers, UPDATES)
    contenders: dict[str, Callable[..., Any]] = {
        "ours": asynchronous,
        "SimPy, timeouts alone": simpy_peer.with_timeouts,
        "SimPy, resources": simpy_peer.with_resources,
    }
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    found: dict[str, Any] = {}
    for _ in range(REPEATS):
        for name, run in contenders.items():
            seconds, found[name] = seconds_of(partial(run, times, message, message, LATENCY))
            spent[name].append(seconds)
    events, case = EVENTS * len(found["ours"].seconds), f"{workers} workers"
    for name, runs in spent.items():
        rate = events / min(runs)
        report.add(case, name, runs, f"{rate / 1e6:.2f} million events a second")
        if name != "ours":
            value = float(np.median(np.divide(runs, spent["ours"])))
            report.hold(goals.EVENTS, f"ours against {name}, {case}", value)
            value = difference(found["ours"], found[name])
            text = f"arrivals against {name}, {case}: largest relative difference"
            report.hold(goals.ARRIVALS, text, value)


def difference(ours: Arrivals, theirs: simpy_peer.Found) -> float:
    """The largest relative difference of two runs' arrivals; infinity in another order."""
    if [worker for _, worker in theirs] != ours.workers.tolist():
        return float("inf")
    seconds = np.array([moment for moment, _ in theirs])
    return float(np.max(np.abs(ours.seconds / seconds - 1)))


def growth(report: Report) -> None:
    """Time an event from 10 to 10 000 workers: at most a fifth more a decade.

    All sizes in turn, so that what else the machine does meets all of them.
    """
    spent: dict[int, list[float]] = {workers: [] for workers in SIZES}
    loads = {workers: workload(workers, MANY) for workers in SIZES}
    events = {}
    for _ in range(REPEATS):
        for workers, (times, message) in loads.items():
            call = partial(asynchronous, times, message, message, LATENCY)
            seconds, found = seconds_of(call)
            events[workers] = EVENTS * len(found.seconds)
            spent[workers].append(seconds)
    each = {workers: min(spent[workers]) / events[workers] for workers in SIZES}
    for workers in SIZES:
        note = f"{1e9 * each[workers]:.0f} ns an event"
        report.add("growth", f"{workers} workers, {events[workers]} events", spent[workers], note)
    for fewer, more in pairwise(SIZES):
        text = f"time an event, {more} workers over {fewer}"
        report.hold(goals.GROWTH, text, each[more] / each[fewer])


def redraw(report: Report) -> None:
    """What a slider does: 500 workers simulated and drawn, from values to a picture."""
    from helpers.lessons.spare_replicas.figures.stragglers import draw_spares
    from helpers.notebook.figures import png

    def picture(spare: int) -> bytes:
        return png(draw_spares(500 - spare, spare))

    name = "spare replicas, 500 workers"
    picture(0)  # fonts are found once
    spent = [seconds_of(partial(picture, i))[0] for i in range(1, REPEATS + 1)]
    report.add("redraw", name, spent)
    report.hold(goals.REDRAW, f"simulate and redraw: {name}", report.median("redraw", name))
