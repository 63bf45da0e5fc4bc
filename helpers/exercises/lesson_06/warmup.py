"""Exercise 06.6, warmup: one worker trains alone first, then the others start.

`class Warmup(Cure)` with `start` and `arrive`: until `updates` updates are made, the first worker
is alone; with the one that completes the warmup, everybody is released. Source: Géron (2017),
chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Rule
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count
from helpers.exercises.drives_rules import cure_turns
from helpers.exercises.lesson_06 import turns
from helpers.exercises.lesson_06.turns import no_comma, one_push
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 4, 2, 3 and 1 updates alone with 3, 1, 2 and 5 workers, then none; else others.

    Where there is no warmup, the rule inside halves what it is handed. In the last case its first
    worker does not start.
    """
    random, made = rng(seed, "06.6"), []
    settings = [*zip(WORLDS, (4, 2, 3, 1), strict=True), (3, 0)]
    if seed:
        sizes = (*WORLDS, int(random.integers(6, 10)))
        settings = [(workers, int(random.integers(2, 7))) for workers in sizes] + [(4, 0)]
    for workers, alone in settings:
        length = 2 * workers + 4 + (int(random.integers(8, 13)) if seed else 0)
        after = turns.arrivals(random, workers, length, set())
        order = [0] * alone + [*range(workers - 1, -1, -1), *after]
        name = turns.named(workers, f" and a warmup of {turns.updates(alone)}")
        options = {} if alone else {"halves": True}
        made.append(
            turns.case(name, cure_turns, random, order, workers, (alone,), reference, options)
        )
    workers, alone = (4, 2) if not seed else (int(random.integers(3, 7)), 3)
    words = f", all but worker 0 started by the rule inside, and a warmup of {turns.updates(alone)}"
    name = turns.named(workers, words)
    order = [1] * alone + [*range(workers - 1, 0, -1), *range(1, workers)]
    options = {"resumed": True}
    made.append(turns.case(name, cure_turns, random, order, workers, (alone,), reference, options))
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


def reference(rule: Rule, updates: int) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.stale_cures import Warmup

    return Warmup(rule, updates)


def _warming(
    alone: Callable[[int, int], bool] = lambda version, updates: version < updates,
    start: Callable[..., Any] = lambda inside, alone: inside[:1] if alone else inside,
    is_over: Callable[[bool, bool], bool] = lambda before, after: before and not after,
    released: Callable[..., Any] = lambda cure, decision: cure.rule.start(),
) -> type[Cure]:
    """The cure with another part: how long one is alone, who of those inside starts, whether the
    update ended it (by `alone` before and after it), and who goes on then."""

    class Warming(Cure):
        def __init__(self, rule: Rule, updates: int) -> None:
            super().__init__(rule)
            self.updates = updates

        def start(self) -> Any:
            return start(self.rule.start(), alone(self.version, self.updates))

        def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
            before = alone(self.version, self.updates)
            decision = self.rule.arrive(worker, gradient, version)
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


class _NeverHandsOn(_warming()):  # type: ignore[misc]
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        before, push = self.version < self.updates, self.push(worker, version)
        self.apply(gradient)
        over = before and self.version >= self.updates
        return Decision(self.rule.start() if over else (worker,), (push,))


def _spoiled(spoil: Callable[[Any], Rule]) -> Callable[..., Rule]:
    return lambda rule, updates: spoil(reference(rule, updates))


_one_push = _spoiled(one_push)
_no_comma = _spoiled(no_comma)


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
    mistakes=turns.KINDS,
    numbers=turns.numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "asks before alone",
            _asks_before,
            "with turn {turn} the warmup is over and you release {released}, since `self.alone` "
            "still held when you asked, before the update. Ask before and after: where the answer "
            "changes, release {right}.",
        ),
        WrongAnswer(
            "asks before, and releases",
            _releases_before,
            "you release {released} at turn {turn}, while the warmup goes on: that `self.alone` "
            "held before the update is not enough, it has to be over after it.",
        ),
        WrongAnswer(
            "asks after alone",
            _asks_after,
            "you release {released} at turn {turn}, where the warmup is over already and only "
            "worker {worker} has come. `self.alone` is False ever after: it has to be True before "
            "this update and False after it.",
        ),
        WrongAnswer(
            "the others never begin",
            _nobody_else,
            "the warmup is over at turn {turn} and you release {released}: the others still wait "
            "for their start, and nobody will call them again. Release {right}.",
        ),
        WrongAnswer(
            "the lone worker stops",
            _not_itself,
            "the warmup is over at turn {turn} and you release {released}: worker 0 has given its "
            "gradient and waits too. Release {right}.",
        ),
        WrongAnswer(
            "only one more begins",
            _next_only,
            "the warmup is over at turn {turn} and you release {released}: all start now, not one "
            "after the other. Release {right}.",
        ),
        WrongAnswer(
            "everybody starts at once",
            _all_start,
            "nobody is alone: `start` lets everybody begin, so that gradients are late from the "
            "first updates on. While the warmup goes on it gives the first worker only.",
        ),
        WrongAnswer(
            "starts worker 0",
            _starts_zero,
            "`start` gives worker 0, which the rule inside would not start: it waits since before "
            "a restart, and never comes. Take the first of `self.rule.start()`.",
        ),
        WrongAnswer(
            "releases all workers",
            _all_workers,
            "you release {released} at turn {turn}, and worker 0 is not of those that the rule "
            "inside starts. Release {right}, as `self.rule.start()` names them.",
        ),
        WrongAnswer(
            "one worker alone for ever",
            _always_one,
            "`start` gives one worker though no update of the warmup is left: a warmup of 0 "
            "updates is over at once, and so it is after a restart.",
        ),
        WrongAnswer(
            "one update too long",
            _one_longer,
            "{made} are made at turn {turn} and worker 0 is still alone: the warmup is over as "
            "soon as `updates` updates are made (<, not ≤).",
        ),
        WrongAnswer(
            "one update too short",
            _one_shorter,
            "you release {released} at turn {turn}, one update before the warmup is over: look at "
            "the version after the update.",
        ),
        WrongAnswer(
            "everybody at every update",
            _every_time,
            "you release {released} at turn {turn}: it was worker {worker} that came, and only "
            "the update that completes the warmup releases others too.",
        ),
        WrongAnswer(
            "never hands on",
            _NeverHandsOn,
            "the warmup is over at turn {turn}, and the gradient does not come to the rule "
            "inside, which halves it here: the weights are then {got} and not {want}. Afterwards "
            "that rule decides alone: `return self.rule.arrive(…)`.",
        ),
        WrongAnswer("one push", _one_push, hint="a comma makes it one"),
        WrongAnswer("no comma", _no_comma, hint="are tuples"),
    ),
    ranked=False,
)
