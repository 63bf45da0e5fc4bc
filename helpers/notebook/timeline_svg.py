"""A part of a timeline as SVG, in which each bar says what it is while the pointer is on it.

Places along the time are in per cent of the width, so that the picture fits any window, while
letters and rows keep their size. Names show by CSS alone: it works wherever HTML does.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from helpers.notebook.style import ACTIVITY
from helpers.notebook.timeline import flights, unit_of

if TYPE_CHECKING:
    from helpers.engine.trace import Event, Trace

MOST = 800  # bars in one picture
DOTS = 900  # across it: what is narrower than one and a half of them is merged with its neighbours
ARROWS = 40  # the most messages that are drawn
NAMES = 40  # pixels above the rows, for the name of a bar
AXIS = 34  # pixels under them, for the times


class Span(NamedTuple):
    """What of a trace is shown: seconds from the start of the run, which took `whole`."""

    begin: float
    end: float
    whole: float


class Bar(NamedTuple):
    """One event, or several of a row that are too short to be told apart."""

    events: tuple[Event, ...]
    start: float
    end: float
    kind: str

    @property
    def rank(self) -> int:
        """The rank whose row it is in."""
        return self.events[0].rank


def bars_of(trace: Trace, span: Span, most: int = MOST) -> list[Bar]:
    """What lies in a span, at most so many bars, by time; more than that are merged."""
    shown = [e for e in trace if e.end >= span.begin and e.start <= span.end]
    narrow = 1.5 * (span.end - span.begin) / DOTS
    bars = list(_merged(shown, narrow))
    while len(bars) > most and narrow < span.end - span.begin:
        narrow *= 2
        bars = list(_merged(shown, narrow))
    return sorted(bars, key=lambda bar: (bar.start, bar.rank, bar.end))


def _merged(events: Sequence[Event], narrow: float) -> Iterator[Bar]:
    """Bars of events that are sorted by row and time. narrow: seconds below which they merge."""
    group: list[Event] = []
    for e in events:
        fits = (
            group
            and (e.rank, e.lane) == (group[0].rank, group[0].lane)
            and e.end - e.start < narrow
            and e.start - group[-1].end < narrow
            and e.end - group[0].start < 4 * narrow
        )
        if not fits:
            if group:
                yield _bar(group)
            group = []
        if e.end - e.start < narrow:
            group.append(e)
        else:
            yield _bar([e])
    if group:
        yield _bar(group)


def _bar(events: Sequence[Event]) -> Bar:
    seconds: Counter[str] = Counter()
    for e in events:
        seconds[e.kind] += e.end - e.start  # type: ignore[assignment]
    end = max(e.end for e in events)
    return Bar(tuple(events), events[0].start, end, seconds.most_common(1)[0][0])


# --- words ----------------------------------------------------------------------------------------


def words(bar: Bar, span: Span) -> tuple[str, str]:
    """What a bar is, and when: two lines. span: the times have the digits that it asks for."""
    first = bar.events[0]
    where = f"rank {bar.rank}" + (", communication thread" if first.lane else "")
    if len(bar.events) > 1:
        kinds = Counter(e.kind for e in bar.events)
        said = ", ".join(f"{count} × {kind}" for kind, count in kinds.most_common())
        return f"{where}: {said}", f"{_when(bar, span)}; zoom in to tell them apart"
    what = first.kind + (f": {first.label}" if first.label else "")
    if first.peer is not None and str(first.peer) not in first.label:
        what += f", with rank {first.peer}"
    size = f", {first.bytes:,} bytes" if first.bytes else ""
    return f"{where}, {what}", f"{_when(bar, span)}{size}"


def _when(bar: Bar, span: Span) -> str:
    scale, unit, digits = _digits(span)
    start, end = (f"{at / scale:.{digits}f}" for at in (bar.start, bar.end))
    length, of = unit_of(bar.end - bar.start)
    return f"{start} to {end} {unit}, {(bar.end - bar.start) / length:.3g} {of} long"


def _digits(span: Span) -> tuple[float, str, int]:
    """The run's unit, and how many digits behind the point tell a thousandth of the span."""
    scale, unit = unit_of(span.whole)
    return scale, unit, max(0, 3 - math.floor(math.log10((span.end - span.begin) / scale)))


# --- the picture ----------------------------------------------------------------------------------

STYLE = """\
.course-timeline{max-width:960px;font-size:12px;color:var(--jp-ui-font-color1,inherit)}
.course-timeline .rows{display:flex}
.course-timeline .fills{padding-left:68px;line-height:1.6}
.course-timeline .fills span{white-space:nowrap;margin-right:1.2em}
.course-timeline .fills svg{display:inline;vertical-align:-1px}
.course-timeline svg{display:block;overflow:hidden;font-size:12px}
.course-timeline text{fill:var(--jp-ui-font-color1,currentColor)}
.course-timeline .plot{flex:1;min-width:0}
.course-timeline .grid{stroke:var(--jp-border-color2,#CCC)}
.course-timeline .arrow{stroke:var(--jp-ui-font-color1,currentColor);pointer-events:none}
.course-timeline .bar rect{stroke:#444;stroke-width:.5}
.course-timeline .name{visibility:hidden;pointer-events:none}
.course-timeline .bar:hover .name,.course-timeline .chosen .name{visibility:visible}
.course-timeline:has(.bar:hover) .chosen:not(:hover) .name{visibility:hidden}
.course-timeline .bar:hover rect,.course-timeline .chosen rect{stroke:#D55E00;stroke-width:3}
"""


def picture(trace: Trace, span: Span, bars: Sequence[Bar], chosen: int | None = None) -> str:
    """HTML that shows some bars of a trace. chosen: the place of the one that says its name."""
    rows = _Rows(trace)
    whole = NAMES + rows.height + AXIS
    labels = "".join(
        f'<text x="62" y="{rows.middle(rank) + 4:.1f}" text-anchor="end">rank {rank}</text>'
        for rank in range(0, trace.size, max(1, math.ceil(12 / rows.step)))
    )
    inside = [*_axis(trace, span, rows), *(_rect(b, span, rows, n == chosen) for n, b in
              enumerate(bars)), *_arrows(bars, span, rows)]  # fmt: skip
    scale, unit, digits = _digits(span)
    said = f"Timeline of {trace.size} ranks from {span.begin / scale:.{digits}f} to " + (
        f"{span.end / scale:.{digits}f} {unit}: {sum(len(b.events) for b in bars)} events"
    )
    return (
        f"<style>{STYLE}</style>"
        f'<div class="course-timeline" role="group" aria-label="{said}"><div class="rows">'
        f'<svg width="68" height="{whole:.0f}" aria-hidden="true">{labels}</svg>'
        f'<svg class="plot" width="100%" height="{whole:.0f}">{_PATTERNS}{"".join(inside)}</svg>'
        f'</div><div class="fills">{_LEGEND}</div></div>'
    )


_PATTERNS = (
    "<defs>"
    '<pattern id="course-sending" width="6" height="6" patternUnits="userSpaceOnUse">'
    f'<rect width="6" height="6" fill="{ACTIVITY["sending"]["facecolor"]}"/>'
    '<path d="M0 6L6 0" stroke="#444" stroke-width=".7"/></pattern>'
    '<pattern id="course-waiting" width="5" height="5" patternUnits="userSpaceOnUse">'
    f'<rect width="5" height="5" fill="{ACTIVITY["waiting"]["facecolor"]}"/>'
    '<circle cx="2" cy="2" r=".7" fill="#444"/></pattern>'
    "</defs>"
)
_FILLS = {
    "computing": ACTIVITY["computing"]["facecolor"],
    "sending": "url(#course-sending)",
    "waiting": "url(#course-waiting)",
}
_LEGEND = "".join(
    '<span><svg width="18" height="11"><rect width="18" height="11" stroke="#444" '
    f'stroke-width=".5" fill="{fill}"/></svg> {kind}</span>'
    for kind, fill in _FILLS.items()
)


class _Rows:
    """Where rows are, in pixels: a rank's own thread, and a thin row of its second one."""

    def __init__(self, trace: Trace) -> None:
        self.second = any(e.lane for e in trace)
        self.step = min(max(520 / trace.size, 9.0), 40.0 if self.second else 30.0)
        self.height = self.step * trace.size

    def middle(self, rank: int) -> float:
        return NAMES + self.step * rank + self.step * (0.33 if self.second else 0.5)

    def place(self, rank: int, lane: int) -> tuple[float, float]:
        """Top and height of a bar."""
        top = NAMES + self.step * rank
        if not self.second:
            return top + 0.14 * self.step, 0.72 * self.step
        return (top + 0.66 * self.step, 0.24 * self.step) if lane else (
            top + 0.06 * self.step, 0.56 * self.step)  # fmt: skip


def _percent(at: float, span: Span) -> float:
    return 100 * (min(max(at, span.begin), span.end) - span.begin) / (span.end - span.begin)


def _rect(bar: Bar, span: Span, rows: _Rows, chosen: bool) -> str:
    left, right = _percent(bar.start, span), _percent(bar.end, span)
    top, height = rows.place(bar.rank, bar.events[0].lane)
    what, when = (html.escape(text) for text in words(bar, span))
    return (
        f'<g class="bar{" chosen" if chosen else ""}"><title>{what}\n{when}</title>'
        f'<rect x="{left:.3f}%" y="{top:.1f}" width="{max(right - left, 0.1):.3f}%" '
        f'height="{height:.1f}" fill="{_FILLS[bar.kind]}"/>'
        f'<text class="name" y="13">{what}</text><text class="name" y="30">{when}</text></g>'
    )


def _axis(trace: Trace, span: Span, rows: _Rows) -> Iterator[str]:
    """Lines at round times, and what they say."""
    scale, unit, _ = _digits(span)
    step = _round_step((span.end - span.begin) / scale / 5)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    bottom = NAMES + rows.height
    tick = math.ceil(span.begin / scale / step - 1e-9)
    while tick * step * scale <= span.end * (1 + 1e-12):
        at = _percent(tick * step * scale, span)
        side = "start" if at < 4 else "end" if at > 96 else "middle"
        yield (
            f'<line class="grid" x1="{at:.3f}%" x2="{at:.3f}%" y1="{NAMES}" y2="{bottom + 3:.0f}"/>'
        )
        yield (
            f'<text x="{at:.3f}%" y="{bottom + 15:.0f}" text-anchor="{side}">'
            f"{tick * step:.{digits}f}</text>"
        )
        tick += 1
    kind = "virtual time" if trace.virtual else "time"
    yield f'<text x="50%" y="{bottom + 30:.0f}" text-anchor="middle">{kind} ({unit})</text>'


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))


def _arrows(bars: Sequence[Bar], span: Span, rows: _Rows) -> Iterator[str]:
    """A line from each message's sender to its receiver, with a dot there, where they are few."""
    events = [e for bar in bars for e in bar.events if e.peer is not None]
    found = flights(events) if len(events) <= 4 * ARROWS else []
    for flight in found if len(found) <= ARROWS else []:
        ends = []
        for rank, at in ((flight.source, flight.start), (flight.to, flight.end)):
            top, height = rows.place(rank, flight.lane)
            low = (flight.to > flight.source) == (rank == flight.source)
            ends.append((_percent(at, span), top + (height if low else 0)))
        (x1, y1), (x2, y2) = ends
        yield f'<line class="arrow" x1="{x1:.3f}%" y1="{y1:.1f}" x2="{x2:.3f}%" y2="{y2:.1f}"/>'
        yield f'<circle class="arrow" cx="{x2:.3f}%" cy="{y2:.1f}" r="2"/>'
