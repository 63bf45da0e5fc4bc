"""Exercise 06.4, gradients divided by how late they are.

`class ScaleByStaleness(Cure)` with `arrive`: a gradient that is τ updates late is handed on as g/τ,
one that is not late as it is. Source: Zhang et al. (2015), section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Rule
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.drives_rules import handing_turns
from helpers.exercises.lesson_06.handed import NO_PUSH, NOT_HANDED, OWN_DECISION
from helpers.exercises.lesson_06.turns import (
    NO_TUPLE,
    STUCK,
    around_pairs,
    arrivals,
    case,
    fault,
    late,
    like,
    named,
)  # fmt: skip
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers, first some that come late, then fresh ones; else others."""
    random, made = rng(seed, "06.4"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        wanted = {0, 1, min(2, workers - 1)} if workers > 1 else {0}
        length = 2 * workers + 6 + (int(random.integers(8, 13)) if seed else 0)
        order = arrivals(random, workers, length, wanted)
        made.append(
            case(named(workers), handing_turns, random, order, workers, (), reference, KNOWN)
        )
    return [*made, around_pairs(handing_turns, random, (), reference, KNOWN)]


def reference(rule: Rule) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.stale_cures import ScaleByStaleness

    return ScaleByStaleness(rule)


class ByZero(Cure):
    """Divides by zero where nothing is late."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """g/τ."""
        return self.rule.arrive(worker, gradient / self.push(worker, version).staleness, version)


class ByOneMore(Cure):
    """Divides by τ + 1."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """g/(τ + 1)."""
        late = self.push(worker, version).staleness
        return self.rule.arrive(worker, gradient / (late + 1), version)


class ByRoot(Cure):
    """Divides by √τ."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """g/√τ."""
        late = max(self.push(worker, version).staleness, 1)
        return self.rule.arrive(worker, gradient / late**0.5, version)


class ByVersion(Cure):
    """Divides by the gradient's version."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """g/version."""
        return self.rule.arrive(worker, gradient / max(version, 1), version)


class Times(Cure):
    """Multiplies."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """g·τ."""
        late = max(self.push(worker, version).staleness, 1)
        return self.rule.arrive(worker, gradient * late, version)


class LosesResult(Cure):
    """Computes the scaled gradient and hands on the old one."""


class CallsItFresh(Cure):
    """Hands the gradient on as if it were of the present version."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """With self.version."""
        late = max(self.push(worker, version).staleness, 1)
        return self.rule.arrive(worker, gradient / late, self.version)


class KeepsDecision(Cure):
    """Hands on, and decides by itself, without the push."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """A decision of its own."""
        late = max(self.push(worker, version).staleness, 1)
        self.rule.arrive(worker, gradient / late, version)
        return Decision(release=(worker,))


class AppliesItself(Cure):
    """Makes the update itself."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """The asynchronous rule once more."""
        push = self.push(worker, version)
        self.apply(gradient / max(push.staleness, 1))
        return Decision(release=(worker,), applied=(push,))


class DecidesItself(Cure):
    """Hands on, and decides all the same."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """A decision of its own."""
        push = self.push(worker, version)
        self.rule.arrive(worker, gradient / max(push.staleness, 1), version)
        return Decision(release=(worker,), applied=(push,))


KNOWN = {
    "divides by τ + 1": ByOneMore,
    "divides by the root": ByRoot,
    "divides by the version": ByVersion,
    "multiplies": Times,
    "hands on the gradient unscaled": LosesResult,
    "called fresh": CallsItFresh,
    "the decision is lost": KeepsDecision,
}


def _by_zero(case: Case, seen: Observation) -> str | None:
    for number, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=False), 1):
        if "weights" in got and late(want) == 0 and not np.isfinite(got["weights"]).all():
            return (
                f"{case.name}, worker {want['worker']}’s gradient at turn {number} is 0 updates "
                "late and you divide by 0, which makes every weight infinite. What is not late "
                "is handed on as it is: `max(staleness, 1)`."
            )
    return None


def _no_division(case: Case, seen: Observation) -> str | None:
    if seen.kind != "ZeroDivisionError":
        return None
    return (
        f"{case.name}, a gradient that is 0 updates late and you divide by 0: what is not late is "
        "handed on as it is, `max(staleness, 1)`."
    )


def claim(case: Case, seen: Observation) -> str | None:
    """g / max(τ, 1) handed on, and the decision of the rule inside returned."""
    return fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = [late(turn) for turn in seen[0].values[0]]
    return (
        "Passed with 1, 2, 3 and 5 workers: with 3 workers the gradients were "
        f"{', '.join(map(str, found))} updates late and were divided by "
        f"{', '.join(str(max(each, 1)) for each in found)}."
    )


EXERCISE = Exercise(
    number="06.4",
    title="Scale by staleness",
    stars=1,
    minutes=8,
    points=2,
    function="ScaleByStaleness",
    asks="a gradient that is τ updates late is handed on as g / max(τ, 1), with its own version.",
    cases=cases,
    drive=handing_turns,
    claim=claim,
    mistakes=(
        NO_PUSH,
        Mistake("divides by zero", _by_zero),
        Mistake("divides by zero, and Python says so", _no_division, unfinished=True),
        like(
            "divides by τ + 1",
            "worker {worker}’s gradient at turn {turn} is {late} late, and you divide by one more. "
            "Divide by τ itself; only τ = 0 needs care, since a fresh gradient counts whole.",
        ),
        like(
            "divides by the root",
            "worker {worker}’s gradient at turn {turn} is {late} late, and you divide by the "
            "root of that: divide by τ.",
        ),
        like(
            "divides by the version",
            "you divide by the gradient’s version, so that every gradient shrinks as training "
            "goes on: τ is the server’s version minus the gradient’s, `self.push(worker, "
            "version).staleness`.",
        ),
        like(
            "multiplies",
            "worker {worker}’s gradient at turn {turn} is {late} late and grows by that: the "
            "later it is, the less it should count. Divide.",
        ),
        like(
            "hands on the gradient unscaled",
            "worker {worker}’s gradient at turn {turn} is {late} late and counts whole: hand on "
            "the scaled one. `gradient / τ` is a new tensor; the old one stays as it is.",
        ),
        like(
            "called fresh",
            "the gradient at turn {turn} is {late} late, and you hand it on as if it were fresh: "
            "give the rule inside the gradient’s own `version`, not the server’s.",
        ),
        like(
            "the decision is lost",
            "the update at turn {turn} is in nobody’s books: return what `self.rule.arrive(...)` "
            "decides instead of a decision of your own.",
        ),
        NOT_HANDED,
        OWN_DECISION,
        NO_TUPLE,
        STUCK,
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("divides by 0", ByZero, hint="you divide by 0"),
        WrongAnswer("τ + 1", ByOneMore, hint="by one more"),
        WrongAnswer("√τ", ByRoot, hint="by the root"),
        WrongAnswer("by version", ByVersion, hint="shrinks as training goes on"),
        WrongAnswer("multiplies", Times, hint="grows by that"),
        WrongAnswer("unscaled", LosesResult, hint="counts whole:"),
        WrongAnswer("calls it fresh", CallsItFresh, hint="as if it were fresh"),
        WrongAnswer("applies itself", AppliesItself, hint="never reaches the rule inside"),
        WrongAnswer("decides itself", DecidesItself, hint="then decide for yourself"),
        WrongAnswer("own decision", KeepsDecision, hint="nobody’s books"),
    ),
    ranked=False,
    unseen={
        "inside": "whether a decision is the very one of the rule inside",
        "held": "how many tensors it keeps",
    },
)
