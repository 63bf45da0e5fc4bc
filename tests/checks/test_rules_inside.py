"""What stands inside and around a learner's cure in its check is what the library has; and the
library's rules are no answers to 06.1."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.checks import find
from helpers.checks.drives.rules import Heavier, PlainSgd, Soft
from helpers.checks.judging import judge_all
from helpers.checks.observe import observe
from helpers.engine.servers.rule import Decision, Rule
from helpers.lessons.parameter_servers.algorithms.update_rules import BoundedStaleness, SoftSync


def driven(rule: Rule, order: list[int]) -> list[tuple[Decision, list[float]]]:
    """What a rule decides, and its weights, at each arrival of gradients of fixed size."""
    pulled = {worker: rule.pull(worker) for worker in rule.start()}
    found = []
    for number, worker in enumerate(order):
        weights, version = pulled[worker]
        gradient = weights - torch.arange(3.0, dtype=torch.float64) * (1 + number)
        decision = rule.arrive(worker, gradient, version)
        pulled |= {each: rule.pull(each) for each in decision.release}
        found.append((decision, rule.weights.tolist()))
    return found


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 0, 0, 1, 3], [2, 2, 2, 0, 1, 1, 3, 0, 2]])
def test_the_softsync_that_cures_are_tried_around_is_the_librarys(order: list[int]) -> None:
    start = torch.zeros(3, dtype=torch.float64)
    given = driven(Soft(start, PlainSgd(0.25 / 4), 4), order)
    library = driven(SoftSync(start, PlainSgd(0.25), 4, splits=2), order)
    assert [decision for decision, _ in given] == [decision for decision, _ in library]
    for (_, mine), (_, theirs) in zip(given, library, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-12)


def test_the_cure_around_a_cure_keeps_the_very_tensor_that_it_hands_on() -> None:
    start = torch.zeros(3, dtype=torch.float64)
    cure = Heavier(SoftSync(start, PlainSgd(0.25), 2, splits=2))
    first, second = torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    cure.arrive(0, first, 0)
    assert cure.last is first
    cure.arrive(1, second, 0)
    assert cure.last is not None and cure.last.tolist() == [1.5] * 3


class FromSoftSync(SoftSync):
    """Lesson 05's rule under another name."""

    def __init__(self, weights: Any, optimizer: Any, workers: int) -> None:
        super().__init__(weights, optimizer, workers, splits=workers)


@pytest.mark.parametrize(
    ("answer", "whose"),
    [
        (FromSoftSync, "SoftSync"),
        (lambda weights, sgd, n: SoftSync(weights, sgd, n, splits=n), "SoftSync"),
        (lambda weights, sgd, n: BoundedStaleness(weights, sgd, n, 10**9), "BoundedStaleness"),
    ],
)
def test_a_rule_of_the_courses_that_does_the_same_is_no_answer(answer: Any, whose: str) -> None:
    exercise = find("06.1")
    cases = exercise.cases(0)
    verdict = judge_all(exercise, cases, observe(exercise.drive, answer, cases))
    assert verdict.status == "wrong" and f"it is the `arrive` of `{whose}`" in verdict.hint
