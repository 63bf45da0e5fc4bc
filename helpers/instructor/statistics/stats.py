"""`./course grade stats OUT…`: a page, a table and a few lines about one lesson over terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helpers.instructor.grading import GradingError
from helpers.instructor.grading.files import write
from helpers.instructor.report.cells import table
from helpers.instructor.statistics.compare import PASSED, Over, Row, compare
from helpers.instructor.statistics.page import difference, page, percent
from helpers.instructor.statistics.shares import Change, Share
from helpers.instructor.statistics.terms import Term, read_terms

PAGE, TABLE = "statistics.html", "statistics.csv"
HEADER = [
    "exercise", "title", "term", "what", "count", "of", "share", "low", "high",
    "change", "change low", "change high", "verdict",
]  # fmt: skip


def statistics(folders: Sequence[Path], out: Path | None) -> list[str]:
    """Compare terms; the lines to print.

    folders: of terms that `./course grade` wrote, the earliest first. out: where the page and the
    table go, nowhere if None. Raises GradingError.
    """
    terms = read_terms(folders)
    exercises = compare(terms)
    lines = [line for one in exercises for line in _lines(one, terms)]
    if out is not None:
        if out.exists() and not out.is_dir():
            raise GradingError(f"{out} is not a folder; name one with --out.")
        write(out / PAGE, page(terms, exercises))
        write(out / TABLE, table(_rows(exercises, terms)))
        lines.append(f"The page: {out / PAGE}\nThe table: {out / TABLE}")
    return lines


def _lines(one: Over, terms: Sequence[Term]) -> list[str]:
    passed = next(row for row in one.rows if row.what == PASSED)
    shares = [
        f"{term.label}: {percent(share.value)} % of {share.of}"
        for term, share in zip(terms, passed.shares, strict=True)
        if share
    ]
    lines = [f"{one.number} {one.title}: passed by {', '.join(shares)}."]
    for row in one.rows:
        for later, change in zip(terms[1:], row.changes, strict=True):
            if change is not None and (verdict := row.verdict(change)):
                lines.append(f"    {later.label}, {row.what}: {verdict}, {difference(change)}.")
    return lines + [f"    {note}" for note in one.notes]


def _rows(exercises: Sequence[Over], terms: Sequence[Term]) -> list[list[str | float]]:
    """A line for each exercise, thing that is counted, and term. Shares are from 0 to 1."""
    rows: list[list[str | float]] = [[*HEADER]]
    for one in exercises:
        for row in one.rows:
            changes = (None, *row.changes)
            for term, tally, share, change in zip(
                terms, one.tallies, row.shares, changes, strict=True
            ):
                if tally is not None and share is not None:
                    what = f"mistake: {row.what}" if row.mistake else row.what
                    known = [tally.number, one.title, term.label, what]
                    rows.append([*known, *_numbers(share), *_changed(row, change)])
    return rows


def _numbers(share: Share) -> list[float]:
    return [share.count, share.of, *(round(x, 4) for x in (share.value, *share.interval))]


def _changed(row: Row, change: Change | None) -> list[str | float]:
    if change is None:
        return ["", "", "", ""]
    shown = [round(x, 4) for x in (change.value, *change.interval)]
    return [*shown, row.verdict(change) or "not clear"]
