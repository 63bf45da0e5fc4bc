"""What of the course a submission may see: the engines and the worker, nothing that is secret."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import helpers
from helpers.checks import of_lesson, provided
from helpers.instructor.drivers import driver_name
from helpers.instructor.prune import Modules, file_of, sources

PACKAGE = Path(helpers.__file__).resolve().parent
_FOLDERS = ("engines", "frameworks", "notebook", "workloads", "worker")
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
    """Of a lesson's own modules the drivers, and what these name."""
    package = f"helpers.checks.lesson_{lesson}"
    modules = Modules(sources(PACKAGE / "exercises" / f"lesson_{lesson}", package))
    homes = [driver_name(exercise.drive).split(":") for exercise in of_lesson(lesson)]
    kept = modules.reached((module, name) for module, name in homes)
    found = {name: modules.cut(name, kept) for name in dict.fromkeys(where for where, _ in kept)}
    return {file_of(name): text.encode() for name, text in {package: "", **found}.items()}


def frameworks(lesson: str) -> list[str]:
    """The frameworks that a lesson's exercises run on, such as ["tensorflow", "torch"]."""
    return sorted({exercise.framework for exercise in of_lesson(lesson)})


def _chosen(lesson: str) -> Iterator[Path]:
    yield PACKAGE / "__init__.py"
    for folder in _FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                yield path
    for folder in ("", "drives"):
        yield from sorted((PACKAGE / "exercises" / folder).glob("*.py"))
    subjects = PACKAGE / "algorithms"
    homes = [subjects.joinpath(*module.split(".")) for module in provided(lesson)]
    for subject in dict.fromkeys([subjects, *(home.parent for home in homes)]):
        yield subject / "__init__.py"
    for home in homes:
        yield home.with_suffix(".py")
