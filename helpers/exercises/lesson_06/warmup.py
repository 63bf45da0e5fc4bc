"""Exercise 06.6, warmup: one worker trains alone first, then the others start.

`class Warmup(Cure)` with `start` and `arrive`: until `updates` updates are made, the first worker
is alone and each of its gradients makes an update, whatever the rule inside would do; with the one
that completes the warmup, everybody is released. Source: Géron (2017), chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Rule
from helpers.algorithms.servers.stale_cures import Warmup as reference
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count
from helpers.exercises.drives_rules import cure_turns
from helpers.exercises.lesson_06 import cures, turns
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 4, 2, 3 and 1 updates alone with 3, 1, 2 and 5 workers; else others.

    Then around others: a rule that halves what it is handed, without a warmup; one that does not
    start its first worker; the same two that keep gradients as elsewhere; inside another cure.
    """
    random, made = rng(seed, "06.6"), []

    def add(workers: int, alone: int, order: list[int], words: str = "", option: str = "") -> None:
        name = turns.named(workers, f"{words} and a warmup of {turns.updates(alone)}")
        given = (name, cure_turns, random, order, workers, (alone,), reference)
        made.append(turns.case(*given, {option: True} if option else {}))

    settings = [*zip(WORLDS, (4, 2, 3, 1), strict=True), (3, 0)]
    if seed:
        sizes = (*WORLDS, int(random.integers(6, 10)))
        settings = [(workers, int(random.integers(2, 7))) for workers in sizes] + [(4, 0)]
    for workers, alone in settings:
        length = 2 * workers + 4 + (int(random.integers(8, 13)) if seed else 0)
        after = turns.arrivals(random, workers, length, set())
        order = [0] * alone + [*range(workers - 1, -1, -1), *after]
        add(workers, alone, order, option="" if alone else "halves")
    workers, alone = (4, 2) if not seed else (int(random.integers(3, 7)), 3)
    order = [1] * alone + [*range(workers - 1, 0, -1), *range(1, workers)]
    add(workers, alone, order, ", all but worker 0 started by the rule inside,", "resumed")
    for option in ("pairs", "soft", "heavier"):
        after = [int(w) for _ in range(4) for w in random.permutation(3)[:2]]
        add(3, 2, [0, 0, *after], f"{cures.OTHERS[option]},", option)
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """One worker until the warmup is over, then everybody."""
    return turns.fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    alone = cases[0].args[0][2][0]
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {count(alone, 'gradient')} came from "
        "worker 0 alone, none of them late; then everybody was let go on at once."
    )


def _warming(
    alone: Callable[[int, int], bool] = lambda version, updates: version < updates,
    start: Callable[..., Any] = lambda inside, alone: inside[:1] if alone else inside,
    is_over: Callable[[bool, bool], bool] = lambda before, after: before and not after,
    released: Callable[..., Any] = lambda cure, decision: cure.rule.start(),
    handed: Callable[..., bool] = lambda cure, alone: not alone,
    itself: int = 0,
) -> type[Cure]:
    """The cure with another part: how long one is alone, who of those inside starts, whether the
    update ended it (by `alone` before and after it), who goes on then, what is handed on, and by
    how many updates a push is named too late."""

    class Warming(Cure):
        def __init__(self, rule: Rule, updates: int) -> None:
            super().__init__(rule)
            self.updates = updates

        def start(self) -> Any:
            return start(self.rule.start(), alone(self.version, self.updates))

        def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
            before = alone(self.version, self.updates)
            if handed(self, before):
                decision = self.rule.arrive(worker, gradient, version)
            else:
                push = self.push(worker, version)
                push = push._replace(staleness=push.staleness + itself)
                self.apply(gradient)
                decision = Decision((worker,), (push,))
            if is_over(before, alone(self.version, self.updates)):
                return replace(decision, release=released(self, decision))
            return decision

    return Warming


_asks_before = _warming(is_over=lambda before, after: not before)
_releases_before = _warming(is_over=lambda before, after: before)
_asks_after = _warming(is_over=lambda before, after: not after)
_nobody_else = _warming(released=lambda cure, decision: decision.release)
_not_itself = _warming(
    released=lambda cure, decision: tuple(sorted(set(cure.rule.start()) - set(decision.release)))
)
_twice = _warming(released=lambda cure, decision: decision.release + cure.rule.start())
_next_only = _warming(released=lambda cure, decision: cure.rule.start()[:2])
_all_start = _warming(
    start=lambda inside, alone: inside, released=lambda cure, decision: decision.release
)
_starts_zero = _warming(start=lambda inside, alone: (0,) if alone else inside)
_all_workers = _warming(released=lambda cure, decision: tuple(sorted(cure.workers)))
_always_one = _warming(start=lambda inside, alone: inside[:1])
_one_longer = _warming(alone=lambda version, updates: version <= updates)
_one_shorter = _warming(alone=lambda version, updates: version + 1 < updates)
_every_time = _warming(is_over=lambda before, after: True)
_counts_itself = _warming(itself=1)
_hands_on_alone = _warming(handed=lambda cure, alone: True)


class _AsksForEqual(_warming(is_over=lambda before, after: False)):  # type: ignore[misc]
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        decision = super().arrive(worker, gradient, version)
        if self.version == self.updates:
            return replace(decision, release=self.rule.start())
        return decision


_itself, _anyway, _fresh, _bare, _number, _instead = cures.spoiled(reference, __name__)

_ALL_WAIT = (
    "the warmup is over at turn {turn} and you release {released}: all who start wait for it, the "
    "lone worker too, and nobody will call them again. Release {right}."
)
_ANOTHER_UPDATE = (
    "you release {released} at turn {turn}, and it is not this gradient that completes the warmup: "
    "there `self.alone` is True before its update and False after it."
)

_SAYS = {
    "asks before alone": "with turn {turn} the warmup is over and you release {released}: "
    "`self.alone` still held when you asked, before the update. Where it changes with the update, "
    "release {right}.",
    "everybody starts at once": "nobody is alone: `start` lets everybody begin, so that gradients "
    "are late from the first updates on. While the warmup goes on it gives the first worker only.",
    "starts worker 0": "`start` gives worker 0, which the rule inside would not start: it waits "
    "since before a restart, and never comes. Take the first of `self.rule.start()`.",
    "releases all workers": "you release {released} at turn {turn}, and worker 0 is not of those "
    "that the rule inside starts. Release {right}, as `self.rule.start()` names them.",
    "one worker alone for ever": "`start` gives one worker though no update of the warmup is left: "
    "a warmup of 0 updates is over at once, and so it is after a restart.",
    "one update too long": "{made} are made at turn {turn} and worker 0 is still alone: the warmup "
    "is over as soon as `updates` updates are made (<, not ≤).",
    "counts its own update": "worker {worker}’s gradient at turn {turn} is {late} late, and your "
    "decision counts its own update too: `self.push(worker, version)` comes before `self.apply`.",
    "hands on while alone": "the rule inside keeps worker 0’s gradient at turn {turn} until "
    "another comes, and nobody else has begun. While `self.alone` holds, make the update: "
    "`self.apply(gradient)`.",
}
EXERCISE = Exercise(
    number="06.6",
    title="Warmup with one replica",
    stars=2,
    minutes=15,
    points=3,
    function="Warmup",
    asks=(
        "`start` gives the first worker alone until `updates` updates are made, then all; alone, "
        "each of its gradients makes an update, and the one that completes the warmup releases "
        "everybody that starts."
    ),
    cases=cases,
    drive=cure_turns,
    claim=claim,
    mistakes=turns.KINDS,
    numbers=turns.numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("asks before alone", _asks_before, _SAYS["asks before alone"]),
        WrongAnswer("the others never begin", _nobody_else, _ALL_WAIT),
        WrongAnswer("the lone worker stops", _not_itself, _ALL_WAIT),
        WrongAnswer("only one more begins", _next_only, _ALL_WAIT),
        WrongAnswer("names the lone worker twice", _twice, _ALL_WAIT),
        WrongAnswer("asks before, and releases", _releases_before, _ANOTHER_UPDATE),
        WrongAnswer("asks after alone", _asks_after, _ANOTHER_UPDATE),
        WrongAnswer("asks for equality", _AsksForEqual, _ANOTHER_UPDATE),
        WrongAnswer("everybody at every update", _every_time, _ANOTHER_UPDATE),
        WrongAnswer("one update too short", _one_shorter, _ANOTHER_UPDATE),
        WrongAnswer("everybody starts at once", _all_start, _SAYS["everybody starts at once"]),
        WrongAnswer("starts worker 0", _starts_zero, _SAYS["starts worker 0"]),
        WrongAnswer("releases all workers", _all_workers, _SAYS["releases all workers"]),
        WrongAnswer("one worker alone for ever", _always_one, _SAYS["one worker alone for ever"]),
        WrongAnswer("one update too long", _one_longer, _SAYS["one update too long"]),
        WrongAnswer("counts its own update", _counts_itself, _SAYS["counts its own update"]),
        WrongAnswer("hands on while alone", _hands_on_alone, _SAYS["hands on while alone"]),
        WrongAnswer("never handed on", _itself, cures.NOT_HANDED),
        WrongAnswer("decides for itself", _anyway, cures.OWN_DECISION),
        WrongAnswer("called fresh", _fresh, cures.CALLED_FRESH),
        WrongAnswer("another rule inside", _instead, cures.IN_ITS_PLACE),
        WrongAnswer("one push", _bare, hint="a comma makes it one"),
        WrongAnswer("no comma", _number, hint="are tuples"),
    ),
    ranked=False,
)
