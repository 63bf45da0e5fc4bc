"""How far a learner is: the record beside the exercises that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.notebook.record import Answer, Record
from helpers.rooms import Entry, index


@dataclass(frozen=True)
class Standing:
    """Some exercises, and those of them that have passed, now or before. Points are today's.

    answers: by the exercises' numbers, for those that were checked.
    """

    entries: tuple[Entry, ...]
    answers: dict[str, Answer]

    def passed(self, entry: Entry) -> str:
        """When an exercise passed first, or ""."""
        answer = self.answers.get(entry.number)
        return answer.passed if answer else ""

    @property
    def done(self) -> int:
        return sum(bool(self.passed(entry)) for entry in self.entries)

    @property
    def points(self) -> int:
        return sum(entry.points for entry in self.entries if self.passed(entry))

    @property
    def most(self) -> int:
        """The points of all exercises."""
        return sum(entry.points for entry in self.entries)

    @property
    def first_open(self) -> Entry | None:
        return next((entry for entry in self.entries if not self.passed(entry)), None)

    @property
    def last_passed(self) -> str:
        """When an exercise passed for the first time, last; "" where none has."""
        return max(map(self.passed, self.entries), default="")

    @property
    def slipped(self) -> list[str]:
        """The exercises that have passed, but not when they were checked last."""
        done = (entry.number for entry in self.entries if self.passed(entry))
        return [number for number in done if self.answers[number].said != "passed"]


def standings(record: Record) -> dict[str, Standing]:
    """By lesson. A lesson that this copy of the course lacks is what the record knows of it; an
    exercise that a lesson no longer has does not count."""
    known = {
        lesson: tuple(Entry(number, "", points) for number, points in sorted(exercises.items()))
        for lesson, exercises in record.lessons.items()
    }
    lessons = sorted((known | index()).items())
    return {lesson: Standing(entries, record.answers) for lesson, entries in lessons}


def together(some: Iterable[Standing]) -> Standing:
    """Several lessons as one."""
    found = list(some)
    answers = found[0].answers if found else {}
    return Standing(tuple(entry for one in found for entry in one.entries), answers)


def lesson_files(folder: Path) -> dict[str, Path]:
    """The lessons' notebooks in a folder, by number."""
    named = (p for p in sorted(folder.glob("*.ipynb")) if re.match(r"\d\d_\w+\.ipynb$", p.name))
    return {path.name[:2]: path for path in named}


def title_of(notebook: Path) -> str:
    """A lesson's first heading up to a colon, such as "02 Messages"; or else its file's name."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        found = re.match(r"# (\d\d [^\n:]+)", "".join(cells[0]["source"]))
    except (OSError, ValueError, LookupError, TypeError):
        found = None
    return found[1].strip() if found else notebook.stem.replace("_", " ")


def next_lesson(lessons: dict[str, Standing], there: Sequence[str]) -> str | None:
    """The lesson to go on with, of those that are there; None where all of them are done.

    The one in which an exercise passed last, or the first behind it that is not done, or the first.
    """
    last = max(lessons, key=lambda lesson: lessons[lesson].last_passed, default="")
    unfinished = [one for one in there if one in lessons and lessons[one].first_open]
    return next((one for one in unfinished if one >= last), next(iter(unfinished), None))
