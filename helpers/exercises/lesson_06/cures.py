"""What the specs of cures share: other rules and cures inside and around.

A cure that does the work of the rule inside is right around the plain asynchronous rule: so each is
tried around rules that keep gradients, around a cure that looks who pulls, and inside one that
keeps what it hands on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.exercises.lesson_06.turns import case, named
from helpers.exercises.spec import Case, Driver

OTHERS = {
    "pairs": ", around a rule that waits for two gradients",
    "soft": ", around softsync, which makes an update of every two gradients",
    "asked": ", around a cure that takes gradients only of workers that pulled from it",
    "heavier": ", inside a cure that keeps what it hands on, and adds half of it next time",
}
NOT_HANDED = (
    "the gradient at turn {turn} never reaches the rule inside: you make the update and the "
    "decision yourself, which is right around the plain rule alone. Around a synchronous rule, or "
    "another cure, it is not: hand it on with `self.rule.arrive(worker, …, version)` and return "
    "what that decides."
)
OWN_DECISION = (
    "you hand on the gradient at turn {turn} and then decide for yourself: the rule inside has "
    "decided already, and it may know better who goes on. Return what `self.rule.arrive(…)` gives."
)
CALLED_FRESH = (
    "the gradient at turn {turn} is {late} late, and you hand it on as if it were fresh: give the "
    "rule inside the gradient’s own `version`, not the server’s."
)
IN_ITS_PLACE = (
    "the rule inside is not the one that you were given: at turn {turn} a rule of your own, such "
    "as that of 06.1, makes the update in its place. The given one may do it otherwise: keep it, "
    "`super().__init__(rule)`."
)


def around_others(
    drive: Driver,
    random: np.random.Generator,
    extra: tuple[Any, ...],
    right: Callable[..., Any],
    words: str,
) -> list[Case]:
    """A case of each kind, in which worker 2 comes late. words: for `extra`."""
    pairs: list[Any] = [(0, 1), (1, 0), (2, random.integers(0, 2)), random.permutation(3)[:2]]
    order = [int(worker) for pair in pairs for worker in pair]
    return [
        case(named(3, f"{other}, {words}"), drive, random, order, 3, extra, right, {option: True})
        for option, other in OTHERS.items()
    ]
