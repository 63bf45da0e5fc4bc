"""Exercise NN.3, every other gradient: a rule around another rule.

`class EveryOther(Cure)` with `arrive`: of the gradients that come, the first is handed on, the
second discarded, and so on. The claim: weights and decisions in every turn, around a rule that
applies what it is handed and around one that applies half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from helpers.checks.common import WORLDS
from helpers.checks.compare import agree, count, describe
from helpers.checks.drives.rules import cure_turns
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.engine.servers.cure import Cure
from helpers.engine.servers.rule import Decision, Rule


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers, and 2 around a rule of another kind; else other orders."""
    random, made = rng(seed, "NN.3"), []
    for workers, around in [*((n, "") for n in WORLDS), (2, "halves")]:
        order = [int(w) for w in random.integers(0, workers, 8)]
        args = ((np.round(random.standard_normal((workers, 3)), 2), 0.2, (), order),)
        words = ", around a rule that takes half of a gradient" if around else ""
        case = Case(f"With {count(workers, 'worker')}{words}", args, options={around: True})
        facts = {"turns": cure_turns(reference, case).values[0]}
        made.append(Case(case.name, args, options=case.options, facts=facts))
    return made


def first_difference(case: Case, seen: Observation) -> tuple[int, Any, Any]:
    """The first turn that is not as wanted, from 1, with both; 0 where there is none."""
    for turn, (got, want) in enumerate(zip_longest(seen.values[0], case.facts["turns"]), 1):
        if not agree(got, want):
            return turn, got, want
    return 0, None, None


def claim(case: Case, seen: Observation) -> str | None:
    """Every turn as wanted: the weights, who is released, what is applied and what dropped."""
    turn, got, want = first_difference(case, seen)
    if not turn:
        return None
    for part, words in (("dropped", "what is dropped"), ("weights", "the weights")):
        if not agree(got[part], want[part]):
            return (
                f"at turn {turn}, {words}: {describe(got[part])}; it should be "
                f"{describe(want[part])}."
            )
    return f"your decision at turn {turn} is not the one that was asked for."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first turn that differs."""
    turn, _, want = first_difference(case, seen)
    return {"turn": turn, "worker": want["worker"]}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    dropped = sum(len(turn["dropped"]) for turn in seen[0].values[0])
    return f"Passed with 1, 2, 3 and 5 workers: of 8 gradients {dropped} are dropped."


class EveryOther(Cure):
    """The course's own."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.arrived = 0

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Hand on the first, discard the second, and so on."""
        self.arrived += 1
        if self.arrived % 2 == 0:
            return self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


reference = EveryOther

WRONG = """
drops the first
    | % 2 == 0 => % 2 == 1
    turn {turn} is the wrong one to drop: the first gradient is handed on, and the second
    discarded.
drops by worker
    | self.arrived % 2 == 0 => worker % 2 == 1
    at turn {turn} you go by the number of the worker, {worker}: count the gradients that have
    come, whoever they are from.
doubles the others
    | self.rule.arrive(worker, gradient => self.rule.arrive(worker, 2 * gradient
    the gradient at turn {turn} counts twice: hand it on as it came.
"""

EXERCISE = Exercise(
    number="NN.3",
    title="Every other gradient",
    size=Size(stars=2, minutes=10, points=2),
    function="EveryOther",
    asks="of the gradients that come, the first is handed on, the second discarded, and so on.",
    cases=cases,
    drive=cure_turns,
    claim=claim,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("NN.3", WRONG, reference),
    ranked=False,
)
