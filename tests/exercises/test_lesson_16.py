"""Lesson 16: what is said to answers that no known one stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.exercises import find
from helpers.exercises.lesson_16.asha_wrong import _but
from helpers.exercises.lesson_16.promoted import reference as promoted
from tests.exercises.table import verdict


def hint(number: str, function: Callable[..., Any]) -> str:
    """What is said to a wrong answer; "" to a right one."""
    found = verdict(find(number), function)
    return found.hint if found.status != "passed" else ""


def _one_more(search: Any, rung: int) -> list[int]:
    known = search.losses[rung]
    many = len(known) // search.factor
    return promoted(known, 1)[: many + 1 if many > 1 else many]


def _not_every_third(search: Any, rung: int) -> list[int]:
    search.asked = getattr(search, "asked", 0) + 1
    return promoted(search.losses[rung], search.factor) if search.asked % 3 else []


def _forgets_the_third(search: Any, rung: int, trial: int) -> None:
    search.gone = getattr(search, "gone", 0) + 1
    if search.gone != 3:
        search.promoted[rung].add(trial)


def _leaves_a_number_out(search: Any) -> Any:
    if search.begun == search.trials:
        return None
    search.begun += 1
    return (4 if search.begun == 3 else search.begun - 1, 0, search.resources[0])


def test_asha_is_told_the_reason_of_its_first_wrong_decision() -> None:
    for parts, said in (
        ({"best": _one_more}, "best go on"),
        ({"best": _not_every_third}, "and it has not left this rung yet"),
        ({"note": _forgets_the_third}, "left rung 1 before."),
        ({"more": -2}, "trials have begun"),
        ({"job": lambda s, t, r: (t, r + 1, s.resources[r + 1] + 1)}, "trained up to"),
        ({"beginning": _leaves_a_number_out}, "so the next new one is trial 2"),
    ):
        assert said in hint("16.3", _but(**parts))


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
