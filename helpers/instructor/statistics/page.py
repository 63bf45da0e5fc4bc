"""The page about one lesson over terms, in the style of the class page."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.instructor.report.pages import render
from helpers.instructor.statistics.compare import Over, Row
from helpers.instructor.statistics.shares import SURE, Change
from helpers.instructor.statistics.terms import Term


def page(terms: Sequence[Term], exercises: Sequence[Over]) -> bytes:
    """The page, in UTF-8."""
    changes = [
        (one, row, later, change)
        for one in exercises
        for row in one.rows
        for later, change in zip(terms[1:], row.changes, strict=True)
        if change is not None
    ]
    clear = [each for each in changes if _verdict(each)]
    return render(
        "statistics.html",
        next((term.stamp for term in terms if term.stamp), ""),
        lesson=f"Lesson {terms[-1].lesson}: {terms[-1].title}",
        terms=terms,
        exercises=exercises,
        clear=sorted(clear, key=lambda each: -abs(each[3].value)),
        comparisons=len(changes),
        expected=f"{(1 - SURE) * len(changes):.0f}",
        versions=len({term.grader for term in terms}),
        left_out=sorted({t.title for term in terms for t in term.tallies if t.is_read}),
        percent=percent,
        difference=difference,
    )


def _verdict(each: tuple[Over, Row, Term, Change]) -> str:
    _, row, _, change = each
    return row.verdict(change)


def percent(value: float, sign: bool = False) -> str:
    """ "34 %", with its sign where asked, a true minus among them."""
    digits = 0 if abs(value) >= 0.01 or value == 0 else 1
    shown = f"{100 * value:+.{digits}f}" if sign else f"{100 * value:.{digits}f}"
    return shown.replace("-", "−")


def difference(change: Change) -> str:
    """Such as "+12 percentage points (−3 to +26)"."""
    low, high = (percent(end, sign=True) for end in change.interval)
    return f"{percent(change.value, sign=True)} percentage points ({low} to {high})"
