"""A timeline: what each rank did and when, a row a rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from helpers.engine.trace import Event, Trace
from helpers.notebook.style import ACTIVITY, axes, style

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def timeline(
    trace: Trace,
    width: float = 7.0,
    arrows: bool | None = None,
    title: str = "",
    ax: Any = None,
    span: tuple[float, float] | None = None,
    events: Sequence[Event] | None = None,
) -> Any:
    """Draw a trace and return the matplotlib figure.

    A row a rank, rank 0 on top; under it a thin row for its communication thread where one was
    used. arrows: a line from each message's sender to its receiver; by default where they are few.
    ax: draw there instead, and return its figure. span: only these seconds of the run. events: in
    place of the trace's, such as those that a viewer has merged.
    """
    events = list(trace) if events is None else events
    if ax is None:
        lanes = {e.rank for e in trace if e.lane == 1}
        figure, ax = axes(width=width, height=1.1 + 0.42 * trace.size + 0.2 * len(lanes))
    else:
        figure = ax.figure
    scale, unit = unit_of(trace.duration)
    with style():
        for kind in ACTIVITY:
            if bars := [event for event in events if event.kind == kind]:
                _bars(ax, bars, scale)
        messages = flights(events)
        if arrows if arrows is not None else len(messages) <= 40:
            for flight in messages:
                _arrow(ax, flight, scale)
        _finish(ax, trace, unit, scale, title)
        if span is not None:
            ax.set_xlim(span[0] / scale, span[1] / scale)
    return figure


def unit_of(duration: float) -> tuple[float, str]:
    """The unit in which a duration in seconds reads well: its seconds, and its sign."""
    return next(((s, u) for s, u in _UNITS if duration >= s), _UNITS[-1])


def row(rank: int, lane: int) -> tuple[float, float]:
    """Centre and height of a bar."""
    return (rank + 0.33, 0.16) if lane else (rank - 0.02, 0.46)


def _bars(ax: Any, events: Sequence[Event], scale: float) -> None:
    """The bars of one kind. They are one artist: for each, matplotlib draws a hatch's tile anew."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = []
    for event in events:
        centre, height = row(event.rank, event.lane)
        (left, right), bottom = (event.start / scale, event.end / scale), centre - height / 2
        top = centre + height / 2
        corners += [(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)]
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(events)
    look = {"edgecolor": "#444444", "linewidth": 0.4, **ACTIVITY[events[0].kind]}
    # `add_patch` would look at every corner for the limits of the axes, which are set at the end.
    ax.add_artist(PathPatch(Path(corners, codes), snap=True, **look))


class Flight(NamedTuple):
    """A message as an arrow: from which rank to which, on which lane, when."""

    source: int
    to: int
    lane: int
    start: float
    end: float


def flights(events: Iterable[Event]) -> list[Flight]:
    """The messages that these events show: as their sender noted them, else as their receiver."""
    sends, receives = [], []
    for e in events:
        if e.peer is None or 0 < e.end - e.start <= 1e-12 * e.end:
            continue  # no message, or one that is over but for the clock's last bit
        if e.label.startswith("receive"):
            receives.append(Flight(e.peer, e.rank, e.lane, e.start, e.end))
        elif e.kind == "sending":
            sends.append(Flight(e.rank, e.peer, e.lane, e.start, e.end))
    for flight in receives:
        same = (s for s in sends if s[:3] == flight[:3])
        if not any(s.start < flight.end and flight.start < s.end for s in same):
            sends.append(flight)
    return sends


def _arrow(ax: Any, flight: Flight, scale: float) -> None:
    down = flight.to > flight.source
    centre, height = row(flight.source, flight.lane)
    target = row(flight.to, flight.lane)
    start = (flight.start / scale, centre + (height / 2 if down else -height / 2))
    tip = (flight.end / scale, target[0] + (-target[1] / 2 if down else target[1] / 2))
    look = {"arrowstyle": "-|>", "color": "#333333", "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tip, start, arrowprops=look)


def _finish(ax: Any, trace: Trace, unit: str, scale: float, title: str) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ax.set_yticks(range(trace.size), [f"rank {r}" for r in range(trace.size)])
    ax.set_ylim(trace.size - 0.5, -0.5)
    ax.set_xlim(0, max(trace.duration / scale, 1e-9) * 1.01)
    ax.set_xlabel(f"{'virtual ' if trace.virtual else ''}time ({unit})")
    ax.grid(axis="y", visible=False)
    if title:
        ax.set_title(title, pad=24)
    used = [kind for kind in ACTIVITY if any(e.kind == kind for e in trace)]
    handles: list[Any] = [Patch(edgecolor="#444444", label=k, **ACTIVITY[k]) for k in used]
    if ax.texts:
        handles.append(Line2D([], [], color="#333333", linewidth=0.9, marker=">", label="message"))
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, borderaxespad=0.2
    )
