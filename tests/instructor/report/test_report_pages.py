"""The pages: everything escaped, counted right, readable on a telephone and on a wide screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from test_report_tables import COLUMNS, EVIL, exercise, sheet

from helpers.instructor.grades import OUTCOMES, SubmissionGrade
from helpers.instructor.report.class_view import distribution, exercises, figures, slowest
from helpers.instructor.report.pages import SIGNS, class_page, slowest_page, student_page
from helpers.instructor.report.sheet import Entry, Sheet
from helpers.instructor.report.write import write_reports
from helpers.setup import system

WIDTHS = (380, 1400)


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


def with_points(*points: float) -> Sheet:
    """A class with these totals, out of 4.5."""
    entries: list[Entry] = []
    for total, entry in zip(
        points, sheet([f"s{i}" for i in range(len(points))]).entries, strict=True
    ):
        first = replace(entry.grade.exercises[0], points=total)
        entries.append(replace(entry, grade=replace(entry.grade, exercises=(first, exercise(1)))))
    return sheet(entries=tuple(entries))


def took(path: Path, seconds: float, host: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"seconds": seconds, "crashes": 1, "host": host}))


def test_nothing_from_outside_is_markup(tmp_path: Path) -> None:
    made = sheet()
    took(tmp_path / "s6.json", 3.21, "<script>x</script>")
    pages = [student_page(made, entry) for entry in made.entries]
    pages += [class_page(made), slowest_page(made, tmp_path)]
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


def test_the_distribution_counts_everybody() -> None:
    bars = distribution(with_points(0, 0.5, 1, 2, 2.5, 4.5, 4.5))
    assert [(bar.low, bar.high, bar.count) for bar in bars] == [
        ("0", "1", 2), ("1", "2", 1), ("2", "3", 2), ("3", "4", 0), ("4", "4.5", 2)
    ]  # fmt: skip
    assert max(bar.share for bar in bars) == 100
    many = replace(sheet(["ann"]), columns=tuple(replace(COLUMNS[0], points=9.0) for _ in range(5)))
    assert len(distribution(many)) <= 10
    assert sum(bar.count for bar in distribution(sheet([]))) == 0


def test_figures() -> None:
    made = with_points(0, 1, 4.5)
    absent = replace(made.entries[1], handed_in=False)
    seen = figures(replace(made, entries=(*made.entries, absent)))
    assert (seen["submissions"], seen["missing"], seen["median"], seen["mean"]) == (
        3,
        1,
        "1.0",
        "1.8",
    )
    assert (seen["full"], seen["by_hand"]) == (1, 1)
    assert figures(sheet([]))["median"] == "–"


def test_what_was_not_judged_comes_first_and_is_in_no_average() -> None:
    made = with_points(4.5, 1, 2)
    first, open_, last = made.entries
    grades = (open_.grade.exercises[0], exercise(1, "not judged"))
    open_ = replace(open_, overrides=(), grade=replace(open_.grade, exercises=grades))
    made = replace(made, entries=(first, open_, last))
    seen = figures(made)
    assert (seen["not_judged"], seen["median"], seen["mean"]) == (1, "3.2", "3.2")
    assert sum(bar.count for bar in distribution(made)) == 2
    assert [view.judged for view in exercises(made)] == [3, 2]
    page = class_page(made).decode()
    listed = page.partition("To look at")[2]
    assert listed.index("02.2 not judged.") < listed.index(">s0<") < listed.index(">s2<")
    assert "without who was not judged in full" in page and "overrides.csv" in listed
    assert "not judged" not in class_page(replace(made, entries=(first, last))).decode()
    told = student_page(made, open_).decode()
    assert "points; not judged: 02.2" in told and "no points yet, of 2.5" in told
    assert (
        "no mistake of yours" in told
        and "no mistake of yours" not in student_page(made, first).decode()
    )


def test_failures_are_counted_by_mistake() -> None:
    grades = []
    for i, (outcome, mistake) in enumerate(
        [("wrong", "sums"), ("wrong", "sums"), ("wrong", ""), ("crashed", ""), ("time-out", ""),
         ("error", "deadlock"), ("passed", ""), ("not attempted", ""), ("missing", "")]
    ):  # fmt: skip
        one = replace(exercise(0, outcome), mistake=mistake)  # type: ignore[arg-type]
        grades.append(SubmissionGrade(f"s{i}", "02", 5, "bubblewrap", (one, exercise(1))))
    blank = sheet([f"s{i}" for i in range(len(grades))])
    made = replace(
        blank,
        entries=tuple(replace(e, grade=g) for e, g in zip(blank.entries, grades, strict=True)),
    )
    view = exercises(made)[0]
    assert [(f.outcome, f.told, len(f.who)) for f in view.failures] == [
        ("wrong", "sums", 2),
        ("wrong", "wrong in a way that has no name", 1),
        ("error", "deadlock", 1),
        ("time-out", "no end within the time", 1),
        ("crashed", "its process ended", 1),
    ]
    assert view.passed == 1 and sum(count for _, count, _ in view.outcomes) == 9
    page = class_page(made).decode()
    assert "2 ×" in page and page.count("<details>") == 6


def test_the_slowest_come_first(tmp_path: Path) -> None:
    for name, seconds in (("s0", 1), ("s1", 2), ("gone", 99)):
        took(tmp_path / f"{name}.json", seconds, "a")
    slow = slowest(with_points(1, 2, 3), tmp_path)
    assert [(one["name"], one["seconds"], one["host"]) for one in slow] == [
        ("s1", 2, "a"),
        ("s0", 1, "a"),
    ]


def test_each_outcome_has_a_sign() -> None:
    assert set(SIGNS) == set(OUTCOMES) and len(set(SIGNS.values())) == len(SIGNS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        started = playwright.chromium.launch(executable_path=system.browser(), args=options)
        yield started
        started.close()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [WIDTHS[0], pytest.param(WIDTHS[1], marks=pytest.mark.thorough)])
def test_pages_in_a_browser(tmp_path: Path, browser: Any, width: int) -> None:
    names = [f"student{i}" for i in range(20)] + [EVIL, "w" * 120, "<script>alert(1)</script>"]
    made = sheet(names, sandbox="none")
    took(tmp_path / "run" / "times" / "s6.json", 3.25, "a")
    write_reports(made, tmp_path)
    page = browser.new_page(viewport={"width": width, "height": 900})
    trouble: list[str] = []
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
    page.locator("iframe").scroll_into_view_if_needed()
    frame = page.frame_locator("iframe")
    assert frame.locator("td").first.inner_text() == "3.2"
    page.get_by_role("link", name="student0", exact=True).last.click()
    assert page.locator("h1").inner_text() == "student0"
    assert trouble == []
    page.close()
