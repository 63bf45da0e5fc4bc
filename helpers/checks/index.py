"""Which exercises there are, read from their files without running them.

To import every spec takes seconds, since the drivers of some need torch. A list of numbers, titles
and points takes milliseconds, in a release as well.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_BEGIN, _END = "\nEXERCISE = Exercise(\n", "\n)\n"


@dataclass(frozen=True)
class Entry:
    """One exercise: its number, such as "02.1", its title and its points."""

    number: str
    title: str
    points: int


@cache
def index() -> dict[str, tuple[Entry, ...]]:
    """By lesson, such as "02": the exercises that this copy of the course has, in order."""
    found: dict[str, tuple[Entry, ...]] = {}
    for folder in sorted(_HERE.glob("lesson_[0-9][0-9]")):
        entries = [entry for path in folder.glob("*.py") if (entry := _entry(path)) is not None]
        if entries:
            found[folder.name[-2:]] = tuple(sorted(entries, key=lambda entry: entry.number))
    return found


def _entry(path: Path) -> Entry | None:
    """The exercise of a file; None where the file has none."""
    _, begin, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    if not begin:
        return None
    call = ast.parse(f"Exercise({rest.partition(_END)[0]})", mode="eval").body
    assert isinstance(call, ast.Call)
    given = {word.arg: word.value for word in call.keywords}
    return Entry(*(ast.literal_eval(given[name]) for name in ("number", "title", "points")))
