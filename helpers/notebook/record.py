"""The file in which a learner's passed exercises are kept, for all copies of the course.

It lies in the user's own data folder, so that it outlives an update of the course, a lesson that is
built anew and a moved folder; each release holds one lesson, and all write into the same file.
COURSE_PROGRESS in the environment names another file, or is "off".

Whoever adds a key to the file raises VERSION: older copies of the course leave a newer file alone.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from helpers.course.setup import places
from helpers.course.setup.homes import writable
from helpers.course.setup.lock import locked
from helpers.rooms import Entry

SWITCH = "COURSE_PROGRESS"
VERSION = 1


class Broken(ValueError):
    """The file is not what the course writes."""


class Newer(ValueError):
    """The file was written by a newer version of the course."""


@dataclass
class Answer:
    """passed: when the exercise passed first, in UTC, or "". said: what the last check said."""

    passed: str
    said: str


@dataclass
class Record:
    """answers: by the exercises' numbers. lessons: by lesson, the points of each of its exercises
    when one of them was checked last, for copies of the course that do not have the lesson."""

    answers: dict[str, Answer] = field(default_factory=dict)
    lessons: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, number: str, said: str, exercises: Iterable[Entry]) -> bool:
        """Take in what a check said; returns whether that was news. exercises: the lesson's."""
        old = self.answers.get(number, Answer("", ""))
        now = datetime.now(UTC).isoformat(timespec="seconds") if said == "passed" else ""
        new = Answer(old.passed or now, said)
        points = {entry.number: entry.points for entry in exercises}
        news = new != old or self.lessons.get(number[:2]) != points
        self.answers[number], self.lessons[number[:2]] = new, points
        return news


def place() -> Path | None:
    """The file, which need not exist; None where nothing is kept: where that is switched off, where
    nbgrader runs a notebook, and in `solutions/`.

    A name that is no path from the root counts from the course's folder. Raises RuntimeError where
    the user has no home folder.
    """
    named = os.environ.get(SWITCH, "")
    if named == "off" or "NBGRADER_EXECUTION" in os.environ:
        return None
    if Path.cwd() == places.ROOT / "solutions":
        return None
    if named:
        return places.ROOT / Path(named).expanduser()
    return places.data() / "progress.json"


def load(path: Path) -> Record:
    """What a file holds; nothing where there is none. Raises Broken, Newer, and OSError."""
    try:
        return _parsed(path.read_bytes())
    except FileNotFoundError:
        return Record()


def _parsed(raw: bytes) -> Record:
    try:
        held = json.loads(raw)
        version = held["version"]
        if isinstance(version, int) and version > VERSION:
            raise Newer
        if version != VERSION:
            raise Broken
        answers = {_number(n): Answer(**_texts(one)) for n, one in held["answers"].items()}
        lessons = {
            lesson: {_number(n): int(points) for n, points in exercises.items()}
            for lesson, exercises in held["lessons"].items()
        }
    except Newer:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise Broken from None
    return Record(answers, lessons)


def _number(number: str) -> str:
    if not re.fullmatch(r"\d\d\.\d+", number):
        raise Broken
    return number


def _texts(held: dict[str, Any]) -> dict[str, str]:
    if not all(isinstance(text, str) for text in held.values()):
        raise Broken
    return held


def note(number: str, said: str, exercises: Iterable[Entry]) -> bool:
    """Keep what a check said of an exercise; returns whether that is kept.

    Prints nothing and raises nothing where it cannot be: `./course progress` tells why. A file that
    is broken is set aside, and a newer one is left as it is.
    """
    with suppress(OSError, RuntimeError, Newer):
        path = place()
        if path is None:
            return False
        path = path.resolve()  # a link stays one
        with locked(path.with_name(f"{path.name}.lock")):
            try:
                record = load(path)
            except Broken:
                os.rename(path, free(path.with_name(f"{path.name}.broken")))
                record = Record()
            if record.add(number, said, exercises):
                _save(path, record)
        return True
    return False


def _save(path: Path, record: Record) -> None:
    """Replace the file in one move; a full disk or a power cut leaves the one of before."""
    partial = path.with_name(f"{path.name}.part")
    try:
        with partial.open("w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **asdict(record)}, file, indent=1, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)  # where it did not become the file


def can_be_written(path: Path) -> bool:
    """Whether what passes now would be kept; tried, and nothing stays."""
    try:
        return writable(path.resolve().parent)
    except OSError:
        return False


def free(path: Path) -> Path:
    """This path, or one with a number behind it, where nothing is yet."""
    names = (path.with_name(f"{path.name}{'' if i == 1 else i}") for i in count(1))
    return next(name for name in names if not name.exists())


def set_aside(path: Path) -> list[Path]:
    """The broken files that are kept beside the file."""
    return sorted(path.parent.glob(f"{path.name}.broken*"))
