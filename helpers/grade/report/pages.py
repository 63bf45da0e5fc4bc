"""The HTML pages. Everything that comes from outside is escaped by jinja2, without exception."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from helpers.grade.grades import Outcome
from helpers.grade.report import class_view
from helpers.grade.report.sheet import NO_FAULT, Entry, Sheet
from helpers.grade.report.tables import number

TEMPLATES = Path(__file__).with_name("templates")
# A sign and a word for each outcome: the colour is never all that tells them apart.
SIGNS: dict[Outcome, str] = {
    "passed": "✓",
    "wrong": "✗",
    "not attempted": "○",
    "error": "!",
    "time-out": "…",
    "crashed": "†",
    "not judged": "?",
    "missing": "–",
    "by hand": "✎",
}


def student_page(sheet: Sheet, entry: Entry) -> bytes:
    """What one student is shown: exercises, points, reasons, hints."""
    by_hand = {one.exercise: one for one in entry.overrides}
    return render(
        "student.html", sheet.stamp, sheet=sheet, entry=entry, by_hand=by_hand, no_fault=NO_FAULT
    )


def class_page(sheet: Sheet) -> bytes:
    """What the instructor is shown."""
    return render(
        "class.html",
        sheet.stamp,
        sheet=sheet,
        figures=class_view.figures(sheet),
        bars=class_view.distribution(sheet),
        outcomes=class_view.outcomes(sheet),
        failures=class_view.failures(sheet),
        unknown=class_view.unknown(sheet),
        slow=class_view.slowest(sheet),
    )


def render(name: str, stamp: str, **values: Any) -> bytes:
    """A template as a page. stamp: what stands on top where there was no sandbox, or ""."""
    text = _environment().get_template(name).render(signs=SIGNS, stamp=stamp, **values)
    return text.encode("utf-8")


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"points": number, "code": _code, "kind": lambda text: text.replace(" ", "-")}
    made.globals["style"] = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))
    return made


def _code(text: str) -> Markup:
    """Escaped text in which what stands in backquotes is set as code."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(text))))
