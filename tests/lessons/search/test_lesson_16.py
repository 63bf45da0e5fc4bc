"""Lesson 16: what is said to answers that no known one stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.checks import find
from helpers.checks.table import wrong_answers
from helpers.lessons.search.exercises.asha import Plain
from helpers.lessons.search.exercises.promoted import reference as promoted
from tests.checks.table import verdict


def hint(number: str, function: Callable[..., Any]) -> str:
    """What is said to a wrong answer; "" to a right one."""
    found = verdict(find(number), function)
    return found.hint if found.status != "passed" else ""


DECISIONS = """
one more than go on
    | return ranked(self.losses[rung], self.factor) => known = self.losses[rung];
        many = len(known) // self.factor; return ranked(known, 1)[: many + (many > 1)]
    best go on
not every third time
    | return ranked( => self.asked = getattr(self, "asked", 0) + 1;
        return [] if self.asked % 3 == 0 else ranked(
    and it has not left this rung yet
forgets the third
    | self.promoted[rung].add( => self.gone = getattr(self, "gone", 0) + 1;
        self.gone == 3 or self.promoted[rung].add(
    left rung 1 before.
two trials fewer
    | == self.trials => == self.trials - 2
    trials have begun
one step more
    | self.resources[rung + 1] => self.resources[rung + 1] + 1
    trained up to
leaves a number out
    | return self.begun - 1, 0 => return 4 if self.begun == 3 else self.begun - 1, 0
    so the next new one is trial 2
"""


def test_asha_is_told_the_reason_of_its_first_wrong_decision() -> None:
    for answer in wrong_answers("16.3", DECISIONS, Plain):
        assert str(answer.says) in hint("16.3", answer.function)


def of(*seeds: int) -> np.random.Generator:
    """A generator of these."""
    return np.random.default_rng(seeds)


def _draw(places: Callable[[Any, int, int], Any]) -> Callable[..., Any]:
    def draw(space: Any, trial: int, seed: int = 0) -> Any:
        found = zip(sorted(space), places(space, trial, seed), strict=True)
        return {name: space[name].at(float(place)) for name, place in found}

    return draw


def test_drawing_is_told_what_is_true_of_it() -> None:
    on_a_grid = _draw(
        lambda s, t, seed: np.random.default_rng([seed, t]).integers(0, 3, len(s)) / 3
    )
    said = hint("16.1", on_a_grid)
    assert "get the very same values" in said and "all trials" not in said

    def against(space: Any, trial: int, seed: int) -> Any:
        places = of(seed, trial).random(len(space))
        if "momentum" in space and "rate" in space:
            names = sorted(space)
            places[names.index("rate")] = 1 - places[names.index("momentum")]
        return np.clip(places, 0, 1 - 1e-12)

    assert "where one is large, the other is small" in hint("16.1", _draw(against))
    hashed = _draw(
        lambda s, t, seed: np.random.default_rng([hash((seed, t)) % 2**63]).random(len(s))
    )
    assert hint("16.1", hashed) == ""  # whole numbers have the same hash in every process
    of_text = _draw(lambda s, t, seed: of(hash(f"{seed}-{t}") % 20_000, 0).random(len(s)))
    assert "another number in every process" in hint("16.1", of_text)  # whichever it makes alike


def test_another_number_of_trials_is_not_taken_for_a_known_one() -> None:
    def keeping(count: Callable[[int, int], int]) -> Callable[..., Any]:
        return lambda losses, factor: promoted(losses, 1)[: max(0, count(len(losses), factor))]

    for count in (lambda n, f: (n - 1) // f, lambda n, f: n - f, lambda n, f: n // f - 1):
        assert "it should be trials" in hint("16.2", keeping(count))
