"""Races: the reference tests catch each planted one in every run; one found is replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from helpers.checks import find
from helpers.checks.spec import Case
from helpers.lessons.actors.exercises import counts, under_test
from helpers.lessons.actors.experiments import races

NUMBERS = ("15.3", "15.4", "15.5")


def pieces(number: str) -> list[Case]:
    """Every piece of code that an exercise's tests are run on, the hidden ones too."""
    exercise = find(number)
    found = {case.args[0][0]: case for seed in (0, 1) for case in exercise.cases(seed)}
    return list(found.values())


@pytest.mark.parametrize("times", [5, pytest.param(100, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_reference_test_says_the_same_in_every_run(number: str, times: int) -> None:
    exercise = find(number)
    for case in pieces(number):
        seen = exercise.drive(exercise.reference, replace(case, args=((case.args[0][0], times),)))
        assert not seen.trouble, seen.text
        runs = [under_test.Run(*run) for run in seen.values[0]]
        assert [run.failed for run in runs] == [case.facts["fault"]] * times, case.name
        if case.facts["fault"]:
            # By its own assertion, and not because something broke on the way.
            assert {run.kind for run in runs} == {"AssertionError"}, case.name


def test_hidden_code_is_none_of_what_is_shown() -> None:
    for number in NUMBERS:
        exercise = find(number)
        shown = {case.args[0][0] for case in exercise.cases(0)}
        hidden = [case for case in exercise.cases(3) if case.args[0][0] not in shown]
        assert sum(case.facts["fault"] for case in hidden) >= 3
        assert sum(not case.facts["fault"] for case in hidden) >= 3


# --- found, and replayed --------------------------------------------------------------------------

SHOWN, HIDDEN, SOUND = (
    under_test.pieces("15.4", table, counts.CODE)
    for table in (counts.FAULTY, counts.HIDDEN_FAULTY, counts.SOUND)
)
UNLOCKED = [code for code, words, _ in (*SHOWN, *HIDDEN) if not words.startswith("reads once")]
AROUND_THE_STEP, AFTER_THE_STEP = UNLOCKED[:2]


@pytest.mark.parametrize("count", UNLOCKED)
def test_an_interleaving_that_shows_a_race_is_found_and_replayed(count: Callable[..., Any]) -> None:
    found = races.search(count, steps=(4, 3, 4))
    assert found.lost > 0
    assert found.counted == [found.steps - found.lost] * 3
    for _ in range(5):
        again = races.run(count, found.seconds)
        assert again.counted == found.counted
        assert again.trace.events == found.trace.events
        assert again.touches == found.touches


def test_the_search_begins_with_the_first_seed_and_ends_with_the_first_that_shows_it() -> None:
    found = races.search(AFTER_THE_STEP, steps=(3, 3))
    assert found.seed is not None and found.seed > 0  # rare enough to be searched for
    for seed in range(found.seed):
        assert not races.run(AFTER_THE_STEP, races.times(seed, (3, 3))).lost


def test_what_is_overwritten_is_what_was_lost() -> None:
    found = races.search(AROUND_THE_STEP)
    assert found.overwritten
    for read, write in found.overwritten:
        assert read.rank == write.rank and read.seconds < write.seconds
        between = [t for t in found.touches if read.seconds <= t.seconds <= write.seconds]
        assert any(t.kind == "write" and t.rank != read.rank for t in between)
        assert write.value == read.value + 1


@pytest.mark.parametrize("count", [code for code, words, _ in SOUND if "are sent" not in words])
def test_nothing_is_found_in_sound_code(count: Callable[..., Any]) -> None:
    with pytest.raises(LookupError, match="In 6 runs of 2 ranks no step was lost"):
        races.search(count, seeds=range(6))
    run = races.run(count, [[1.0, 1.0], [1.0, 1.0]])
    assert run.lost == 0 and not run.overwritten
