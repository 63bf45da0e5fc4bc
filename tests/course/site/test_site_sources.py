"""What the site is made of: links mended, pages without answers."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import pytest
from leaks import ROOT

from helpers.course import cli
from helpers.course.build.notebook import code_cells, read
from helpers.course.site import build
from helpers.course.site.conf import mathml
from helpers.course.site.pages import anchor, mended, page
from helpers.grade.release.cells import recorded
from helpers.notebook.recorded import digest

README = (ROOT / "README.md").read_text(encoding="utf-8")
LESSON = read(ROOT / "lessons/02_messages.ipynb")
SOLUTION = read(ROOT / "solutions/02_messages.ipynb")


def test_the_readme_is_short_and_leads_to_every_page_in_docs() -> None:
    assert len(README.splitlines()) <= 150 and README.count("<img") == 1
    for path in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{path.name})" in README, path.name


def test_links_lead_to_what_is_held_or_become_words() -> None:
    held = {"docs/sandbox.md", "README.md", "lessons/00_start_here.ipynb"}
    text = (
        "<!-- c: d -->\n[a](sandbox.md) [b](../README.md#X-y?) [c](#d) [e](https://f.org) "
        "[here](../cluster/x.slurm) [cluster/y.slurm](../cluster/y.slurm) ![p](p.png)\n"
        "```sh\n[g](h)\n```\n"
        "[i](../lessons/00_start_here.ipynb)"
    )
    assert mended(text, "docs/instructors.md", held) == (
        "[a](sandbox.md) [b](../README.md#x-y) [c](#d) [e](https://f.org) here "
        "`cluster/y.slurm` ![p](p.png)\n```sh\n[g](h)\n```\n"
        "[i](../lessons/00_start_here.ipynb)"
    )


def test_a_page_shows_what_a_release_shows_and_no_more() -> None:
    made = page(LESSON, SOLUTION)
    table = recorded(LESSON, SOLUTION, set())
    outputs = {cell.id: cell.outputs for cell in code_cells(made)}
    assert [cell.source for cell in code_cells(made)] == [c.source for c in code_cells(LESSON)]
    for cell in code_cells(LESSON):
        if cell.id.startswith(("exercise-", "check-")):
            assert outputs[cell.id] == []
        elif digest(cell.source) in table:
            assert outputs[cell.id]
    said = str(outputs)
    assert "This runs your" not in said and "this machine" not in said
    assert "You made no prediction" not in said and "Measured" in said


def test_a_page_is_not_made_of_an_answered_lesson() -> None:
    answered = copy.deepcopy(LESSON)
    for cell in code_cells(answered):
        if cell.id == "exercise-02-1":
            cell.source = "def scatter(comm, batch, rows, width):\n    return batch"
    with pytest.raises(ValueError, match=r"the cell of exercise 02\.1 is not a stub"):
        page(answered, SOLUTION)
    fewer = copy.deepcopy(LESSON)
    del fewer.cells[3]
    with pytest.raises(ValueError, match="is not what its solution builds"):
        page(fewer, SOLUTION)


def test_jupyterlabs_anchors_and_githubs_are_one() -> None:
    here = "exercise-012--where-does-it-go"
    for title in ("Exercise 01.2 — Where does it go?", "Exercise-01.2-—-Where-does-it-go?", here):
        assert anchor(title) == here


def test_formulas_become_mathml_or_are_named() -> None:
    assert "<mi>&#x003B1;</mi>" in mathml(r"\alpha + n\beta")
    assert 'display="block"' in mathml(r"\arg\min_x \text{round\_trip}(x)", "block")
    with pytest.raises(ValueError, match="holds a command that becomes no MathML"):
        mathml(r"\nosuchcommand{x}")
    with pytest.raises(ValueError, match=r"The formula \\left\( x cannot be read"):
        mathml(r"\left( x")


# --- the command ----------------------------------------------------------------------------------


def test_what_is_no_site_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert cli.main(["site", "--out", str(tmp_path)]) == 1
    assert "holds something that is no site" in capsys.readouterr().err
    assert cli.main(["site", "--out", str(tmp_path / "mine.txt")]) == 1
    assert "is a file: name a folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_site_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(sources: Path, out: Path) -> None:
        if (sources / "bad").exists():
            raise ValueError("Sphinx warns:\nof something")
        shutil.copytree(sources, out)

    def written(folder: Path) -> int:
        folder.mkdir()
        (folder / next(names)).touch()
        return 1

    monkeypatch.setattr(build, "run_sphinx", made)
    monkeypatch.setattr(build, "write_sources", written)
    names = iter(("first", "second", "bad"))
    out = tmp_path / "new" / "site"
    for kept in ("first", "second"):
        assert build.build_site(out) == 1
        assert {path.name for path in out.iterdir()} == {kept, build.MARK}
    with pytest.raises(ValueError, match="Sphinx warns"):
        build.build_site(out)
    assert {path.name for path in out.iterdir()} == {"second", build.MARK}
    assert [path.name for path in out.parent.iterdir()] == ["site"]
