"""The README and docs/benchmarks.md show what the kept figures are, and say what they bear out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import figure, kept, page, run
from benchmarks.kept import REPOSITORY, SHOWN, Store
from helpers.course.setup.places import ROOT

STORE = Store(REPOSITORY, SHOWN)
README, DOCS = page.PAGES
ANEW = "Write it anew: ./course bench all --only-table --readme"


@pytest.mark.parametrize("path", page.PAGES, ids=["readme", "docs"])
def test_tables_are_those_of_the_kept_figures(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert page.BLOCK.search(text)
    assert page.rendered(text, STORE) == text, ANEW


@pytest.mark.parametrize("picture", figure.PICTURES)
def test_pictures_show_the_kept_figures(picture: str) -> None:
    assert figure.told(figure.DOCS / picture) == figure.shown(STORE, picture), ANEW
    for panel in figure.PICTURES[picture]:
        assert len(figure.bars(STORE, panel)) > 1


def test_a_figure_that_differs_is_seen() -> None:
    # A comparison that cannot fail would be no comparison.
    text = README.read_text(encoding="utf-8")
    found = page.BLOCK.search(text)
    assert found
    spoilt = text.replace(found[0], found[0].replace("4", "5"), 1)
    assert spoilt != text == page.rendered(spoilt, STORE)
    other = "<!-- figures: goals -->\nold\n<!-- end -->"
    assert "old" not in page.rendered(other, STORE)
    with pytest.raises(ValueError, match="There is no block 'speed'"):
        page.rendered("<!-- figures: speed -->\n<!-- end -->", STORE)


def test_every_benchmark_has_its_section_with_figures_and_their_limit() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name in run.NAMES:
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"<!-- figures: {name}" in section and "What limits it:" in section, name
    assert "docs/benchmarks.md" in README.read_text(encoding="utf-8")


def test_no_figure_stands_in_the_text_around_the_tables() -> None:
    text = page.BLOCK.sub("", DOCS.read_text(encoding="utf-8"))
    assert re.findall(r"\d[\d.,]* ?(?:×|%|[mµ]?s\b|min\b|[GMk]B)", text) == []


def test_pages_are_written_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("a\n<!-- figures: machine -->\nold\n<!-- end -->\nb\n")
    monkeypatch.setattr(page, "PAGES", (tmp_path / "page.md",))
    monkeypatch.setattr(figure, "DOCS", tmp_path)
    written = page.write_all()
    assert [path.name for path in written] == [*figure.PICTURES, "page.md"]
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "old" not in text and "AMD EPYC, 2 cores" in text and text.endswith("<!-- end -->\nb\n")
    assert figure.told(tmp_path / "benchmarks.png") == figure.shown(STORE, "benchmarks.png")
    assert kept.SHOWN in {path.name for path in REPOSITORY.iterdir()} and ROOT in DOCS.parents
