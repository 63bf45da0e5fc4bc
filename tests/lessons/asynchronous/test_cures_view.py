"""The figures of cures say what their numbers say."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.colors import to_hex

from helpers.engine.servers.training import Point
from helpers.lessons.asynchronous.figures import cures_view as view
from helpers.notebook.style import GREEN, ORANGE, RED

FOUND = {
    "one": {"no cure": [(50.0, 10.0), (9.0, 10.0)], "slow": [(3.0, 30.0), (4.0, 30.0)]},
    "two": {"no cure": [(90.0, 10.0), (100.0, 10.0)], "slow": [(9.9, 30.0), (2.0, 30.0)]},
}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(view, "show", lambda figure, **words: kept.update(words, figure=figure))
    return kept


def test_a_row_has_the_colour_that_the_caption_says(shown: dict[str, Any]) -> None:
    view.show_cures(FOUND)
    one, two, _ = shown["figure"].axes
    colours = [[to_hex(line.get_color()) for line in ax.lines[:2]] for ax in (one, two)]
    assert colours == [[to_hex(ORANGE), to_hex(GREEN)], [to_hex(RED), to_hex(GREEN)]]
    assert shown["caption"].endswith("Green in both: slow.")
    assert shown["alt"].endswith("these take longer than without a cure: slow.")
    assert "no cure 9, 50" in shown["alt"]


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (120.0, None, "never"),
        (None, None, "never"),
        (None, 50.0, "8 times sooner"),
        (120.0, 15.0, "8 times sooner"),
        (120.0, 60.0, "a few times sooner"),
        (120.0, 118.0, "at about the same time"),
        (120.0, 190.0, "later"),
    ],
)
def test_how_soon_is_one_of_the_choices(one: float | None, other: float | None, words: str) -> None:
    assert view.how_soon(one, other) == words


def test_a_race_tells_when_each_is_there(shown: dict[str, Any]) -> None:
    curves = {
        name: [Point(seconds=s, updates=s, error=e) for s, e in zip((0, 5, 9), errors, strict=True)]
        for name, errors in {"quick": (90.0, 4.0, 6.0), "lost": (90.0, 80.0, 91.0)}.items()
    }
    view.show_race(curves, 5, "Two.")
    assert shown["caption"] == "Two. First at 5 %: quick after 5 s, lost never."
    assert "lost never, and ends at 91 %" in shown["alt"]
