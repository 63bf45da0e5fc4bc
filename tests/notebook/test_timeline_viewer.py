"""The viewer of a trace: which bars there are in a span, their names, and the controls."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from helpers.engine.trace import Event, Trace
from helpers.notebook.timeline_viewer import Viewer, bars_of, picture, words

FEW = Trace(
    [
        Event(0, "computing", 0.0, 1e-3),
        Event(0, "sending", 1e-3, 3e-3, "send to 1", 1, 4000),
        Event(1, "waiting", 0.0, 3e-3, "receive from 0", 0),
        Event(1, "computing", 3e-3, 4e-3, "a <loss> & its gradient"),
        Event(1, "sending", 3.2e-3, 3.6e-3, lane=1, peer=0),
    ],
    2,
)
# 30 000 short events on three ranks, and a long one among them.
MANY = Trace(
    [
        *(Event(n % 3, "computing", n * 1e-4, n * 1e-4 + 5e-5, f"step {n}") for n in range(30_000)),
        Event(0, "waiting", 3.0, 4.0, "long"),
    ],
    3,
)


def parsed(html: str) -> ElementTree.Element:
    """The picture as a tree, which tells that its tags are closed and its text is escaped."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def test_the_picture_names_each_event():
    whole = (0.0, FEW.duration)
    bars = bars_of(FEW, whole)
    tree = parsed(picture(FEW, whole, bars, chosen=1))
    titles = [title.text for title in tree.iter("title")]
    assert len(titles) == len(FEW)
    assert "rank 0, sending: send to 1; 1.000 to 3.000 ms, 2 ms long, 4,000 bytes" in titles
    assert "rank 1, computing: a <loss> & its gradient; 3.000 to 4.000 ms, 1 ms long" in titles
    second = "rank 1, communication thread, sending, with rank 0"
    assert f"{second}; 3.200 to 3.600 ms, 400 µs long" in titles
    groups = [g.get("class") for g in tree.iter("g")]
    assert groups.count("bar") == 4
    assert groups.index("bar chosen") == 1
    # Places are shares of the picture, so that any window holds them.
    for rect in tree.iter("rect"):
        x, y, width, height = (
            float(rect.get(name, "").removesuffix("%")) for name in ("x", "y", "width", "height")
        )
        assert x >= 0 and y > 0 and height > 0
        assert x + width <= 100.001 and y + height <= 100.001


def test_short_events_are_merged_until_one_looks_closely():
    whole = (0.0, MANY.duration)
    bars = bars_of(MANY, whole)
    assert len(bars) <= 800
    assert sum(len(bar.events) for bar in bars) == len(MANY)
    said = [words(bar, MANY, whole) for bar in bars if len(bar.events) > 1]
    assert all(re.match(r"rank \d: \d+ × computing; ", told) for told in said)
    assert all(told.endswith("zoom in to tell them apart") for told in said)
    # The long one stays by itself.
    assert [bar.drawn.label for bar in bars if bar.drawn.kind == "waiting"] == ["long"]

    close = (1.0, 1.01)
    bars = bars_of(MANY, close)
    assert all(len(bar.events) == 1 for bar in bars)
    assert len(bars) == pytest.approx(100, abs=2)
    assert len(bars_of(MANY, close, most=20)) <= 20


def test_buttons_and_sliders_zoom_by_keyboard_alone():
    viewer = Viewer(FEW)
    assert viewer.time.value == (0.0, 4.0)
    viewer.look(0.5)
    assert viewer.time.value == (1.0, 3.0)
    viewer.look(1.0, 0.5)
    assert viewer.time.value == (2.0, 4.0)
    viewer.look(1.0, 0.5)  # there is nothing behind the end
    assert viewer.time.value == (2.0, 4.0)
    viewer.look(0.0)
    assert (viewer.span, viewer.time.value) == ((0.0, 4e-3), (0.0, 4.0))
    viewer.time.value = (3.1, 3.7)  # what an arrow key on a handle does
    assert viewer.span == pytest.approx((3.1e-3, 3.7e-3))
    assert "of 2 ranks from 3.1000 to 3.7000 ms: 2 events" in viewer.picture.value
