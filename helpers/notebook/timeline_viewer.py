"""A viewer for a trace in a live notebook: it zooms, and names the event under the pointer.

All of it works by keyboard: Tab goes from one control to the next, arrow keys move the sliders,
and the slider of events chooses the bar whose name is said.
"""

from __future__ import annotations

import base64
import html
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from helpers.notebook.figures import png
from helpers.notebook.timeline import row, timeline, unit_of
from helpers.notebook.widgets import show_widget

if TYPE_CHECKING:
    from helpers.engine.trace import Event, Kind, Trace

STEPS = 40  # of the time's slider in what is seen: so far goes an arrow key
CLOSEST = 1e-6  # of the whole: no closer look
MOST = 800  # bars in one picture
DOTS = 900  # across it: what is narrower than one and a half of them is merged with its neighbours


def explore_trace(trace: Trace) -> None:
    """Show the viewer of a trace under the cell; the saved notebook keeps nothing of it.

    Outside a notebook it says what draws a picture there.
    """
    from helpers.notebook.failed_cells import in_notebook

    if not in_notebook():
        print("The viewer of a trace needs a notebook. Its picture is drawn by .plot().")
    elif not trace.duration:
        print("The trace holds no events.")
    else:
        show_widget(Viewer(trace).box)


Span = tuple[float, float]


class Bar(NamedTuple):
    """One event, or several of a row that are too short to be told apart; how it is drawn."""

    events: tuple[Event, ...]
    drawn: Event


class Viewer:
    """The controls and the picture. `time` and `event` are its sliders, `picture` its HTML."""

    def __init__(self, trace: Trace) -> None:
        import ipywidgets

        self.trace = trace
        self.scale, unit = unit_of(trace.duration)
        self.span, self.bars = (0.0, trace.duration), list[Bar]()
        self._busy = False
        wide: dict[str, Any] = {
            "style": {"description_width": "7em"},
            "layout": ipywidgets.Layout(width="min(38em, 98%)"),
        }
        whole = trace.duration / self.scale
        self.time = ipywidgets.FloatRangeSlider(
            value=(0, whole), min=0, max=whole, step=whole / STEPS, readout_format=".4g",
            description=f"time ({unit})", continuous_update=False, **wide,
        )  # fmt: skip
        self.event = ipywidgets.IntSlider(description="event", readout=False, **wide)
        self.named, self.picture = ipywidgets.HTML(), ipywidgets.HTML()
        self.time.observe(lambda change: self._moved(), names="value")
        self.event.observe(lambda change: self._chosen(), names="value")
        row = ipywidgets.Layout(flex_flow="row wrap")
        buttons = ipywidgets.HBox([self._button(*each) for each in self._moves()], layout=row)
        full = ipywidgets.Layout(width="100%", overflow="hidden")
        self.picture.layout = full
        parts = [self.picture, self.time, buttons, self.event, self.named]
        self.box = ipywidgets.VBox(parts, layout=full)
        self._draw()

    def _moves(self) -> list[tuple[str, str, float, float]]:
        """The buttons: what they say, their tooltip, by what they stretch and by what they move."""
        return [
            ("+", "zoom in, on the chosen event if there is one", 0.5, 0.0),
            ("−", "zoom out", 2.0, 0.0),
            ("◀", "earlier", 1.0, -0.5),
            ("▶", "later", 1.0, 0.5),
            ("all", "the whole run", 0.0, 0.0),
        ]

    def _button(self, text: str, tooltip: str, stretch: float, move: float) -> Any:
        import ipywidgets

        layout = ipywidgets.Layout(width="4em")
        button = ipywidgets.Button(description=text, tooltip=tooltip, layout=layout)
        button.on_click(lambda _: self.look(stretch, move))
        return button

    def look(self, stretch: float, move: float = 0.0) -> None:
        """Show a span so many times as long as now, moved by so many lengths; 0 times: all."""
        length, whole = self.span[1] - self.span[0], self.trace.duration
        new = max(length * stretch, whole * CLOSEST) if stretch else whole
        middle = sum(self.span) / 2 + move * length
        if stretch < 1 and self.event.value:
            drawn = self.bars[self.event.value - 1].drawn
            middle = (max(drawn.start, self.span[0]) + min(drawn.end, self.span[1])) / 2
        begin = min(max(middle - new / 2, 0.0), max(whole - new, 0.0))
        self._show((begin, min(begin + new, whole)))

    def _moved(self) -> None:
        low, high = (value * self.scale for value in self.time.value)
        if not self._busy and high > low:
            self._show((low, min(high, self.trace.duration)))

    def _chosen(self) -> None:
        if not self._busy:
            self._draw()

    def _show(self, span: Span) -> None:
        """Show a span; the event that was chosen stays so where it is still told apart."""
        kept = self.bars[self.event.value - 1].events[0] if self.event.value else None
        self.span, self.bars = span, bars_of(self.trace, span)
        self._busy = True
        try:
            self.time.step = (span[1] - span[0]) / self.scale / STEPS
            self.time.value = tuple(at / self.scale for at in span)
            same = (n for n, bar in enumerate(self.bars, 1) if kept in bar.events)
            self.event.value = 0
            self.event.max = len(self.bars)
            self.event.value = next(same, 0) if kept else 0
        finally:
            self._busy = False
        self._draw()

    def _draw(self) -> None:
        if not self.bars:
            self.bars = bars_of(self.trace, self.span)
            self.event.max = len(self.bars)
        chosen = self.event.value - 1 if self.event.value else None
        self.picture.value = picture(self.trace, self.span, self.bars, chosen)
        said = "Point at a bar, or choose one with the slider."
        if chosen is not None:
            said = words(self.bars[chosen], self.trace, self.span)
        self.named.value = f'<div role="status" style="line-height:1.4">{html.escape(said)}</div>'


# --- the bars -------------------------------------------------------------------------------------


def bars_of(trace: Trace, span: Span, most: int = MOST) -> list[Bar]:
    """What lies in a span, at most so many bars, by time; more than that are merged."""
    shown = [e for e in trace if e.end >= span[0] and e.start <= span[1]]
    narrow = 1.5 * (span[1] - span[0]) / DOTS
    bars = list(_merged(shown, narrow))
    while len(bars) > most and narrow < span[1] - span[0]:
        narrow *= 2
        bars = list(_merged(shown, narrow))
    return sorted(bars, key=lambda bar: (bar.drawn.start, bar.drawn.rank, bar.drawn.end))


def _merged(events: Sequence[Event], narrow: float) -> Iterator[Bar]:
    """Bars of events that are sorted by row and time. narrow: seconds below which they merge."""
    group: list[Event] = []
    for e in events:
        fits = (
            group
            and (e.rank, e.lane) == (group[0].rank, group[0].lane)
            and max(e.end - e.start, group[-1].end - group[-1].start) < narrow
            and e.start - group[-1].end < narrow
            and e.end - group[0].start < 4 * narrow
        )
        if group and not fits:
            yield _bar(group)
            group = []
        group.append(e)
    if group:
        yield _bar(group)


def _bar(events: Sequence[Event]) -> Bar:
    first = events[0]
    if len(events) == 1:
        return Bar((first,), first)
    seconds: dict[Kind, float] = {}
    for e in events:
        seconds[e.kind] = seconds.get(e.kind, 0.0) + e.end - e.start
    kind, end = max(seconds, key=lambda kind: seconds[kind]), max(e.end for e in events)
    return Bar(tuple(events), replace(first, kind=kind, end=end, peer=None))


def words(bar: Bar, trace: Trace, span: Span) -> str:
    """What a bar is, and when; the times have the digits that the span asks for."""
    first = bar.drawn
    where = f"rank {first.rank}" + (", communication thread" if first.lane else "")
    when = f"{times(first.start, first.end, trace, span)}, {_length(first.end - first.start)} long"
    if len(bar.events) > 1:
        kinds = Counter(e.kind for e in bar.events)
        said = ", ".join(f"{count} × {kind}" for kind, count in kinds.most_common())
        return f"{where}: {said}; {when}; zoom in to tell them apart"
    what = first.kind + (f": {first.label}" if first.label else "")
    if first.peer is not None and str(first.peer) not in first.label:
        what += f", with rank {first.peer}"
    return f"{where}, {what}; {when}" + (f", {first.bytes:,} bytes" if first.bytes else "")


def times(start: float, end: float, trace: Trace, span: Span) -> str:
    """From when to when, with as many digits as tell a thousandth of the span."""
    scale, unit = unit_of(trace.duration)
    digits = max(0, 3 - math.floor(math.log10((span[1] - span[0]) / scale)))
    return f"{start / scale:.{digits}f} to {end / scale:.{digits}f} {unit}"


def _length(seconds: float) -> str:
    scale, unit = unit_of(seconds)
    return f"{seconds / scale:.3g} {unit}"


# --- the picture ----------------------------------------------------------------------------------

STYLE = """\
.course-timeline{max-width:960px;position:relative}
.course-timeline img{width:100%}
.course-timeline svg{position:absolute;inset:0;width:100%;height:100%}
.course-timeline .name{visibility:hidden;pointer-events:none;font:13px sans-serif}
.course-timeline .bar rect{fill:transparent}
.course-timeline .bar:hover .name,.course-timeline .chosen .name{visibility:visible}
.course-timeline:has(.bar:hover) .chosen:not(:hover) .name{visibility:hidden}
.course-timeline .bar:hover rect,.course-timeline .chosen rect{stroke:#D55E00;stroke-width:2}
"""


def picture(trace: Trace, span: Span, bars: Sequence[Bar], chosen: int | None = None) -> str:
    """HTML of the timeline of a span. chosen: the place of the bar that says its name.

    Over each bar lies a transparent one, whose name shows by CSS alone while the pointer is on it:
    it works wherever HTML does.
    """
    drawn = [bar.drawn for bar in bars]
    figure = timeline(trace, 8.5, title=" ", span=span, events=drawn)  # a title's place, for names
    data = base64.b64encode(png(figure, quick=True)).decode()
    places = figure.axes[0].transData - figure.transFigure
    names = (
        _over(bar, places, words(bar, trace, span), trace, span, n == chosen)
        for n, bar in enumerate(bars)
    )
    count = sum(len(bar.events) for bar in bars)
    said = f"Timeline of {trace.size} ranks from {times(*span, trace, span)}: {count} events"
    return (
        f'<style>{STYLE}</style><div class="course-timeline" role="group" aria-label="{said}">'
        f'<img src="data:image/png;base64,{data}" alt=""/><svg>{"".join(names)}</svg></div>'
    )


def _over(bar: Bar, places: Any, name: str, trace: Trace, span: Span, chosen: bool) -> str:
    """What lies over a bar. places: from the axes' numbers to shares of the figure."""
    scale, _ = unit_of(trace.duration)
    start, end = (min(max(at, span[0]), span[1]) for at in (bar.drawn.start, bar.drawn.end))
    centre, height = row(bar.drawn.rank, bar.drawn.lane)
    (left, top), (right, bottom) = places.transform(
        [(start / scale, centre - height / 2), (end / scale, centre + height / 2)]
    )
    told = html.escape(name)
    return (
        f'<g class="bar{" chosen" if chosen else ""}"><title>{told}</title>'
        f'<rect x="{left:.3%}" y="{1 - top:.3%}" width="{max(right - left, 0.001):.3%}" '
        f'height="{top - bottom:.3%}"/><text class="name" x="1%" y="18">{told}</text></g>'
    )
