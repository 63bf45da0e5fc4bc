"""Exercise 06.3, dropping gradients that are too late.

`class DropStale(Cure)` with `arrive`: what is more than `limit` updates late is never used, and its
worker goes on; all else is handed on to the rule inside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count
from helpers.exercises.drives_rules import handing_turns
from helpers.exercises.lesson_06 import drop_wrong as wrong
from helpers.exercises.lesson_06.handed import NO_PUSH, NOT_HANDED, OWN_DECISION
from helpers.exercises.lesson_06.turns import (
    NO_TUPLE,
    STUCK,
    around_pairs,
    case,
    fault,
    first_difference,
    holds_up,
    like,
    named,
)  # fmt: skip
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


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
                named(workers, f" and a limit of {limit}"), handing_turns, random, order, workers,
                (limit,), wrong.reference, wrong.KNOWN,
            )
        )  # fmt: skip
    return [*made, around_pairs(handing_turns, random, (9,), wrong.reference, wrong.KNOWN)]


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


def _no_return(case: Case, seen: Observation) -> str | None:
    number, got, want = first_difference(case, seen)
    if got is None or want is None or got.get("decision", "") is not None or not want["dropped"]:
        return None
    return (
        f"{case.name}, worker {want['worker']}’s gradient at turn {number} is to be dropped, and "
        "`arrive` returns None there: `self.discard(worker, version)` gives a decision, which is "
        "what you return."
    )


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
    drive=handing_turns,
    claim=claim,
    mistakes=(
        NO_PUSH,
        Mistake("no return", _no_return),
        like(
            "discards in vain",
            "worker {worker}’s gradient at turn {turn} is {late} late, you call `self.discard` "
            "and go on to apply it: `return self.discard(worker, version)`, or what it says is "
            "lost.",
        ),
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
        NOT_HANDED,
        OWN_DECISION,
        NO_TUPLE,
        STUCK,
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("keeps the worker", wrong.KeepsWorker, hint="drops and releases"),
        WrongAnswer("≥", wrong.DropsAtLimit, hint="exactly at the limit"),
        WrongAnswer("says nothing", wrong.SaysNothing, hint="vanishes"),
        WrongAnswer("drops fresh ones", wrong.DropsFresh, hint="wrong way round"),
        WrongAnswer("by version", wrong.ByVersion, hint="by the version"),
        WrongAnswer("applies anyway", wrong.AppliesAnyway, hint="moved all the same"),
        WrongAnswer("discards in vain", wrong.DiscardsInVain, hint="what it says is lost"),
        WrongAnswer(
            "discards, returns None", wrong.DiscardsAndSaysNothing, hint="returns None there"
        ),
        WrongAnswer("applies itself", wrong.AppliesItself, hint="never reaches the rule inside"),
        WrongAnswer("decides itself", wrong.DecidesItself, hint="then decide for yourself"),
        WrongAnswer("never drops", wrong.NeverDrops, hint="nothing is ever"),
    ),
    ranked=False,
    unseen={
        "inside": "whether a decision is the very one of the rule inside",
        "held": "how many tensors it keeps",
    },
)
