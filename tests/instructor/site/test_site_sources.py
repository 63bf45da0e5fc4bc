"""What the site is made of: README.md taken apart, links mended, pages without answers."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import pytest
from leaks import ROOT

from helpers import cli
from helpers.instructor.build_notebook import code_cells, read
from helpers.instructor.release.cells import recorded
from helpers.instructor.site import build, contents
from helpers.instructor.site.extension import alt_texts, mathml
from helpers.instructor.site.lesson_page import page
from helpers.instructor.site.links import anchor, mended
from helpers.instructor.site.start import LEFT_OUT, parts, start
from helpers.notebook.recorded import digest

README = (ROOT / "README.md").read_text(encoding="utf-8")
LESSON = read(ROOT / "lessons/02_messages.ipynb")
SOLUTION = read(ROOT / "solutions/02_messages.ipynb")


def test_the_start_page_holds_all_of_the_readme_but_where_the_sidebar_leads() -> None:
    found = parts(README)
    page = start(found, {})
    for line in README.splitlines():
        if not line.startswith(("|", "#")):
            assert line in page, line
    assert len(found.lessons) == len(list((ROOT / "lessons").glob("*.ipynb")))
    assert LEFT_OUT in found.sections


def test_the_readme_is_short_and_leads_to_every_page_in_docs() -> None:
    assert len(README.splitlines()) <= 150 and README.count("<img") == 1
    found = parts(README).sections[LEFT_OUT]
    for path in (ROOT / "docs").glob("*.md"):
        assert f"(docs/{path.name})" in found, path.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no title\n\n| lesson | x |", "begins with no title and one table"),
        ("# A\n\nwords", "begins with no title and one table"),
        ("# A\n\n| lesson | x |\n\nwords", 'says nowhere behind its table what "You need"'),
    ],
)
def test_a_readme_without_its_parts_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parts(text)


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


def test_a_text_without_a_place_is_named(tmp_path: Path) -> None:
    for name in ("docs", "lessons"):
        (tmp_path / name).mkdir()
    (tmp_path / "docs" / "more.md").write_text("# More\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"docs/more\.md is in no section of the site: give it"):
        contents.sections(tmp_path)


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


def test_pictures_have_the_alt_texts_of_their_outputs() -> None:
    found = alt_texts(SOLUTION)
    assert len(found) > 10 and all(found.values())


def test_jupyterlabs_anchors_and_githubs_are_one() -> None:
    here = "exercise-012--where-does-it-go"
    for title in ("Exercise 01.2 — Where does it go?", "Exercise-01.2-—-Where-does-it-go?", here):
        assert anchor(title) == here


def test_formulas_become_mathml_or_are_named() -> None:
    assert "<mi>&#x003B1;</mi>" in mathml(r"\alpha + n\beta")
    assert 'display="block"' in mathml(r"\arg\min_x \text{round\_trip}(x)", block=True)
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
    def made(sources: Path, out: Path, title: str) -> None:
        if (sources / "bad").exists():
            raise ValueError("Sphinx warns:\nof something")
        shutil.copytree(sources, out)

    def written(folder: Path, root: Path) -> int:
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
