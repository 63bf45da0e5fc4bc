"""A viewer for a trace in a live notebook: it zooms, and names the event under the pointer.

All of it works by keyboard: Tab goes from one control to the next, arrow keys move the sliders,
and the slider of events chooses the bar whose name is said.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from helpers.notebook.timeline import unit_of
from helpers.notebook.timeline_svg import Bar, Span, bars_of, picture, words
from helpers.notebook.widgets import show_widget

if TYPE_CHECKING:
    from helpers.engine.trace import Trace

STEPS = 40  # of the time's slider in what is seen: so far goes an arrow key
CLOSEST = 1e-6  # of the whole: no closer look


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


class Viewer:
    """The controls and the picture. `time` and `event` are its sliders, `picture` its HTML."""

    def __init__(self, trace: Trace) -> None:
        import ipywidgets

        self.trace = trace
        self.scale, unit = unit_of(trace.duration)
        self.span, self.bars = Span(0.0, trace.duration, trace.duration), list[Bar]()
        self._busy = False
        wide: dict[str, Any] = {
            "style": {"description_width": "7em"},
            "layout": ipywidgets.Layout(width="min(38em, 98%)"),
        }
        whole = trace.duration / self.scale
        self.time = ipywidgets.FloatRangeSlider(
            value=(0, whole), min=0, max=whole, step=whole / STEPS, readout_format=".4g",
            description=f"time ({unit})", **wide,
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
        length, whole = self.span.end - self.span.begin, self.trace.duration
        new = max(length * stretch, whole * CLOSEST) if stretch else whole
        middle = (self.span.begin + self.span.end) / 2 + move * length
        if stretch < 1 and self.event.value:
            bar = self.bars[self.event.value - 1]
            middle = (max(bar.start, self.span.begin) + min(bar.end, self.span.end)) / 2
        begin = min(max(middle - new / 2, 0.0), max(whole - new, 0.0))
        self._show(Span(begin, min(begin + new, whole), whole))

    def _moved(self) -> None:
        low, high = (value * self.scale for value in self.time.value)
        whole = self.trace.duration
        if not self._busy and high > low:
            self._show(Span(low, min(high, whole), whole))

    def _chosen(self) -> None:
        if not self._busy:
            self._draw()

    def _show(self, span: Span) -> None:
        """Show a span; the event that was chosen stays so where it is still told apart."""
        kept = self.bars[self.event.value - 1].events[0] if self.event.value else None
        self.span, self.bars = span, bars_of(self.trace, span)
        self._busy = True
        try:
            self.time.step = (span.end - span.begin) / self.scale / STEPS
            self.time.value = (span.begin / self.scale, span.end / self.scale)
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
            said = "; ".join(words(self.bars[chosen], self.span))
        self.named.value = f'<div role="status" style="line-height:1.4">{html.escape(said)}</div>'
