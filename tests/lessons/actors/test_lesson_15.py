"""Lesson 15: learners' tests that are wrong as others are, and what their own errors are told."""

from __future__ import annotations

import threading
from typing import Any

import helpers
from helpers.checks import find
from helpers.grade.hidden import HIDDEN_SEEDS
from tests.checks.table import Table

SECONDS = [[1.0] * 4] * 3


def run(count: Any, **options: Any) -> list[Any]:
    return list(helpers.run(count, SECONDS, ranks=3, show=False, **options))


# --- 15.3 -----------------------------------------------------------------------------------------


class Held(threading.Thread):
    """Begins only when somebody waits for it."""

    def start(self) -> None:
        pass

    def join(self, timeout: float | None = None) -> None:
        super().start()
        super().join(timeout)


def of_nothing(start_all: Any) -> None:
    start_all([], Held)


def of_none(start_all: Any) -> None:
    ran: list[int] = []
    start_all([ran.append(n) for n in range(3)])  # type: ignore[func-returns-value]
    assert sorted(ran) == [0, 1, 2]


def mistyped(start_all: Any) -> None:
    start_all([lambda: None], Hled)  # type: ignore[name-defined] # noqa: F821


# --- 15.4 -----------------------------------------------------------------------------------------


def engine_named_real(count: Any) -> None:
    assert run(count, engine="real") == [12] * 3


def no_engine(count: Any) -> None:
    assert run(count) == [12] * 3


def by_name(count: Any) -> None:
    helpers.run(count, seconds=SECONDS, ranks=3, engine="virtual")


def own_steps(count: Any) -> None:
    assert run(count, engine="virtual") == [4] * 3


# --- 15.5 -----------------------------------------------------------------------------------------


def _near(rollout: Any, steps: tuple[int, ...], discounts: tuple[float, ...]) -> None:
    for many in steps:
        for discount in discounts:
            rewards = iter(range(1, 100))
            found = rollout(lambda rewards=rewards: next(rewards), many, discount)
            want = sum(discount**k * (k + 1) for k in range(many))
            assert abs(found - want) <= 1e-4 * (1 + want)


def light(rollout: Any) -> None:
    _near(rollout, (0, 3, 30), (0.0, 0.5))


def never_above(rollout: Any) -> None:
    _near(rollout, (0, 3, 20, 30), (0.0, 0.5, 0.99))


def larger_is_more(rollout: Any) -> None:
    played: list[float] = []

    def play() -> float:
        played.append(1.0)
        return 1.0

    for steps in (0, 3, 30):
        played.clear()
        few = rollout(play, steps, 0.0)
        assert len(played) == steps and few == min(steps, 1)
        assert steps < 2 or few < rollout(play, steps, 0.5) < rollout(play, steps, 1.0) == steps


def exact(rollout: Any) -> None:
    for steps in (0, 3, 20, 30):
        for discount in (0, 0.3, 0.9, 1):
            rewards = iter(range(1, 100))
            want = sum(discount**k * (k + 1) for k in range(steps))
            assert rollout(lambda rewards=rewards: next(rewards), steps, discount) == want


TOLD = [
    ("15.3", of_nothing, "your test gave it no worker"),
    ("15.3", of_none, "one is None"),
    ("15.3", mistyped, "NameError: name 'Hled' is not defined"),
    ("15.4", engine_named_real, "There is no engine 'real'"),
    ("15.4", no_engine, '`engine="virtual"`'),
    ("15.4", by_name, "no option 'seconds'"),
    ("15.4", own_steps, "for each rank: [12, 12, 12]"),
    ("15.5", light, "weighs less than your tolerance"),
    ("15.5", never_above, "the values 0.0, 0.5 and 0.99"),
    ("15.5", larger_is_more, "Your test passed: look at both"),
    ("15.5", exact, "differ in their last digits"),
]


def test_tests_that_are_wrong_are_told_why_and_are_wrong_on_hidden_code_too() -> None:
    tables = {number: Table(find(number)) for number in {number for number, *_ in TOLD}}
    for number, answer, words in TOLD:
        result = tables[number].verdict(answer)
        assert result.status == "wrong" and words in result.hint, (answer.__name__, result.hint)
        assert "without ever calling" not in result.hint
        assert not tables[number].passes(answer, HIDDEN_SEEDS[0]), answer.__name__


def test_nothing_goes_to_real_processes() -> None:
    exercise = find("15.4")
    seen = exercise.drive(no_engine, exercise.cases(0)[0])
    assert not seen.trouble and seen.values[0][0][0] is True  # it failed, at once
