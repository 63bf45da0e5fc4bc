"""Nineteen lessons as one book: what each says of the others, of itself and of its time is true."""

from __future__ import annotations

import re
from functools import cache

import pytest
from nbformat import NotebookNode

from helpers.checks import everything
from helpers.course.build.notebook import read
from helpers.course.build.run import ROOT, notebooks
from helpers.course.build.times import stated, walk
from helpers.grade.release.pack import WHOLE

LESSONS = {path.name[:2]: path for path in notebooks(ROOT / "solutions")}
NAMED = re.compile(r"lesson (\d\d) \*([^*]+)\*")
NEAR = 0.15  # how far a stated time may lie from the counted one


@cache
def lesson(number: str) -> NotebookNode:
    return read(LESSONS[number])


@cache
def text(number: str) -> str:
    """A lesson's markdown, without its sources."""
    cells = (cell.source for cell in lesson(number).cells if cell.cell_type == "markdown")
    return "\n\n".join(re.sub(r"### Sources.*?(?=\n\*\*Next|\Z)", "", c, flags=re.S) for c in cells)


def title(number: str) -> str:
    return str(lesson(number).cells[0].source).splitlines()[0].removeprefix(f"# {number} ")


@pytest.mark.parametrize("number", LESSONS)
def test_its_time_is_what_a_walk_through_it_takes(number: str) -> None:
    whole, exercises = stated(lesson(number))
    counted, of_exercises = walk(lesson(number), number)
    assert exercises == of_exercises
    assert abs(whole - counted) <= NEAR * counted, counted


@pytest.mark.parametrize("number", LESSONS)
def test_it_names_what_it_builds_on_and_what_comes_next(number: str) -> None:
    top = str(lesson(number).cells[0].source)
    (builds,) = re.findall(r"^- \*Builds on:\* (.*)", top, re.M)
    assert all(before < number for before, _ in NAMED.findall(builds))
    assert len(NAMED.findall(builds)) == len(re.findall(r"lesson \d\d", builds))
    (after,) = re.findall(r"^\*\*Next:\*\* (.*)", text(number), re.M)
    found = [other for other, _ in NAMED.findall(after)]
    assert found == [f"{int(number) + 1:02}"] or (not found and "ends here" in after)


@pytest.mark.parametrize("number", LESSONS)
def test_what_it_refers_to_is_there(number: str) -> None:
    found = text(number)
    for other, name in NAMED.findall(found):
        assert title(other).startswith(name), f"lesson {other} is called {title(other)}"
    assert set(re.findall(r"\blessons? (\d\d)\b", found)) <= LESSONS.keys()
    exercises = {exercise.number for exercise in everything()}
    assert set(re.findall(r"\bexercises? (\d\d\.\d)\b", found)) <= exercises
    own = set(re.findall(r"^## (\d+) ·", found, re.M))
    named = re.findall(r"(?<!its )\bsections? (\d+)(?![\d.]*\d)(?:(?: to| and|,) (\d+))?", found)
    assert {one for each in named for one in each if one} <= own
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", found):
        assert (LESSONS[number].parent / link).resolve().is_file(), link


def test_the_chapters_ten_exercises_have_links_and_both_times() -> None:
    """Of the last lesson's table. That anchors are there is held where the site is built."""
    (table,) = (cell.source for cell in lesson("18").cells if cell.id == "exercises")
    rows = dict(re.findall(r"^\| (\d+) \|(.*)\|$", table, re.M))
    assert list(rows) == [str(number) for number in range(1, 11)]
    for row in rows.values():
        assert all(len(cell.strip()) > 5 for cell in row.split("|")), row
        links = re.findall(r"\[(\d\d)\.(\d+)\]\(([^#)]*)#([^)]+)\)", row)
        assert any(anchor.startswith("Exercise-") for *_, anchor in links), row
        for number, place, file, anchor in links:
            assert (file or LESSONS["18"].name) == LESSONS[number].name
            assert anchor.startswith(f"Exercise-{number}.{place}-"), anchor


# --- the glossary ---------------------------------------------------------------------------------

GLOSSARY = ROOT / "docs" / "glossary.md"
TERM = re.compile(r"^- \*\*(.+?)\*\* \((\d\d)\): ([A-Z].*\.)$", re.M)


def terms() -> list[tuple[str, str, str]]:
    """The glossary's entries: of each the term, the lesson and what it says."""
    return TERM.findall(GLOSSARY.read_text(encoding="utf-8"))


def test_every_entry_of_the_glossary_is_one_once_and_in_order() -> None:
    names = [name.casefold() for name, _, _ in terms()]
    assert len(names) == GLOSSARY.read_text(encoding="utf-8").count("\n- ") > 80
    assert names == sorted(set(names))


def test_the_lesson_of_a_term_uses_it() -> None:
    unused = [
        (name, where) for name, where, _ in terms() if name.casefold() not in text(where).casefold()
    ]
    assert not unused


def test_every_lesson_leads_to_the_glossary_and_it_leads_to_no_file() -> None:
    for number in LESSONS:
        assert lesson(number).cells[0].source.count("](../docs/glossary.md)") == 1
    assert "](" not in GLOSSARY.read_text(encoding="utf-8")  # a release has one lesson only
    assert "docs/glossary.md" in WHOLE
