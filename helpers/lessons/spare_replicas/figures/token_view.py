"""Timelines of workers that take tokens: which gradient was for which step, and which counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from helpers.engine.trace import Event, Trace
from helpers.lessons.spare_replicas.experiments.one_accumulator import OneAccumulator
from helpers.lessons.spare_replicas.experiments.sync_replay import SyncRun, replay_sync_replicas
from helpers.notebook.figures import show
from helpers.notebook.style import ACTIVITY, BLACK, RED, axes, style

DROPPED: dict[str, Any] = {"facecolor": "white", "edgecolor": RED, "hatch": "xxxx"}


class Told(NamedTuple):
    """A replay, and every push in its order: worker, local step, whether it counted."""

    run: SyncRun
    log: list[tuple[int, int, bool]]


def told(
    machine: Callable[..., OneAccumulator],
    seconds: Sequence[float],
    aggregate: int,
    num_tokens: int,
    steps: int = 30,
) -> Told:
    """Replay a training, and note what became of every gradient. Arguments: as the replay's."""
    made: list[OneAccumulator] = []

    def make(*args: Any) -> OneAccumulator:
        made.append(machine(*args))
        return made[-1]

    any_: Any = make
    run = replay_sync_replicas(seconds, aggregate, steps, num_tokens, machine=any_)
    return Told(run, made[0].log)


def show_tokens(runs: Mapping[str, Told], until: float, caption: str, alt: str) -> None:
    """A panel a run: each gradient with the step that it was for, dropped ones crossed.

    until: in seconds, where the picture ends.
    """
    panels = {}
    for title, (run, log) in runs.items():
        assert run.trace is not None
        fates: dict[int, list[Fate]] = {w: [] for w in range(run.trace.size)}
        for worker, local, counts in log:
            fates[worker].append(Fate(counts, str(local)))
        panels[title] = Panel(run.trace, fates, run.times)
    show(draw_panels(panels, until, "waiting for a token"), caption=caption, alt=alt)


class Fate(NamedTuple):
    """What became of a gradient, and what to write into its bar."""

    counts: bool
    text: str = ""


class Panel(NamedTuple):
    """A timeline. fates: of each worker's gradients, in order. updates: when each was made.

    begin: the moment (s) at which the picture begins.
    """

    trace: Trace
    fates: Mapping[int, Sequence[Fate]]
    updates: Sequence[float]
    begin: float = 0.0


def draw_panels(panels: Mapping[str, Panel], until: float, waits: str = "waiting") -> Any:
    """Timelines one above the other, with a dashed line at every update, so many seconds long."""
    workers = max(panel.trace.size for panel in panels.values())
    figure, drawn = axes(rows=len(panels), width=9.0, height=len(panels) * (0.95 + 0.36 * workers))
    rows = list(drawn) if len(panels) > 1 else [drawn]
    scale, unit = (1.0, "s") if until >= 1 else (1e-3, "ms")
    for ax, (title, panel) in zip(rows, panels.items(), strict=True):
        with style():
            _draw(ax, panel, until, scale)
            ax.set_title(title, loc="left")
    virtual = next(iter(panels.values())).trace.virtual
    rows[-1].set_xlabel(f"{'virtual ' if virtual else ''}time ({unit})")
    _legend(figure, waits)
    return figure


def _draw(ax: Any, panel: Panel, until: float, scale: float) -> None:
    for worker in range(panel.trace.size):
        for event in panel.trace.of(worker, "waiting"):
            _bar(ax, event, panel.begin, until, scale, dict(ACTIVITY["waiting"]))
        fates = panel.fates[worker]
        for number, event in enumerate(panel.trace.of(worker, "computing")):
            fate = fates[number] if number < len(fates) else Fate(True)
            look = dict(ACTIVITY["computing"]) if fate.counts else dict(DROPPED)
            _bar(ax, event, panel.begin, until, scale, look, fate.text)
    for moment in panel.updates:
        if 0 < moment - panel.begin <= until:
            line = {"linewidth": 1.2, "linestyle": "--", "zorder": 3}
            ax.axvline((moment - panel.begin) / scale, color=BLACK, **line)
    ax.set_yticks(range(panel.trace.size), [f"worker {w}" for w in range(panel.trace.size)])
    ax.set_ylim(panel.trace.size - 0.5, -0.5)
    ax.set_xlim(0, until / scale)
    ax.grid(axis="y", visible=False)


def _bar(
    ax: Any,
    event: Event,
    begin: float,
    until: float,
    scale: float,
    look: dict[str, Any],
    text: str = "",
) -> None:
    """One bar, where it lies in the picture; text in its middle."""
    start, end = event.start - begin, event.end - begin
    if end <= 0 or start >= until:
        return
    look = {"edgecolor": "#444444", **look}
    width, left = (end - start) / scale, start / scale
    ax.barh(event.rank, width, height=0.6, left=left, linewidth=0.8, **look)
    middle = (start + end) / 2
    if text and 0 < middle < until:
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        place = {"ha": "center", "va": "center", "fontsize": 9, "bbox": box}
        ax.text(middle / scale, event.rank, text, **place)


def _legend(figure: Any, waits: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure.legend(
        handles=[
            Patch(edgecolor="#444444", label="computing, counts", **ACTIVITY["computing"]),
            Patch(label="computing, dropped", **DROPPED),
            Patch(edgecolor="#444444", label=waits, **ACTIVITY["waiting"]),
            Line2D([], [], color=BLACK, linewidth=1.2, linestyle="--", label="update"),
        ],
        loc="outside upper left",
        ncols=4,
        frameon=False,
    )


def show_old_tokens(guessed: Told) -> None:
    """Quick workers that take the tokens of a slow one."""
    show_tokens(
        {"2 of 3, num_tokens = 0": guessed},
        until=0.3,
        caption="The number in a bar is its worker's token. The quick workers take old tokens "
        "that worker 2 has left, and compute in vain.",
        alt="Timeline of three workers with a dashed line at every update, every 20 ms or "
        "40 ms. Worker 2 is always dropped. Workers 0 and 1 are dropped once in four "
        "gradients, after an update that they were in time for.",
    )


def show_first_tokens(pair: Mapping[str, Told]) -> None:
    """Two workers, with no tokens at the start and with the default."""
    show_tokens(
        pair,
        until=0.22,
        caption="With no tokens at the start every update waits for both workers; with the "
        "default, −1, worker 0 makes the first update alone.",
        alt="Two timelines of two workers. Above, an update every 50 ms with a gradient of "
        "each worker. Below, the first update after 40 ms, of two gradients of worker "
        "0; then a gradient of each worker is dropped.",
    )
