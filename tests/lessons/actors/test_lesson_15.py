"""Lesson 15: learners' tests that are wrong as others are, and what their own errors are told."""

from __future__ import annotations

import threading
from collections.abc import Sequence
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


def _ran(start_all: Any) -> list[int]:
    ran: list[int] = []
    start_all([lambda n=n: ran.append(n) for n in range(3)], Held)
    return ran


def in_brackets(start_all: Any) -> None:
    assert (sorted(_ran(start_all)) == [0, 1, 2], "wrong")  # noqa: F631


def kept_in(start_all: Any) -> None:
    ran = _ran(start_all)
    try:
        assert sorted(ran) == [0, 1, 2]
    except AssertionError as error:
        str(error)


def who_alone(start_all: Any) -> None:
    ran = _ran(start_all)
    assert all(n in ran for n in range(3))


def no_daemon(start_all: Any) -> None:
    class Late:
        def __init__(self, target: Any, args: Any = (), name: str = "") -> None:
            self.join = lambda: target(*args)

        def start(self) -> None:
            pass

    ran: list[int] = []
    start_all([lambda n=n: ran.append(n) for n in range(3)], Late)
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


def no_counts(count: Any) -> None:
    assert run(count, engine="virtual") != [12] * 3


def _counted(count: Any, *rows: list[float], ranks: int = 0) -> list[Any]:
    ranks = ranks or len(rows)
    return list(helpers.run(count, list(rows), ranks=ranks, engine="virtual", show=False))


def two_runs(count: Any) -> None:
    first, second = (_counted(count, *[[1.0] * 4] * ranks) for ranks in (2, 3))
    assert first == [12] * 2, first
    assert second == [12] * 3


def ms_apart(count: Any) -> None:
    assert _counted(count, *([1.0 + 0.002 * rank] * 4 for rank in range(3))) == [12] * 3


def first_alike(count: Any) -> None:
    assert _counted(count, [1.0, 1.3], [1.0, 1.7], [1.0, 0.6]) == [6] * 3


def more_than_one_rank(count: Any) -> None:
    assert _counted(count, *[[1.0] * 4] * 3)[0] > 4


def one_takes_steps(count: Any) -> None:
    assert _counted(count, [1.0] * 4, [], []) == [4] * 3


def a_row_more(count: Any) -> None:
    assert _counted(count, *[[1.0] * 4] * 4, ranks=3) == [16] * 3


def in_silence(count: Any) -> None:
    done = helpers.run(count, SECONDS, ranks=3, engine="virtual", show=False)
    assert list(done) == [12] * 3 and not any(done.stats.bytes)


# --- 15.5 -----------------------------------------------------------------------------------------


def _near(
    rollout: Any,
    steps: Sequence[int],
    discounts: tuple[float, ...],
    tolerance: float = 1e-4,
    first: int = 1,
) -> None:
    for many in steps:
        for discount in discounts:
            rewards = iter(range(first, 100))
            found = rollout(lambda rewards=rewards: next(rewards), many, discount)
            want = sum(discount**k * (k + first) for k in range(many))
            assert abs(found - want) <= tolerance * (1 + want)


def light(rollout: Any) -> None:
    _near(rollout, (0, 3, 30), (0.0, 0.5))


def never_above(rollout: Any) -> None:
    _near(rollout, (0, 3, 20, 30), (0.0, 0.5, 0.99))


def tenth(rollout: Any) -> None:
    _near(rollout, (0, 3, 20, 30), (0.0, 0.5, 0.99, 1.0), tolerance=0.1)


def from_nothing(rollout: Any) -> None:
    _near(rollout, (0, 3, 20, 30), (0.0, 0.5, 0.99, 1.0), first=0)


def up_to_19(rollout: Any) -> None:
    _near(rollout, range(20), (0.0, 0.5, 0.99, 1.0))


def more_than_are_told(rollout: Any) -> None:
    _near(rollout, [*[3] * 401, 30], (0.5,), tolerance=10.0)


def too_much_is_fine(rollout: Any) -> None:
    for steps in (0, 3, 30):
        rewards = iter(range(1, 100))
        want = sum(0.5**k * (k + 1) for k in range(steps))
        assert want <= rollout(lambda rewards=rewards: next(rewards), steps, 0.5) + 1e-4


def shrinking(rollout: Any) -> None:
    for steps in (0, 3, 30):
        rewards = iter(range(-1, -100, -1))
        assert rollout(lambda rewards=rewards: next(rewards), steps, 1.0) > 0


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
    ("15.3", in_brackets, "with both in brackets, never fails"),
    ("15.3", kept_in, "an `except` keeps an `assert` in"),
    ("15.3", who_alone, "worker 0 ran twice"),
    ("15.3", no_daemon, "`name` or `daemon`"),
    ("15.4", engine_named_real, "There is no engine 'real'"),
    ("15.4", no_engine, '`engine="virtual"`'),
    ("15.4", by_name, "no option 'seconds'"),
    ("15.4", own_steps, "with the steps of your test that was [12, 12, 12]"),
    ("15.4", no_counts, "names what holds of such a list"),
    ("15.4", two_runs, "that was [8, 8] and [12, 12, 12]"),
    ("15.4", ms_apart, "with 1 ms between), with the ranks"),
    ("15.4", first_alike, "give all steps of all ranks the same length"),
    ("15.4", more_than_one_rank, "3 ranks took 12 steps, 10 were counted"),
    ("15.4", one_takes_steps, "one rank at most takes steps"),
    ("15.4", a_row_more, "that was [12, 12, 12]"),
    ("15.4", in_silence, "or send messages"),
    ("15.5", light, "weighs less than your tolerance"),
    ("15.5", never_above, "the values 0.0, 0.5 and 0.99"),
    ("15.5", tenth, "allow for one part in ten thousand"),
    ("15.5", from_nothing, "the first one, too"),
    ("15.5", up_to_19, "17, 18 and 19"),
    ("15.5", more_than_are_told, "It has to fail, in every run"),
    ("15.5", too_much_is_fine, "fail"),
    ("15.5", shrinking, "names what has to hold in sound code"),
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
