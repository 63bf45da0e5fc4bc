"""A graph that is built in one process and looked at in another: one limit for both."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from helpers.checks import find
from helpers.checks.drives.built import Built
from helpers.checks.spec import Observation
from helpers.instructor.judge import built


def test_who_looks_has_the_seconds_that_building_left(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float]] = []

    def ask(channel: Any, exercise: Any, what: str, seconds: float, **said: Any) -> Observation:
        asked.append((what, seconds))
        return Observation(values=[{"graph": b""}])

    monkeypatch.setattr(built, "ask", ask)
    mine = SimpleNamespace(taken=lambda: 4.0)
    session: Any = SimpleNamespace(channels=lambda ranks: [mine], clean=lambda: "nobody's")
    exercise = find("01.3")
    drive = Built(lambda fn, case: Observation(), lambda case, given: Observation(), told=1)
    built.observe_built(exercise, drive, exercise.cases(0)[0], session, 10.0)
    assert asked == [("build", 10.0), ("look", 6.0)]
