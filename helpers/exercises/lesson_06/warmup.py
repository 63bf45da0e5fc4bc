"""Exercise 06.6, warmup: one worker trains alone first, then the others start.

`class Warmup(Cure)` with `start` and `arrive`: until `updates` updates are made, the first worker
is alone; with the one that completes the warmup, everybody is released. Source: Géron (2017),
chapter 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.algorithms.cure import Cure
from helpers.algorithms.rule import Decision, Rule
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count
from helpers.exercises.drives_rules import cure_turns
from helpers.exercises.lesson_06.turns import (
    NO_TUPLE,
    STUCK,
    arrivals,
    case,
    fault,
    holds_up,
    like,
    named,
    updates,
)  # fmt: skip
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 4, 2, 3 and 1 updates alone with 3, 1, 2 and 5 workers, then none; else others."""
    random, made = rng(seed, "06.6"), []
    settings = [*zip(WORLDS, (4, 2, 3, 1), strict=True), (3, 0)]
    if seed:
        sizes = (*WORLDS, int(random.integers(6, 10)))
        settings = [(workers, int(random.integers(2, 7))) for workers in sizes] + [(4, 0)]
    for workers, alone in settings:
        length = 2 * workers + 4 + (int(random.integers(8, 13)) if seed else 0)
        after = arrivals(random, workers, length, set())
        order = [0] * alone + [*range(workers - 1, -1, -1), *after]
        name = named(workers, f" and a warmup of {updates(alone)}")
        extra, drive = (alone,), cure_turns
        made.append(case(name, drive, random, order, workers, extra, reference, KNOWN))
    return made


def reference(rule: Rule, updates: int) -> Rule:
    """The course's own."""
    from helpers.algorithms.stale_cures import Warmup

    return Warmup(rule, updates)


class WarmsUp(Cure):
    """A warmup as it should be; what is wrong is in the others."""

    def __init__(self, rule: Rule, updates: int) -> None:
        super().__init__(rule)
        self.updates = updates

    @property
    def alone(self) -> bool:
        """Whether the warmup still goes on."""
        return self.version < self.updates

    def start(self) -> tuple[int, ...]:
        """One worker, until the warmup is over."""
        return self.rule.start()[:1] if self.alone else self.rule.start()

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """The rule inside decides, but for the last one of the warmup."""
        before = self.alone
        decision = self.rule.arrive(worker, gradient, version)
        if before and not self.alone:
            return self.over(decision)
        return decision

    def over(self, decision: Decision) -> Decision:
        """The warmup is over now."""
        return Decision(self.rule.start(), decision.applied, decision.dropped)


class NobodyElse(WarmsUp):
    """The others are never told that they may begin."""

    def over(self, decision: Decision) -> Decision:
        """As inside."""
        return decision


class NotItself(WarmsUp):
    """Releases the others, and not the one that trained alone."""

    def over(self, decision: Decision) -> Decision:
        """The others alone."""
        others = tuple(w for w in self.rule.start() if w not in decision.release)
        return Decision(others, decision.applied, decision.dropped)


class NextOnly(WarmsUp):
    """Releases one more worker."""

    def over(self, decision: Decision) -> Decision:
        """Two of them."""
        return Decision(self.rule.start()[:2], decision.applied, decision.dropped)


class AllStart(WarmsUp):
    """Everybody starts at once."""

    def start(self) -> tuple[int, ...]:
        """As the rule inside."""
        return self.rule.start()

    def over(self, decision: Decision) -> Decision:
        """As inside."""
        return decision


class AlwaysOne(WarmsUp):
    """Starts one worker, whatever is left of the warmup."""

    def start(self) -> tuple[int, ...]:
        """The first."""
        return self.rule.start()[:1]


class OneLonger(WarmsUp):
    """≤ instead of <."""

    @property
    def alone(self) -> bool:
        """One update too long."""
        return self.version <= self.updates


class OneShorter(WarmsUp):
    """Looks before the update instead of after it."""

    @property
    def alone(self) -> bool:
        """One update too short."""
        return self.version + 1 < self.updates


class EveryTime(WarmsUp):
    """Releases everybody in every update."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Release all, whatever the version."""
        decision = self.rule.arrive(worker, gradient, version)
        return self.over(decision)


KNOWN = {
    "the others never begin": NobodyElse,
    "the lone worker stops": NotItself,
    "only one more begins": NextOnly,
    "everybody starts at once": AllStart,
    "one worker alone for ever": AlwaysOne,
    "one update too long": OneLonger,
    "one update too short": OneShorter,
    "everybody at every update": EveryTime,
}


def claim(case: Case, seen: Observation) -> str | None:
    """One worker until the warmup is over, then everybody."""
    return fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    alone = cases[0].args[0][2][0]
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {count(alone, 'gradient')} came from "
        "worker 0 alone, none of them late; then everybody was let go on at once."
    )


EXERCISE = Exercise(
    number="06.6",
    title="Warmup with one replica",
    stars=2,
    minutes=15,
    points=3,
    function="Warmup",
    asks=(
        "`start` gives the first worker alone until `updates` updates are made, then all; the "
        "`arrive` that completes the warmup releases everybody that starts."
    ),
    cases=cases,
    drive=cure_turns,
    claim=claim,
    mistakes=(
        like(
            "the others never begin",
            "the warmup is over at turn {turn} and you release {released}: the others still wait "
            "for their start, and nobody will call them again. Release {right}.",
        ),
        like(
            "the lone worker stops",
            "the warmup is over at turn {turn} and you release {released}: worker 0 has given its "
            "gradient and waits too. Release {right}.",
        ),
        like(
            "only one more begins",
            "the warmup is over at turn {turn} and you release {released}: all start now, not one "
            "after the other. Release {right}.",
        ),
        like(
            "everybody starts at once",
            "nobody is alone: `start` lets everybody begin, so that gradients are late from the "
            "first updates on. While the warmup goes on it gives the first worker only.",
        ),
        like(
            "one worker alone for ever",
            "`start` gives one worker though no update of the warmup is left: a warmup of 0 "
            "updates is over at once, and so it is after a restart.",
        ),
        like(
            "one update too long",
            "{made} are made at turn {turn} and worker 0 is still alone: the warmup is over as "
            "soon as `updates` updates are made (<, not ≤).",
        ),
        like(
            "one update too short",
            "you release {released} at turn {turn}, one update before the warmup is over: look "
            "at the version after the update.",
        ),
        like(
            "everybody at every update",
            "you release {released} at turn {turn}: it was worker {worker} that came, and only the "
            "update that completes the warmup releases others too.",
        ),
        holds_up(
            "you release {released} at turn {turn}; release {right}, or somebody waits for ever."
        ),
        NO_TUPLE,
        STUCK,
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("nobody else", NobodyElse, "nobody will call them"),
        WrongAnswer("not itself", NotItself, "worker 0 has given"),
        WrongAnswer("one more", NextOnly, "one after the other"),
        WrongAnswer("all start", AllStart, "nobody is alone"),
        WrongAnswer("always one", AlwaysOne, "no update of the warmup is left"),
        WrongAnswer("≤", OneLonger, "(<, not ≤)"),
        WrongAnswer("one too short", OneShorter, "one update before"),
        WrongAnswer("every time", EveryTime, "completes the warmup releases"),
    ),
    ranked=False,
)
