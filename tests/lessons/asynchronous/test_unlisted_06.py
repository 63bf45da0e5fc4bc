"""Answers to lesson 06 that no table lists: they are wrong, and what they are told is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from helpers.checks import find
from tests.checks.table import is_told

RIGHT = {number: find(number).reference for number in ("06.2", "06.5")}


def needs_noise(rate: float, staleness: int, noise: list[float]) -> Any:
    """Asks for the first value."""
    first, *others = noise[0], *noise[1:]
    return RIGHT["06.2"](rate, staleness, [first, *others])


def next_noise(rate: float, staleness: int, noise: list[float]) -> list[float]:
    """Takes each value one update too soon, and so one that is not there."""
    path = [1.0]
    for step in range(len(noise)):
        path.append(path[-1] - rate * (path[max(step - staleness, 0)] + noise[step + 1]))
    return path


class NoZero(RIGHT["06.5"]):  # type: ignore[misc]
    """Refuses λ = 0."""

    def __init__(self, rule: Any, strength: float) -> None:
        super().__init__(rule, strength)
        if not strength:
            raise ValueError("λ is above 0")


WRONG: list[tuple[str, Callable[..., Any], str]] = [
    ("06.2", needs_noise, "With an empty list of noise, IndexError"),
    ("06.2", next_noise, "`noise` has one value an update"),
    ("06.5", NoZero, "and λ = 0, ValueError"),
]


@pytest.mark.parametrize(("number", "answer", "piece"), WRONG)
def test_what_a_wrong_answer_is_told_is_so(
    number: str, answer: Callable[..., Any], piece: str
) -> None:
    is_told(number, answer, piece)
