"""Time to a target: when the clock starts and stands still, and what counts as reached."""

from __future__ import annotations

import math
from collections.abc import Callable

from helpers.lessons.capstone.algorithms.runs import Run

LOOKS = 3


def timed(train: Callable[[], Run], target: float) -> tuple[float, float]:
    """Train once: seconds of training until the target was reached, and the error at the end.

    The clock starts when all ranks are ready, and stands still while the model is looked at. The
    target is reached at the first look whose error, averaged with those of the two looks before it,
    is at or below it, when that look begins; infinity where it never is. The error at the end is
    the mean of the last three looks.
    train: makes a run of at least three looks, (began, looks). target: a test error in %.
    """
    began, looks = train()
    errors = [error for _, _, error in looks]
    seconds, stood_still = math.inf, 0.0
    for number, (at, took, _) in enumerate(looks, 1):
        if number >= LOOKS and sum(errors[number - LOOKS : number]) / LOOKS <= target:
            seconds = at - began - stood_still
            break
        stood_still += took
    return seconds, sum(errors[-LOOKS:]) / LOOKS
