"""The figure of who imports whom is today's, and its arrows point down."""

from __future__ import annotations

import html
import re

from helpers.course.setup.places import ROOT
from tests import architecture


def test_the_figure_is_made_from_todays_imports() -> None:
    drawn = html.unescape(architecture.FIGURE.read_text(encoding="utf-8"))
    assert architecture.described(architecture.edges()) in " ".join(drawn.split()), (
        "`python -m tests.architecture` draws it anew"
    )


def test_every_package_is_a_box_and_every_arrow_points_down() -> None:
    row = {name: n for n, layer in enumerate(architecture.LAYERS) for name in layer}
    found = architecture.edges()
    assert set(found) == set(row)
    upward = [(a, b) for a, below in found.items() for b in below if row[a] >= row[b]]
    assert upward == []


def test_contributing_shows_it_with_its_words() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f'<img src="docs/architecture.svg" width="620" alt="{architecture.ALT}">' in text


def test_the_tools_that_the_map_names_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tools = text.partition("before you write a tool")[2].partition("\n\n")[0]
    named = re.findall(r"`([\w/]+\.py)`", tools)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []
