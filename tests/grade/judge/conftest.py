"""Judges that all tests of the judge share: their sandboxes start once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from helpers.grade.judge import Judge
from tests.grade.judge.here import Judges


@pytest.fixture(scope="session")
def judges() -> Iterator[Judges]:
    """The judge of a lesson."""
    made: dict[str, Judge] = {}

    def of(lesson: str) -> Judge:
        return made.setdefault(lesson, Judge(lesson, slot=160 + int(lesson)))

    yield of
    for judge in made.values():
        judge.close()
