"""Timelines of lesson 07: what workers did, which gradient counted, and what would have been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from helpers.engine.servers.training import Training
from helpers.engine.trace import Trace
from helpers.lessons.spare_replicas.algorithms.blame import as_table, lasted
from helpers.lessons.spare_replicas.experiments.sync_replay import SyncRun
from helpers.lessons.spare_replicas.figures.bars import Bar, Timeline, draw_timelines
from helpers.notebook.figures import show
from helpers.notebook.style import ACTIVITY, RED
from helpers.notebook.timeline import unit_of

DROPPED: dict[str, Any] = {"facecolor": "white", "edgecolor": RED, "hatch": "xxxx"}
Run = tuple[Any, Any]  # begun: (steps + 1, workers) and ready: (steps, workers), in seconds
Fate = tuple[bool, str]  # whether a gradient counted, and what to write into its bar


def traced(
    trace: Trace,
    fates: Mapping[int, Sequence[Fate]],
    updates: Sequence[float],
    begin: float = 0.0,
) -> Timeline:
    """What a trace shows from a moment on. fates: of each worker's gradients, in their order."""
    bars = []
    for worker in range(trace.size):
        for event in trace.of(worker, "waiting"):
            bars.append(Bar(worker, event.start - begin, event.end - begin, ACTIVITY["waiting"]))
        known = chain(fates[worker], repeat((True, "")))
        for event, (counts, text) in zip(trace.of(worker, "computing"), known, strict=False):
            look = ACTIVITY["computing"] if counts else DROPPED
            bars.append(Bar(worker, event.start - begin, event.end - begin, look, text))
    return Timeline(trace.size, bars, [moment - begin for moment in updates])


def draw_steps(runs: Mapping[str, Training], seconds: float, first: int = 0) -> Any:
    """Timelines of several trainings, dropped gradients crossed.

    runs: by title; each has a trace, and a point of its curve an update. seconds: how long the
    picture is. first: the update with which it begins.
    """
    panels, virtual = {}, False
    for title, run in runs.items():
        assert run.trace is not None
        virtual = run.trace.virtual
        updates, server = [point.seconds for point in run.curve], run.servers[0]
        pushes = [(push, True) for update in server.updates for push in update]
        pushes += [(push, False) for push in server.dropped]
        pushes.sort(key=lambda pair: pair[0].version)
        fates: dict[int, list[Fate]] = {worker: [] for worker in range(run.trace.size)}
        for push, counts in pushes:
            fates[push.worker].append((counts, ""))
        panels[title] = traced(run.trace, fates, updates, updates[first] if first else 0.0)
    return _draw_traces(panels, seconds, "waiting", virtual)


def _draw_traces(panels: Mapping[str, Timeline], until: float, waits: str, virtual: bool) -> Any:
    legend = {
        "computing, counts": ACTIVITY["computing"],
        "computing, dropped": DROPPED,
        waits: ACTIVITY["waiting"],
    }
    return draw_timelines(panels, until, legend, "virtual time" if virtual else "time")


def show_one_spare(every: Training, four: Training) -> None:
    """Eight updates of five workers, with all of them and with one spare."""
    show(
        draw_steps({"all 5": every, "4 of 5": four}, every.seconds),
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
    all_4, three = shown["all 4"], shown["3 of 4"]
    go_on = "the others go on without it"
    if three <= all_4:
        go_on = f"there are {'as many' if three == all_4 else 'fewer'} updates here"
    lost = sum(push.worker == 3 for push in real["3 of 4"].servers[0].dropped)
    told = " ".join(f"{name}: {count} updates." for name, count in shown.items())
    show(
        draw_steps(real, span, first),
        caption="Your rule on real processes: waiting for all 4, everybody keeps worker 3's "
        f"pace; with 3 of 4 {go_on}. Of {real['3 of 4'].drops} "
        f"gradients that were dropped in the whole run {lost} were worker 3's.",
        alt="Two measured timelines of four workers, with a dashed line at every update, "
        f"crossed bars where a gradient is dropped. {told}",
    )


def draw_tokens(runs: Mapping[str, SyncRun], until: float) -> Any:
    """A panel a replay: each gradient with the step that it was for, dropped ones crossed."""
    panels = {}
    for title, run in runs.items():
        assert run.trace is not None
        fates: dict[int, list[Fate]] = {worker: [] for worker in range(run.trace.size)}
        for worker, local, counts in run.log:
            fates[worker].append((counts, str(local)))
        panels[title] = traced(run.trace, fates, run.times)
    return _draw_traces(panels, until, "waiting for a token", virtual=True)


def show_old_tokens(guessed: SyncRun) -> None:
    """Quick workers that take the tokens of a slow one."""
    show(
        draw_tokens({"2 of 3, num_tokens = 0": guessed}, until=0.3),
        caption="The number in a bar is its worker's token. The quick workers take old tokens "
        "that worker 2 has left, and compute in vain.",
        alt="Timeline of three workers with a dashed line at every update, every 20 ms or "
        "40 ms. Worker 2 is always dropped. Workers 0 and 1 are dropped once in four "
        "gradients, after an update that they were in time for.",
    )


def show_first_tokens(pair: Mapping[str, SyncRun]) -> None:
    """Two workers, with no tokens at the start and with the default."""
    show(
        draw_tokens(pair, until=0.22),
        caption="With no tokens at the start every update waits for both workers; with the "
        "default, −1, worker 0 makes the first update alone.",
        alt="Two timelines of two workers. Above, an update every 50 ms with a gradient of "
        "each worker. Below, the first update after 40 ms, of two gradients of worker "
        "0; then a gradient of each worker is dropped.",
    )


def draw_runs(runs: Mapping[str, Run], steps: int) -> Any:
    """Timelines of several runs' first steps: computing, waiting for others, sending."""
    shown = {
        name: (as_table(begun)[: steps + 1], as_table(ready)[:steps])
        for name, (begun, ready) in runs.items()
    }
    until = max(lasted(begun) for begun, _ in shown.values())
    scale, unit = unit_of(until)
    panels = {}
    for name, (begun, ready) in shown.items():
        title = f"{name}: {lasted(begun) / scale:.4g} {unit} for {len(ready)} step"
        title += "s" * (len(ready) != 1)
        panels[title] = Timeline(ready.shape[1], list(_operations(begun, ready)))
    legend = {
        "computing": ACTIVITY["computing"],
        "waiting for others": ACTIVITY["waiting"],
        "sending": ACTIVITY["sending"],
    }
    return draw_timelines(panels, 1.01 * until, legend)


def _operations(begun: Any, ready: Any) -> Iterator[Bar]:
    """What each worker does in each step, from the beginning of the run on."""
    begun, ready = begun - begun[0].min(), ready - begun[0].min()
    for step, moments in enumerate(ready):
        last = float(moments.max())
        for worker, own in enumerate(moments.tolist()):
            starts, ends = float(begun[step][worker]), float(begun[step + 1][worker])
            pieces = {"computing": (starts, own), "waiting": (own, last), "sending": (last, ends)}
            for kind, (left, right) in pieces.items():
                if right - left > 1e-9:
                    yield Bar(worker, left, right, ACTIVITY[kind])


def show_as_it_was(begun: Any, ready: Any) -> None:
    """A run with two stragglers, ten steps of it."""
    show(
        draw_runs({"as it was": (begun, ready)}, steps=10),
        caption="In most steps everybody waits for worker 2, in every fifth for worker 4. "
        "Sending begins for all when the last gradient of the step is ready.",
        alt="Timeline of six workers and ten steps. Worker 2 computes half as long again "
        "as the others, which wait for it. In two steps worker 4 computes three times "
        "as long, and all others wait, worker 2 less than the rest.",
    )


def show_replayed(runs: Mapping[str, Run]) -> None:
    """The same steps, and what they would have been with some workers fixed."""
    show(
        draw_runs(runs, steps=10),
        caption="The same steps replayed. What is left of waiting is everybody's jitter.",
        alt="Two timelines of six workers and ten steps. Above, the run as before; below, "
        "steps that are all about as long, with hardly any waiting, and that end much "
        "sooner.",
    )
