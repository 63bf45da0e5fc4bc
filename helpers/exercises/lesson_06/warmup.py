"""Exercise 06.6, warmup: one worker trains alone first, then the others start.

`class Warmup(Cure)` with `start` and `arrive`: until `updates` updates are made, the first worker
is alone; with the one that completes the warmup, everybody is released. Source: Géron (2017),
chapter 12.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count
from helpers.exercises.drives_rules import cure_turns
from helpers.exercises.lesson_06 import warmup_wrong as wrong
from helpers.exercises.lesson_06.handed import NO_PUSH
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
    """Seed 0: 4, 2, 3 and 1 updates alone with 3, 1, 2 and 5 workers, then none; else others.

    Where there is no warmup, the rule inside halves what it is handed. In the last case its first
    worker does not start.
    """
    random, made = rng(seed, "06.6"), []
    settings = [*zip(WORLDS, (4, 2, 3, 1), strict=True), (3, 0)]
    if seed:
        sizes = (*WORLDS, int(random.integers(6, 10)))
        settings = [(workers, int(random.integers(2, 7))) for workers in sizes] + [(4, 0)]
    answers = wrong.reference, wrong.KNOWN
    for workers, alone in settings:
        length = 2 * workers + 4 + (int(random.integers(8, 13)) if seed else 0)
        after = arrivals(random, workers, length, set())
        order = [0] * alone + [*range(workers - 1, -1, -1), *after]
        name = named(workers, f" and a warmup of {updates(alone)}")
        options = {} if alone else {"halves": True}
        made.append(case(name, cure_turns, random, order, workers, (alone,), *answers, options))
    workers, alone = (4, 2) if not seed else (int(random.integers(3, 7)), 3)
    words = f", all but worker 0 started by the rule inside, and a warmup of {updates(alone)}"
    name = named(workers, words)
    order = [1] * alone + [*range(workers - 1, 0, -1), *range(1, workers)]
    options = {"resumed": True}
    made.append(case(name, cure_turns, random, order, workers, (alone,), *answers, options))
    return made


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
        NO_PUSH,
        like(
            "asks before alone",
            "with turn {turn} the warmup is over and you release {released}, since `self.alone` "
            "still held when you asked, before the update. Ask before and after: where the answer "
            "changes, release {right}.",
        ),
        like(
            "asks before, and releases",
            "you release {released} at turn {turn}, while the warmup goes on: that `self.alone` "
            "held before the update is not enough, it has to be over after it.",
        ),
        like(
            "asks after alone",
            "you release {released} at turn {turn}, where the warmup is over already and only "
            "worker {worker} has come. `self.alone` is False ever after: it has to be True before "
            "this update and False after it.",
        ),
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
            "starts worker 0",
            "`start` gives worker 0, which the rule inside would not start: it waits since before "
            "a restart, and never comes. Take the first of `self.rule.start()`.",
        ),
        like(
            "releases all workers",
            "you release {released} at turn {turn}, and worker 0 is not of those that the rule "
            "inside starts. Release {right}, as `self.rule.start()` names them.",
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
        like(
            "never hands on",
            "the warmup is over at turn {turn}, and the gradient does not come to the rule inside, "
            "which halves it here: the weights are then {got} and not {want}. Afterwards that rule "
            "decides alone: `return self.rule.arrive(…)`.",
        ),
        holds_up(
            "you release {released} at turn {turn}; release {right}, or somebody waits for ever."
        ),
        NO_TUPLE,
        STUCK,
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("asks before alone", wrong.AsksBefore, hint="where the answer changes"),
        WrongAnswer("asks before, and releases", wrong.ReleasesBefore, hint="is not enough"),
        WrongAnswer("asks after alone", wrong.AsksAfter, hint="is False ever after"),
        WrongAnswer("one push", wrong.OnePush, hint="a comma makes it one"),
        WrongAnswer("nobody else", wrong.NobodyElse, hint="nobody will call them"),
        WrongAnswer("not itself", wrong.NotItself, hint="worker 0 has given"),
        WrongAnswer("one more", wrong.NextOnly, hint="one after the other"),
        WrongAnswer("all start", wrong.AllStart, hint="nobody is alone"),
        WrongAnswer("always worker 0", wrong.StartsZero, hint="and never comes"),
        WrongAnswer("releases all", wrong.ReleasesWorkers, hint="is not of those"),
        WrongAnswer("always one", wrong.AlwaysOne, hint="no update of the warmup is left"),
        WrongAnswer("≤", wrong.OneLonger, hint="(<, not ≤)"),
        WrongAnswer("one too short", wrong.OneShorter, hint="one update before"),
        WrongAnswer("every time", wrong.EveryTime, hint="completes the warmup releases"),
        WrongAnswer("never hands on", wrong.NeverHandsOn, hint="does not come to the rule inside"),
    ),
    ranked=False,
)
