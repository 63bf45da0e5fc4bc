"""Exercise 08.3: whoever returns while threads go on is found, however quick these are."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from helpers.checks import find
from helpers.checks.spec import Case
from helpers.lessons.four_ways.exercises import meeting as drives

EXERCISE = find("08.3")
WRONG: dict[str, Any] = {answer.name: answer.function for answer in EXERCISE.wrong}


def seen(fn: Any) -> dict[str, Any]:
    found: dict[str, Any] = drives.thread_runs(fn, Case("three ops", ((3, 9),))).values[0]
    return found


def returns_late(session: Any, updates: Any, step: Any, last: int) -> None:
    """Waits for nobody, and gets the processor back when all that there is to run was run."""
    WRONG["threads go on"](session, updates, step, last)
    while session.run(step) < last:
        time.sleep(0.001)


def test_threads_are_seen_to_go_on_where_all_is_run_before_the_function_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {*threading.enumerate()}
    told = seen(EXERCISE.reference)
    assert told["open"] == 0 and told["runs"] == [3, 3, 3] and told["alone"] == 0
    monkeypatch.setattr(drives, "_RETURN", 100)
    told = seen(returns_late)
    assert told["open"] == 3 and told["runs"] == [3, 3, 3] and told["alone"] == 0
    for thread in {*threading.enumerate()} - before:
        thread.join()  # the session is closed, so each comes to its end
