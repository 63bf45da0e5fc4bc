"""Exercise 06.3, dropping gradients that are too late.

`class DropStale(Cure)` with `arrive`: what is more than `limit` updates late is never used, and its
worker goes on; all else is handed on to the rule inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.cure import Cure
from helpers.algorithms.rule import Decision, Rule
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count
from helpers.exercises.drives_rules import cure_turns
from helpers.exercises.lesson_06.turns import NO_TUPLE, STUCK, case, fault, holds_up, like, named
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers, of which some come late; else other orders and limits."""
    random, made = rng(seed, "06.3"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        limit = 2 if workers > 2 else workers - 1
        if seed and workers > 5:
            limit = int(random.integers(3, 6))
        order = telling(random, workers, limit, int(random.integers(13, 18)) if seed else 7)
        made.append(
            case(
                named(workers, f" and a limit of {limit}"), cure_turns, random, order, workers,
                (limit,), reference, KNOWN,
            )
        )  # fmt: skip
    return made


def telling(random: np.random.Generator, workers: int, limit: int, more: int) -> list[int]:
    """An order of arrivals in which gradients are exactly `limit` updates late, and later ones.

    more: arrivals beyond four a worker and the first.

    Staleness counts the updates that were made, so those that are dropped do not add to it.
    """
    order, made = [0], 1
    pulled = dict.fromkeys(range(workers), 0) | {0: 1}
    for turn in range(4 * workers + more):
        exact = [w for w, version in pulled.items() if made - version == limit]
        later = [w for w, version in pulled.items() if made - version > limit]
        pick = exact if turn % 3 == 0 else later if turn % 3 == 1 else []
        worker = int(random.choice(pick or list(pulled)))
        order.append(worker)
        made += made - pulled[worker] <= limit
        pulled[worker] = made
    return order


def reference(rule: Rule, limit: int) -> Rule:
    """The course's own."""
    from helpers.algorithms.stale_cures import DropStale

    return DropStale(rule, limit)


class Limited(Cure):
    """A cure that knows the limit."""

    def __init__(self, rule: Rule, limit: int) -> None:
        super().__init__(rule)
        self.limit = limit


class KeepsWorker(Limited):
    """Drops, and forgets that the worker waits for an answer."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """No release."""
        push = self.push(worker, version)
        if push.staleness > self.limit:
            return Decision(dropped=(push,))
        return self.rule.arrive(worker, gradient, version)


class DropsAtLimit(Limited):
    """≥ instead of >."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Drop from the limit on."""
        if self.push(worker, version).staleness >= self.limit:
            return self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


class SaysNothing(Limited):
    """Drops without a word."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Release alone."""
        if self.push(worker, version).staleness > self.limit:
            return Decision(release=(worker,))
        return self.rule.arrive(worker, gradient, version)


class DropsFresh(Limited):
    """The wrong way round."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Drop the fresh ones."""
        if self.push(worker, version).staleness <= self.limit:
            return self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


class ByVersion(Limited):
    """Takes the version for the staleness."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Drop high versions."""
        if version > self.limit:
            return self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


class AppliesAnyway(Limited):
    """Says that it drops, and applies."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Hand on first."""
        push = self.push(worker, version)
        decision = self.rule.arrive(worker, gradient, version)
        if push.staleness > self.limit:
            return Decision(release=(worker,), dropped=(push,))
        return decision


class NeverDrops(Limited):
    """Hands everything on."""


KNOWN = {
    "its worker is not released": KeepsWorker,
    "drops at the limit": DropsAtLimit,
    "not noted": SaysNothing,
    "drops the fresh ones": DropsFresh,
    "version for staleness": ByVersion,
    "applies what it drops": AppliesAnyway,
    "drops nothing": NeverDrops,
}


def claim(case: Case, seen: Observation) -> str | None:
    """What is later than the limit is dropped, its worker released; the rest handed on."""
    return fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    turns = seen[0].values[0]
    dropped = sum(len(turn["dropped"]) for turn in turns)
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {dropped} of "
        f"{count(len(turns), 'gradient')} were dropped, and everybody went on."
    )


EXERCISE = Exercise(
    number="06.3",
    title="Drop what is too late",
    stars=1,
    minutes=8,
    points=2,
    function="DropStale",
    asks=(
        "a gradient that is more than `limit` updates late is dropped and its worker goes on; any "
        "other is handed on to `self.rule`."
    ),
    cases=cases,
    drive=cure_turns,
    claim=claim,
    mistakes=(
        like(
            "its worker is not released",
            "you drop worker {worker}’s gradient at turn {turn} and release nobody: the worker "
            "waits for an answer for ever, and sooner or later everybody does. "
            "`self.discard(worker, version)` drops and releases.",
        ),
        holds_up(
            "you release {released} at turn {turn}, where worker {worker} came {late} late; "
            "release {right}, or in the end everybody waits.",
        ),
        like(
            "drops at the limit",
            "worker {worker}’s gradient at turn {turn} is {late} late and you drop it: what is "
            "exactly at the limit still counts (>, not ≥).",
        ),
        like(
            "not noted",
            "worker {worker}’s gradient vanishes at turn {turn}: the decision has to name it in "
            "`dropped`, so that it can be counted. `self.discard(worker, version)` does.",
        ),
        like(
            "drops the fresh ones",
            "worker {worker}’s gradient at turn {turn} is only {late} late and you drop it; the "
            "comparison is the wrong way round.",
        ),
        like(
            "version for staleness",
            "you drop by the version of the gradient, which grows with the training: how late it "
            "is, is the server’s version minus the gradient’s, `self.push(worker, "
            "version).staleness`.",
        ),
        like(
            "applies what it drops",
            "the gradient at turn {turn} is {late} late; your decision says that it is dropped, "
            "and the weights have moved all the same. Decide before you hand it on to "
            "`self.rule`.",
        ),
        like(
            "drops nothing",
            "worker {worker}’s gradient at turn {turn} is {late} late and is applied: nothing is "
            "ever dropped.",
        ),
        NO_TUPLE,
        STUCK,
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("keeps the worker", KeepsWorker, "drops and releases"),
        WrongAnswer("≥", DropsAtLimit, "exactly at the limit"),
        WrongAnswer("says nothing", SaysNothing, "vanishes"),
        WrongAnswer("drops fresh ones", DropsFresh, "wrong way round"),
        WrongAnswer("by version", ByVersion, "by the version"),
        WrongAnswer("applies anyway", AppliesAnyway, "moved all the same"),
        WrongAnswer("never drops", NeverDrops, "nothing is ever"),
    ),
    ranked=False,
)
