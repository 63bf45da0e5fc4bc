"""What of the course a submission may see: the engines and the worker, nothing that is secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import helpers
from helpers.exercises import of_lesson, provided

PACKAGE = Path(helpers.__file__).resolve().parent
_FOLDERS = ("engines", "frameworks", "notebook", "workloads", "worker")
_SUFFIXES = (".py", ".json")


def course_files(lesson: str) -> dict[str, bytes]:
    """The course's files in a sandbox, by their path under the course's folder there.

    Of the exercises only the drivers' side, and of the algorithms only those that earlier lessons
    have built: no case, no reference, no solution of this lesson.
    """
    return {str(Path("helpers") / p.relative_to(PACKAGE)): p.read_bytes() for p in _chosen(lesson)}


def frameworks(lesson: str) -> list[str]:
    """The frameworks that a lesson's exercises run on, such as ["tensorflow", "torch"]."""
    return sorted({exercise.framework for exercise in of_lesson(lesson)})


def _chosen(lesson: str) -> Iterator[Path]:
    yield PACKAGE / "__init__.py"
    for folder in _FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                yield path
    yield from sorted((PACKAGE / "exercises").glob("*.py"))
    subjects = PACKAGE / "algorithms"
    homes = [subjects.joinpath(*module.split(".")) for module in provided(lesson)]
    for subject in dict.fromkeys([subjects, *(home.parent for home in homes)]):
        yield subject / "__init__.py"
    for home in homes:
        yield home.with_suffix(".py")
