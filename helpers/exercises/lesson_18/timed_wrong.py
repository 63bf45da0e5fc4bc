"""Ways to time a run with one thing wrong (18.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Looks = Sequence[tuple[float, float, float]]
Train = Callable[[], tuple[float, Looks]]
MOST = 3


def _took(looks: Looks) -> float:
    """Seconds of these looks."""
    return sum(took for _, took, _ in looks)


def _timed(
    reached: Callable[[Sequence[float], float], bool] = lambda errors, target: (
        len(errors) >= MOST and sum(errors[-MOST:]) / MOST <= target
    ),
    clock: Callable[[float, Looks, int], float] = lambda began, looks, at: (
        looks[at][0] - began - _took(looks[:at])
    ),
    never: Callable[[float, Looks], float] = lambda began, looks: math.inf,
    end: Callable[[Sequence[float], int | None], float] = lambda errors, at: (
        sum(errors[-MOST:]) / MOST
    ),
    place: Callable[[Sequence[int]], int | None] = lambda found: found[0] if found else None,
) -> Callable[[Train, float], Any]:
    """The right way with a part exchanged. reached: by the errors so far. clock: seconds at a look.
    place: which of the looks that reach it counts."""

    def timed(train: Train, target: float) -> Any:
        began, looks = train()
        errors = [error for _, _, error in looks]
        found = [n for n in range(len(errors)) if reached(errors[: n + 1], target)]
        at = place(found)
        seconds = never(began, looks) if at is None else clock(began, looks, at)
        return seconds, end(errors, at)

    return timed


def _before(looks: Looks, at: int) -> float:
    return sum(look[1] for look in looks[:at])


lucky = _timed(reached=lambda errors, target: errors[-1] <= target)
from_start = _timed(clock=lambda began, looks, at: looks[at][0] - _before(looks, at))
with_looks = _timed(clock=lambda began, looks, at: looks[at][0] - began)
after_look = _timed(
    clock=lambda began, looks, at: looks[at][0] + looks[at][1] - began - _before(looks, at)
)
this_look_off = _timed(clock=lambda began, looks, at: looks[at][0] - began - _before(looks, at + 1))
wall = _timed(clock=lambda began, looks, at: looks[at][0])
middle_look = _timed(
    clock=lambda began, looks, at: looks[at - 1][0] - began - _before(looks, at - 1)
)
first_of_three = _timed(
    clock=lambda began, looks, at: looks[at - 2][0] - began - _before(looks, at - 2)
)
three_in_a_row = _timed(
    reached=lambda errors, target: len(errors) >= MOST and all(e <= target for e in errors[-MOST:])
)
fewer_than_three = _timed(
    reached=lambda errors, target: sum(errors[-MOST:]) / len(errors[-MOST:]) <= target
)
strictly_below = _timed(
    reached=lambda errors, target: len(errors) >= MOST and sum(errors[-MOST:]) / MOST < target
)
mean_of_all = _timed(
    reached=lambda errors, target: len(errors) >= MOST and sum(errors) / len(errors) <= target
)
last_time = _timed(place=lambda found: found[-1] if found else None)
limit_for_never = _timed(
    never=lambda began, looks: looks[-1][0] - began - _before(looks, len(looks) - 1)
)
zero_for_never = _timed(never=lambda began, looks: 0.0)
nan_for_never = _timed(never=lambda began, looks: math.nan)
last_look = _timed(end=lambda errors, at: errors[-1])
best_look = _timed(end=lambda errors, at: min(errors))
at_target = _timed(
    end=lambda errors, at: (
        sum(errors[(at or 0) - 2 : (at or 0) + 1]) / MOST if at else sum(errors[-MOST:]) / MOST
    )
)
_right = _timed()


def ends_there(train: Train, target: float) -> Any:
    """Arrived is who is there at the end."""
    seconds, end = _right(train, target)
    return (seconds if end <= target else math.inf), end


def twice(train: Train, target: float) -> Any:
    """One training for each of the two numbers."""
    return _right(train, target)[0], _right(train, target)[1]
