"""What of the course a submission may see: the engines and the worker, nothing that is secret."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import helpers
from helpers.checks import of_lesson, provided
from helpers.checks.drives.ranks import Apart, Ranked
from helpers.grade.prune import Modules, file_of, sources
from helpers.rooms import HERE, folder, rooms

PACKAGE = Path(helpers.__file__).resolve().parent
_FOLDERS = ("engine", "notebook", "grade/worker")
ROOM = ("experiments", "figures")  # what there is of each lesson
_SUFFIXES = (".py", ".json")


def course_files(lesson: str) -> dict[str, bytes]:
    """The course's files in a sandbox, by their path under the course's folder there.

    Of the exercises only the drivers' side, and of the algorithms only those that earlier lessons
    have built: no case, no reference, no solution of this lesson.
    """
    files = {str(Path("helpers") / p.relative_to(PACKAGE)): p.read_bytes() for p in _chosen(lesson)}
    return files | _drivers(lesson)


@cache
def _drivers(lesson: str) -> dict[str, bytes]:
    """Of a lesson's own modules the drivers, and what these name; nothing where it has no room."""
    if lesson not in rooms():
        return {}
    package = f"{rooms()[lesson]}.exercises"
    modules = Modules(sources(folder(lesson) / "exercises", package))
    homes = [driver_name(exercise.drive).split(":") for exercise in of_lesson(lesson)]
    kept = modules.reached((module, name) for module, name in homes)
    found = {name: modules.cut(name, kept) for name in dict.fromkeys(where for where, _ in kept)}
    return {file_of(name): text.encode() for name, text in {package: "", **found}.items()}


def frameworks(lesson: str) -> list[str]:
    """The frameworks that a lesson's exercises run on, such as ["tensorflow", "torch"]."""
    return sorted({exercise.framework for exercise in of_lesson(lesson)})


def _chosen(lesson: str) -> Iterator[Path]:
    yield PACKAGE / "__init__.py"
    yield PACKAGE / "rooms.py"
    yield PACKAGE / "grade" / "__init__.py"
    folders = [PACKAGE / name for name in _FOLDERS]
    folders += [folder(number) / name for number in rooms() for name in ROOM]
    for path in (path for each in folders for path in sorted(each.rglob("*"))):
        if path.suffix in _SUFFIXES and path.is_file():
            yield path
    yield from sorted((PACKAGE / "checks").rglob("*.py"))
    yield HERE / "__init__.py"
    yield from (folder(number) / "__init__.py" for number in rooms())
    homes = [PACKAGE.parent / file_of(module) for module in provided(lesson)]
    yield from dict.fromkeys(home.parent / "__init__.py" for home in homes)
    yield from homes


def driver_name(drive: Any) -> str:
    """A driver as "module:name"."""
    home = (drive.call if isinstance(drive, Ranked | Apart) else drive).__module__
    for name, value in vars(sys.modules[home]).items():
        if value is drive:
            return f"{home}:{name}"
    raise LookupError(f"The driver {drive!r} is no name of {home}.")
