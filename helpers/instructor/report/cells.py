"""Cells of CSV files that a spreadsheet program shows as they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from helpers.instructor.grading.files import printable

# What begins a formula, and what such a program skips before one (OWASP, "CSV injection").
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def formula_safe(cell: str) -> str:
    """A cell that is shown and not computed: with an apostrophe before what begins a formula."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def number(value: float) -> str:
    """Points as short as they are exact: 2, 2.5."""
    return f"{value:.10g}"


def table(rows: Sequence[Sequence[str | float]]) -> bytes:
    """Rows of text and numbers as CSV in UTF-8."""
    text = io.StringIO()
    safe = [[_safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    csv.writer(text, lineterminator="\n").writerows(safe)
    return text.getvalue().encode("utf-8")


def _safe(cell: str) -> str:
    return printable(formula_safe(cell), lines=True)
