"""What the specs of cures share: other rules and cures inside and around; who decides.

A cure that does the work of the rule inside is right around the plain asynchronous rule: so each is
tried around rules that keep gradients, around a cure that looks who pulls, and inside one that
keeps what it hands on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Rule
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


def spoiled(right: Callable[..., Any], home: str) -> tuple[Callable[..., Rule], ...]:
    """The same cure, wrong in who decides. right: the course's own. home: the caller's module."""

    def spoil(how: Callable[[Any], Rule]) -> Callable[..., Rule]:
        return lambda rule, *extra: how(right(rule, *extra))

    def in_its_place(rule: Rule, *extra: Any) -> Any:
        return right(_Plain(rule.weights, rule.optimizer, rule.workers), *extra)

    spoils = (_applies, _decides, _calls_fresh, _one_push, _no_comma)
    found = (*(spoil(how) for how in spoils), in_its_place)
    for function in found:
        function.__module__ = home  # where it has its name
    return found


class _Plain(Rule):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        return _decided(self, self.apply, worker, gradient, version)


def _decided(rule: Rule, use: Callable[[Any], Any], worker: int, *given: Any) -> Decision:
    """As the asynchronous rule decides. use: what is done with the gradient."""
    push = rule.push(worker, given[1])
    use(given[0])
    return Decision(release=(worker,), applied=(push,))


def _applies(cure: Cure) -> Cure:
    cure.rule.arrive = lambda *given: _decided(cure, cure.apply, *given)  # type: ignore[method-assign]
    return cure


def _decides(cure: Cure) -> Cure:
    hand_on = cure.rule.arrive

    def arrive(worker: int, gradient: Any, version: int) -> Decision:
        return _decided(cure, lambda g: hand_on(worker, g, version), worker, gradient, version)

    cure.rule.arrive = arrive  # type: ignore[method-assign]
    return cure


def _calls_fresh(cure: Cure) -> Cure:
    hand_on = cure.rule.arrive
    cure.rule.arrive = lambda who, g, version: hand_on(who, g, cure.version)  # type: ignore
    return cure


def _one_push(rule: Rule) -> Rule:
    return _saying(rule, lambda said: {"applied": said.applied[0] if said.applied else ()})


def _no_comma(rule: Rule) -> Rule:
    return _saying(rule, lambda said: {"release": said.release[0] if said.release else ()})


def _saying(rule: Rule, changed: Callable[[Decision], dict[str, Any]]) -> Rule:
    decide = rule.arrive

    def arrive(worker: int, gradient: Any, version: int) -> Decision:
        said = decide(worker, gradient, version)
        return replace(said, **changed(said))

    rule.arrive = arrive  # type: ignore[method-assign]
    return rule
