"""What a cell shows: figures with alt text, timelines, widgets, predictions."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest

from helpers.engine.trace import Event, Trace
from helpers.notebook import style
from helpers.notebook.figures import png, show
from helpers.notebook.predict import predict
from helpers.notebook.timeline import timeline
from helpers.notebook.widgets import explore, label_of

EVENTS = [
    Event(0, "computing", 0.0, 1e-3),
    Event(0, "sending", 1e-3, 3e-3, "send to 1", 1, 40),
    Event(1, "waiting", 0.0, 3e-3, "receive from 0", 0),
    Event(0, "sending", 1e-3, 2e-3, "send to 1", 1, 40, lane=1),
]


class Screen:
    """Stands for the notebook's page: what was displayed, and what was updated where."""

    def __init__(self) -> None:
        self.shown: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.updates: list[str] = []

    def display(self, data: Any, **how: Any) -> None:
        assert how.pop("raw") is True
        if how.get("update"):
            self.updates.append(how["display_id"])
        self.shown.append((data, how.get("metadata") or {}))


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    page = Screen()
    monkeypatch.setattr("IPython.display.display", page.display)
    return page


def drawing(points: int = 3) -> Any:
    figure, ax = style.axes()
    ax.plot(range(points), range(points), **style.measured())
    return figure


# --- figures ------------------------------------------------------------------------------------


def test_a_figure_is_shown_with_alt_text_and_its_caption(screen: Screen) -> None:
    show(drawing(), caption="Twice as many ranks, <half> the time.", alt="A falling line.")
    (picture, metadata), (caption, _) = screen.shown
    assert base64.b64decode(picture["image/png"]).startswith(b"\x89PNG")
    assert metadata == {"image/png": {"alt": "A falling line."}}
    assert picture["text/plain"] == "A falling line."
    assert "&lt;half&gt;" in caption["text/html"]
    assert caption["text/plain"] == "Twice as many ranks, <half> the time."


@pytest.mark.parametrize(("caption", "alt"), [("", "something"), ("something", " ")])
def test_a_figure_without_words_is_refused(screen: Screen, caption: str, alt: str) -> None:
    with pytest.raises(ValueError, match="needs a caption and an alt text"):
        show(drawing(), caption, alt)
    assert not screen.shown


def test_a_picture_is_small_and_the_same_each_time() -> None:
    from PIL import Image

    first, second = png(drawing(50)), png(drawing(50))
    assert first == second
    assert len(first) < 30_000
    assert Image.open(io.BytesIO(first)).mode == "P"


def test_measured_modelled_and_published_differ_in_colour_and_in_marker() -> None:
    looks = [style.measured(), style.modelled(), style.published()]
    assert len({look["color"] for look in looks}) == 3
    assert len({(look["marker"], look["linestyle"]) for look in looks}) == 3
    assert len({look["label"] for look in looks}) == 3
    kinds = list(style.ACTIVITY.values())
    assert len({kind["facecolor"] for kind in kinds}) == len({k["hatch"] for k in kinds}) == 3


# --- timelines ----------------------------------------------------------------------------------


def heights_of_bars(figure: Any) -> list[float]:
    """Of those with a width. All bars of a kind are one patch, five corners a bar."""
    corners = [patch.get_path().vertices.reshape(-1, 5, 2) for patch in figure.axes[0].patches]
    sizes = [np.ptp(bar, axis=0) for of_a_kind in corners for bar in of_a_kind]
    return [float(height) for width, height in sizes if width > 0]


def test_a_timeline_has_a_row_a_rank_and_a_thin_one_for_the_second_lane() -> None:
    figure = timeline(Trace(EVENTS, 2, virtual=True), title="Two ranks")
    ax = figure.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["rank 0", "rank 1"]
    heights = heights_of_bars(figure)
    assert len(heights) == len(EVENTS)
    assert min(heights) < max(heights) / 2  # the communication thread
    assert ax.get_xlabel() == "virtual time (ms)"
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["computing", "sending", "waiting", "message"]
    # The message on lane 0 is in both ranks' events and drawn once.
    assert len(ax.texts) == 2


# --- widgets ------------------------------------------------------------------------------------


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The controls that `explore` makes."""
    import ipywidgets

    found: list[Any] = []
    original = ipywidgets.VBox

    def box(children: Any) -> Any:
        found.extend(children)
        return original(children)

    monkeypatch.setattr(ipywidgets, "VBox", box)
    return found


def test_a_widget_redraws_in_place_and_leaves_a_picture(screen: Screen, made: list[Any]) -> None:
    drawn: list[tuple[int, str]] = []

    def draw(world_size: int, link: str) -> Any:
        drawn.append((world_size, link))
        return drawing(world_size)

    explore(
        draw, alt=lambda world_size, link: f"{world_size} ranks over {link}",
        world_size=(2, 64, 8), link=["Ethernet", "NVLink"],
    )  # fmt: skip
    assert list(screen.shown[0][0]) == ["application/vnd.jupyter.widget-view+json"]
    assert screen.shown[1][1] == {"image/png": {"alt": "8 ranks over Ethernet"}}
    assert [control.description for control in made] == ["world size", "link"]
    made[0].value = 16  # what an arrow key does
    made[1].value = "NVLink"
    assert drawn == [(8, "Ethernet"), (16, "Ethernet"), (16, "NVLink")]
    assert len(set(screen.updates)) == 1 and len(screen.updates) == 2
    assert screen.shown[-1][1] == {"image/png": {"alt": "16 ranks over NVLink"}}


@pytest.mark.parametrize("bad", [(1, 2), 3, "text", ["alone"]])
def test_a_knob_that_is_none_is_refused(screen: Screen, bad: Any) -> None:
    with pytest.raises(ValueError, match="knob"):
        explore(lambda knob: drawing(), alt="A picture.", knob=bad)


def test_a_knob_whose_picture_fails_says_why(screen: Screen, made: list[Any]) -> None:
    def draw(rate: int) -> Any:
        if rate == 2:
            raise ZeroDivisionError("rate <2>")
        return drawing()

    explore(draw, alt="A picture.", rate=(1, 3, 1))
    with pytest.raises(ZeroDivisionError):
        made[0].value = 2
    said = screen.shown[-1][0]
    assert said["text/plain"] == "There is no picture of this. ZeroDivisionError: rate <2>"
    assert "rate &lt;2&gt;" in said["text/html"]
    made[0].value = 3
    assert "image/png" in screen.shown[-1][0] and len(set(screen.updates)) == 1


def test_a_label_has_its_unit() -> None:
    names = ("work_ms", "latency_us", "link_in_Gbit_per_s", "MB", "range_percent", "at_once")
    labels = ["work (ms)", "latency (µs)", "link (Gbit/s)", "MB", "range (%)", "at once"]
    assert list(map(label_of, names)) == labels
    assert [label_of(name) for name in dict(latency_µs=1)] == ["latency (µs)"]


# --- predictions --------------------------------------------------------------------------------


def test_a_prediction_is_compared() -> None:
    guess = predict("How much quicker?", unit="×")
    guess._enter("2")
    assert repr(guess.compare(0.8)) == "You said 2×; measured 0.8×, 0.4 times what you said."
    guess._enter(" 0,75 × ")
    assert guess.value == 0.75
    assert repr(guess.compare(0.8)) == "You said 0.75×; measured 0.8×, which is close."
    assert "You said" in guess.compare(0.8)._repr_html_()


@pytest.mark.parametrize("choices", [None, ["sooner", "later"]])
def test_an_entry_has_a_label_and_takes_what_is_typed(
    screen: Screen, monkeypatch: pytest.MonkeyPatch, choices: list[str] | None
) -> None:
    import ipywidgets

    made: list[Any] = []

    def box(children: Any) -> Any:
        made.extend(children)
        return ipywidgets.Box(children)

    monkeypatch.setattr(ipywidgets, "HBox", box)
    guess = predict("How many <ranks>?", unit=" ranks", choices=choices)
    guess._ipython_display_()
    assert "&lt;ranks&gt;" in screen.shown[0][0]["text/html"]
    entry, said = made
    assert entry.description == "I expect" and entry.tooltip == "How many <ranks>?"
    entry.value = "later" if choices else "4"
    assert guess.value == ("later" if choices else 4.0)
    if not choices:
        entry.value = "four"
        assert said.value == "Type a number, such as 2 or 0.5."
