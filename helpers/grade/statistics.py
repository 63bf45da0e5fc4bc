"""`./course grade stats OUT…`: one lesson over terms, by what `grades.json` says, counted.

No name of a student is kept. Shares have intervals, for classes are small.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from helpers.grade.files import printable, write
from helpers.grade.grades import NOT_JUDGED
from helpers.grade.report.class_view import UNNAMED
from helpers.grade.report.pages import render
from helpers.grade.report.tables import number, table
from helpers.grade.wish import GradingError

SURE = 0.95
PASSED, WRONG, OPEN = "passed", "wrong", "not attempted"
HEADER = [
    "exercise", "title", "term", "what", "count", "of", "share", "low", "high",
    "change", "change low", "change high", "verdict",
]  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """How often one thing came of one exercise in one term: in `count` of `of` submissions.

    mistake: whether `what` is a mistake's name. before: the figure of the last term before that had
    the exercise. Shares are from 0 to 1.
    """

    exercise: str
    title: str
    term: str
    what: str
    mistake: bool
    count: int
    of: int
    before: Figure | None

    @property
    def share(self) -> float:
        return self.count / self.of if self.of else 0.0

    @cached_property
    def interval(self) -> tuple[float, float]:
        return wilson(self.count, self.of)

    @cached_property
    def change(self) -> tuple[float, float, float] | None:
        """From the term before, and its 95 % interval, made of both Wilson intervals (Newcombe
        1998, "Interval estimation for the difference between independent proportions", method 10).
        """
        if self.before is None:
            return None
        (low, high), (low_before, high_before) = self.interval, self.before.interval
        after, before = self.share, self.before.share
        return (
            after - before,
            after - before - math.hypot(after - low, high_before - before),
            after - before + math.hypot(high - after, before - low_before),
        )

    @property
    def verdict(self) -> str:
        """ "better", "worse", or "" where chance alone may have made the difference."""
        _, low, high = self.change or (0.0, 0.0, 0.0)
        if low <= 0 <= high:
            return ""
        return "better" if (low > 0) == (self.what == PASSED) else "worse"

    @property
    def said(self) -> str:
        """The change, such as "+12 percentage points (−3 to +26)"."""
        value, low, high = (percent(each, sign=True) for each in self.change or (0.0, 0.0, 0.0))
        return f"{value} percentage points ({low} to {high})"

    @property
    def cells(self) -> list[str | float]:
        """A line of the table."""
        what = f"mistake: {self.what}" if self.mistake else self.what
        row: list[str | float] = [self.exercise, self.title, self.term, what, self.count, self.of]
        row += [round(x, 4) for x in (self.share, *self.interval)]
        if self.change is None:
            return [*row, "", "", "", ""]
        return [*row, *(round(x, 4) for x in self.change), self.verdict or "not clear"]


def wilson(count: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share, which holds for few and for none, too."""
    if not of:
        return 0.0, 1.0
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    found = binomtest(count, of).proportion_ci(SURE, method="wilson")
    return float(found.low), float(found.high)


@dataclass(frozen=True)
class Tally:
    """One exercise in one term, counted over the submissions that were handed in and judged.

    counts: of PASSED, WRONG and OPEN; of mistakes, by their names. left: of how many only the
    instructor knows, or nobody. They are not among the judged.
    """

    number: str
    points: float
    judged: int
    counts: Counter[str]
    mistakes: Counter[str]
    left: int

    def __str__(self) -> str:
        left = f", {self.left} not judged, or only by hand, and not counted" if self.left else ""
        return f"{self.number} for {number(self.points)} points{left}"


@dataclass(frozen=True)
class Term:
    """One term. label: of its folder. data: of its `grades.json`. tallies: by exercises' titles."""

    label: str
    data: Mapping[str, Any]
    tallies: Mapping[str, Tally]


def read_terms(folders: Sequence[Path]) -> list[Term]:
    """The terms in these folders, in their order. Raises GradingError."""
    names = [folder.name for folder in folders]
    labels = names if len({*names}) == len(names) else [str(folder) for folder in folders]
    terms = [_term(folder, printable(label)) for folder, label in zip(folders, labels, strict=True)]
    lessons = sorted({term.data["lesson"] for term in terms})
    if len(lessons) != 1:
        held = f" The ones named hold lessons {' and '.join(lessons)}." if lessons else ""
        raise GradingError(
            f"Name the folders of one lesson's terms, for instance grade stats 2025 2026.{held}"
        )
    return terms


def _term(folder: Path, label: str) -> Term:
    path = folder / "grades.json"
    try:
        data = json.loads(path.read_bytes())
        present = [one for one in data["submissions"] if one["handed_in"]]
        tallies = {str(one["title"]): _tally(one, present) for one in data["exercises"]}
        told = {name: str(data[name]) for name in ("lesson", "title", "grader")}
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not what was written there"
        raise GradingError(
            f"{folder} holds no grades ({path.name}: {why}); name a folder that ./course grade "
            "wrote."
        ) from None
    more = {"handed_in": len(present), "stamp": str(data.get("warning", ""))}
    return Term(label, told | more, tallies)


def _tally(column: Mapping[str, Any], present: Sequence[Mapping[str, Any]]) -> Tally:
    found = [e for one in present for e in one["exercises"] if e["number"] == column["number"]]
    outcomes = Counter(e["outcome"] for e in found)
    wrong = [e for e in found if e["outcome"] in UNNAMED]
    counts = Counter({PASSED: outcomes["passed"], WRONG: len(wrong)})
    counts[OPEN] = outcomes["not attempted"] + outcomes["missing"]
    mistakes = Counter(e["mistake"] or UNNAMED[e["outcome"]] for e in wrong)
    left = outcomes[NOT_JUDGED] + outcomes["by hand"]
    points = float(column["points"])
    return Tally(column["number"], points, len(found) - left, counts, mistakes, left)


def compare(terms: Sequence[Term]) -> dict[str, list[Figure]]:
    """What came of each exercise, by its title, in the last term's order.

    What has the same title is the same exercise, whatever its number is by now. One that only the
    instructor reads is left out.
    """
    titles = dict.fromkeys(
        title
        for term in reversed(terms)
        for title, one in term.tallies.items()
        if one.counts[PASSED] or one.counts[WRONG] or not one.left
    )
    return {title: list(_figures(title, terms)) for title in titles}


def _figures(title: str, terms: Sequence[Term]) -> Iterator[Figure]:
    """What passed, was wrong or was not attempted, then mistakes, the most frequent first."""
    there = [(term.label, term.tallies[title]) for term in terms if title in term.tallies]
    often = sum((tally.mistakes for _, tally in there), Counter())
    for what in (PASSED, WRONG, OPEN, *sorted(often, key=lambda one: (-often[one], one))):
        before: Figure | None = None
        for label, one in there:
            count = (one.mistakes if what in often else one.counts)[what]
            before = Figure(
                one.number, title, label, what, what in often, count, one.judged, before
            )
            yield before


def percent(value: float, sign: bool = False) -> str:
    """ "34 %", with its sign where asked, a true minus among them."""
    digits = 0 if abs(value) >= 0.01 or value == 0 else 1
    return f"{100 * value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def statistics(folders: Sequence[Path], out: Path | None) -> list[str]:
    """Compare terms; the lines to print.

    folders: of terms that `./course grade` wrote, the earliest first. out: where the page and the
    table go, nowhere if None. Raises GradingError.
    """
    terms = read_terms(folders)
    compared = compare(terms)
    lines = []
    for title, found in compared.items():
        passed = [one for one in found if one.what == PASSED]
        shares = [f"{one.term}: {percent(one.share)} % of {one.of}" for one in passed]
        lines.append(f"{passed[-1].exercise} {title}: passed by {', '.join(shares)}.")
        lines += [
            f"    {one.term}, {one.what}: {one.verdict}, {one.said}."
            for one in found
            if one.verdict
        ]
    if out is not None:
        html, csv = out / "statistics.html", out / "statistics.csv"
        figures = [one for found in compared.values() for one in found]
        stamp = next((term.data["stamp"] for term in terms if term.data["stamp"]), "")
        values = {"terms": terms, "compared": compared, "figures": figures, "sure": SURE}
        write(html, render("statistics.html", stamp, percent=percent, **values))
        write(csv, table([HEADER, *(one.cells for one in figures)]))
        lines.append(f"The page: {html}\nThe table: {csv}")
    return lines
