"""Known wrong answers run in the test's own process, but where a test is of the other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from helpers.checks import apart
from helpers.checks.spec import Exercise
from helpers.lessons.four_ways.exercises import between_sync, meeting
from tests import kinds


@pytest.fixture(autouse=True)
def observed_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Observe in this process what a check observes in one of its own, as a grader's judge does."""

    def here(job: Callable[..., Any], exercise: Exercise, seconds: float) -> Any:
        return job()

    if not kinds.is_real(request.node):
        monkeypatch.setattr(apart, "_run", here)
        # Who waits until everybody sleeps looks more often: it is so many looks, and no time.
        for drives in (between_sync, meeting):
            monkeypatch.setattr(drives, "LOOK_SECONDS", 0.01)
