"""Mistakes of lesson 06 that need no known answer: gradients not handed on, and no pushes."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.exercises.compare import describe
from helpers.exercises.lesson_06.turns import Turn, first_difference, updates
from helpers.exercises.spec import Case, Mistake, Observation


def _pairs(case: Case, seen: Observation) -> Iterator[tuple[int, Turn, Turn]]:
    """The turns that ended with a decision, beside those that are wanted, numbered from 1."""
    for number, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=False), 1):
        if "release" in got and "release" in want:
            yield number, got, want


def _not_handed(case: Case, seen: Observation) -> str | None:
    for number, got, want in _pairs(case, seen):
        if got["inside"] == "not asked" and want["inside"] == "as decided" and got["made"] > 0:
            if got["made"] != want["made"]:
                return None  # another mistake came first
            return (
                f"{case.name}, the gradient at turn {number} never reaches the rule inside: you "
                "make the update and the decision yourself, which is right around the plain rule "
                "alone. Around a synchronous rule, or another cure, it is not: hand it on with "
                "`self.rule.arrive(worker, …, version)` and return what that decides."
            )
    return None


def _own_decision(case: Case, seen: Observation) -> str | None:
    number, got, want = first_difference(case, seen)
    if got is None or want is None or got.get("inside") != "on its own":
        return None
    if want.get("inside") != "as decided" or got["applied"] != want["applied"]:
        return None
    return (
        f"{case.name}, you hand on the gradient at turn {number} and then decide for yourself: the "
        "rule inside has decided already, and it may know better who goes on. Return what "
        "`self.rule.arrive(…)` gives."
    )


def _no_push(case: Case, seen: Observation) -> str | None:
    for number, got, want in _pairs(case, seen):
        for part in ("applied", "dropped"):
            given, right = got[part], want[part]
            odd = [push for push in given if type(push) is not list]
            if not odd:
                continue
            if right and given == right[0]:
                return (
                    f"{case.name}, `{part}` at turn {number} is one push where a tuple of them "
                    "belongs: a comma makes it one, `(push,)`."
                )
            if type(odd[0]) is tuple:
                return (
                    f"{case.name}, `{part}` at turn {number} holds {describe(odd[0])}, a plain "
                    "tuple: who reads the decision asks for `push.staleness` by its name. "
                    "`self.push(worker, version)` makes a Push, which has one."
                )
            return (
                f"{case.name}, `{part}` at turn {number} holds {describe(odd[0])} where a Push "
                "belongs: `self.push(worker, version)` makes one, which says who gave the gradient,"
                f" of which version, and that it is {updates(right[0][2]) if right else 'so many'} "
                "late."
            )
    return None


NOT_HANDED = Mistake("never handed on", _not_handed)
OWN_DECISION = Mistake("decides for itself", _own_decision)
NO_PUSH = Mistake("no push", _no_push)
