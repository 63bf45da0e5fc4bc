"""The pages: everything escaped, counted right, readable on a telephone and on a wide screen."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from test_report_tables import COLUMNS, EVIL, exercise, sheet

from helpers.course.setup import system
from helpers.grade.grades import OUTCOMES, ExerciseGrade, Outcome, Took
from helpers.grade.report.class_view import distribution, failures, figures, outcomes, slowest
from helpers.grade.report.pages import SIGNS, class_page, student_page
from helpers.grade.report.sheet import Sheet
from helpers.grade.report.write import write_reports


class Tags(HTMLParser):
    """The elements of a page, and attributes that could run something."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        self.feed(page.decode("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def with_first(*firsts: ExerciseGrade) -> Sheet:
    """A class in which these came of the first exercise, and the second one is wrong."""
    entries = sheet([f"s{i}" for i in range(len(firsts))]).entries
    return sheet(
        entries=tuple(
            replace(entry, grade=replace(entry.grade, exercises=(first, exercise(1))))
            for first, entry in zip(firsts, entries, strict=True)
        )
    )


def with_points(*points: float) -> Sheet:
    """A class with these totals, out of 4.5."""
    return with_first(*(replace(exercise(0, "passed"), points=total) for total in points))


def took(made: Sheet, *seconds: float, host: str = "a") -> Sheet:
    """The same class; grading the first of them took so long."""
    entries = list(made.entries)
    for i, each in enumerate(seconds):
        entries[i] = replace(entries[i], took=Took(each, 1, host))
    return replace(made, entries=tuple(entries))


def test_nothing_from_outside_is_markup() -> None:
    made = took(sheet(), 3.21, host="<script>x</script>")
    pages = [*(student_page(made, entry) for entry in made.entries), class_page(made)]
    for page in pages:
        seen = Tags(page)
        assert not seen.tags & {"script", "img", "object", "embed", "form", "svg", "base", "link"}
        assert seen.handlers == []
        assert b"default-src 'none'" in page
    assert b"&lt;img src=x onerror=alert(1)&gt;" in pages[0]
    assert b"&lt;script&gt;" in pages[-1] and b"3.2" in pages[-1]


def test_a_students_page_says_all_that_a_student_needs() -> None:
    made = sheet(["ann"])
    page = student_page(made, made.entries[0]).decode()
    for said in ("Lesson 02: Messages", "<bdi>ann</bdi>", "Scatter", "2 of 2", "0 of 2.5", "passed",
                 "wrong", "Not <code>right</code>", "Hint", "Points set by your instructor",
                 "0.5 instead of 0"):  # fmt: skip
        assert said in page, said
    # What concerns only the instructor is on the page of the class.
    assert f"{EVIL}" not in page


def test_the_class_is_counted() -> None:
    made = with_points(0, 0.5, 1, 2, 2.5, 4.5, 4.5)
    bars = distribution(made)
    assert [(bar.low, bar.high, bar.count) for bar in bars] == [
        ("0", "1", 2), ("1", "2", 1), ("2", "3", 2), ("3", "4", 0), ("4", "4.5", 2)
    ]  # fmt: skip
    assert max(bar.share for bar in bars) == 100
    many = replace(sheet(["ann"]), columns=tuple(replace(COLUMNS[0], points=9.0) for _ in range(5)))
    assert len(distribution(many)) <= 10
    absent = replace(made.entries[1], handed_in=False)
    seen = figures(replace(made, entries=(*made.entries, absent)))
    assert [seen[name] for name in ("submissions", "missing", "full", "by_hand")] == [7, 1, 2, 1]
    assert (seen["median"], seen["mean"]) == ("2.0", "2.1")
    assert (
        figures(sheet([]))["median"] == "–" and sum(b.count for b in distribution(sheet([]))) == 0
    )


def test_what_was_not_judged_comes_first_and_is_in_no_average() -> None:
    made = with_points(4.5, 1, 2)
    first, open_, last = made.entries
    grades = (open_.grade.exercises[0], exercise(1, "not judged"))
    open_ = replace(open_, overrides=(), grade=replace(open_.grade, exercises=grades))
    made = replace(made, entries=(first, open_, last))
    seen = figures(made)
    assert (seen["not_judged"], seen["median"], seen["mean"]) == (1, "3.2", "3.2")
    assert sum(bar.count for bar in distribution(made)) == 2
    assert [counts["not judged"] for counts in outcomes(made).values()] == [0, 1]
    page = class_page(made).decode()
    listed = page.partition("To look at")[2]
    assert listed.index("02.2 not judged.") < listed.index(">s0<") < listed.index(">s2<")
    assert "without who was not judged in full" in page and "overrides.csv" in listed
    assert "not judged" not in class_page(replace(made, entries=(first, last))).decode()
    told = student_page(made, open_).decode()
    for said in ("points; not judged: 02.2", "no points yet, of 2.5", "no mistake of yours"):
        assert said in told and said not in student_page(made, first).decode()


def test_failures_are_counted_by_mistake() -> None:
    ways: list[tuple[Outcome, str]] = [
        ("wrong", "sums"), ("wrong", "sums"), ("wrong", ""), ("crashed", ""), ("time-out", ""),
        ("error", "deadlock"), ("passed", ""), ("not attempted", ""), ("missing", ""),
    ]  # fmt: skip
    made = with_first(*(replace(exercise(0, came_to), mistake=m) for came_to, m in ways))
    found = [one for one in failures(made) if one.column.number == "02.1"]
    assert [(f.outcome, f.told, len(f.who)) for f in found] == [
        ("wrong", "sums", 2),
        ("wrong", "wrong in a way that has no name", 1),
        ("error", "deadlock", 1),
        ("time-out", "no end within the time", 1),
        ("crashed", "its process ended", 1),
    ]
    page = class_page(made).decode()
    assert "1 of 9 passed" in page
    assert "2 ×" in page and page.count("<details>") == 6


def test_the_slowest_come_first() -> None:
    slow = slowest(took(with_points(1, 2, 3), 1.0, 2.0))
    assert [one.grade.submission for one in slow] == ["s1", "s0"]


def test_each_outcome_has_a_sign() -> None:
    assert set(SIGNS) == set(OUTCOMES) and len(set(SIGNS.values())) == len(SIGNS)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [380, pytest.param(1400, marks=pytest.mark.thorough)])
def test_pages_in_a_browser(tmp_path: Path, width: int) -> None:
    from playwright.sync_api import sync_playwright

    names = [f"student{i}" for i in range(20)] + [EVIL, "w" * 120, "<script>alert(1)</script>"]
    write_reports(took(sheet(names, sandbox="none"), 3.25), tmp_path)
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    trouble: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=system.browser(), args=options)
        page: Any = browser.new_page(viewport={"width": width, "height": 900})
        page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        for file in (tmp_path / "class.html", *(tmp_path / "students").iterdir()):
            page.goto(file.as_uri())
            # Nothing has to be moved sideways to be read; the wide table has its own bar.
            assert page.evaluate("document.documentElement.scrollWidth") <= width, file
            assert page.locator(".stamp").is_visible()
        page.goto((tmp_path / "class.html").as_uri())
        page.locator("summary").first.click()
        assert page.locator("section table").last.locator("td").first.inner_text() == "3.2"
        page.get_by_role("link", name="student0", exact=True).last.click()
        assert page.locator("h1").inner_text() == "student0"
        browser.close()
    assert trouble == []
