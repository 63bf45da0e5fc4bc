"""DiLoCo's supervisor with one thing wrong (10.5), and what is said where it did not return."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from helpers.algorithms.servers.rule import Rule
from helpers.algorithms.servers.server_optimizers import Sgd
from helpers.algorithms.servers.update_rules import Averaging
from helpers.exercises.common import fails_with
from helpers.exercises.spec import Case, Mistake, Observation


def _not_made(case: Case, seen: Observation) -> str | None:
    if seen.kind != "AttributeError" or not seen.text.endswith(("'workers'", "'held'")):
        return None
    return (
        f"{case.name}, {seen.text}: Averaging's own `__init__` makes it. Call that first, "
        "`super().__init__(weights, workers)`."
    )


FAMILIES = (
    Mistake("Averaging is not made", _not_made, unfinished=True),
    *(
        Mistake(name, fails_with(piece, hint), unfinished=True)
        for name, piece, hint in (
            (
                "writes into weights",
                "were written into",
                "weights that workers had pulled were written into (`-=`, or a method with `_`), "
                "and somebody may hold them still. `step` gives new ones: `self.weights = …`.",
            ),
            (
                "no optimizer",
                "'NoneType' object has no attribute 'step'",
                "there is None in place of the optimizer: Averaging's `__init__` leaves "
                "`self.optimizer` so. Keep a copy of `outer` in it, behind that call.",
            ),
            (
                "hides a method",
                "' object is not callable",
                "one of your attributes has the name of a method, such as `start`, `pull` or "
                "`arrive`, and stands before it: give it another name.",
            ),
            (
                "reads the optimizer",
                "'AdamW' object has no attribute",
                "`outer` has no momentum that you could read. It may be any optimizer: call its "
                "`step(weights, gradient, version)`, and leave to it how that is made.",
            ),
        )
    ),
)


def _with(
    new: Callable[[Any, Any], Any] = lambda rule, mean: rule.ask(rule.weights - mean),
    keep: Callable[[Any], Any] = copy.copy,
    counts: tuple[int, int] = (0, 1),
) -> Any:
    """The reference with a part exchanged. new: the weights, of the rule and the mean. counts: how
    much the version goes up before the step, and after it."""

    class DiLoCo(Averaging):
        def __init__(self, weights: Any, workers: Any, outer: Any) -> None:
            super().__init__(weights, workers)
            self.outer, self.first = keep(outer), weights

        def ask(self, gradient: Any, weights: Any = None, version: int | None = None) -> Any:
            weights = self.weights if weights is None else weights
            version = self.version if version is None else version
            return self.outer.step(weights, gradient, version)

        def apply(self, gradient: Any) -> None:
            self.version += counts[0]
            self.weights = new(self, gradient)
            self.version += counts[1]

    return DiLoCo


takes_the_mean = _with(lambda rule, mean: mean)
takes_the_difference = _with(lambda rule, mean: rule.weights - mean)
never_kept = _with(lambda rule, mean: rule.weights)
returned = _with(lambda rule, mean: rule.weights, counts=(0, 0))
wrong_sign = _with(lambda rule, mean: rule.ask(mean - rule.weights))
mean_as_gradient = _with(lambda rule, mean: rule.ask(mean))
from_the_mean = _with(lambda rule, mean: rule.ask(rule.weights - mean, mean))
taken_off = _with(lambda rule, mean: rule.weights - rule.ask(rule.weights - mean))
sums = _with(lambda rule, mean: rule.ask((rule.weights - mean) * len(rule.workers)))
divides_again = _with(lambda rule, mean: rule.ask((rule.weights - mean) / len(rule.workers)))
since_the_start = _with(lambda rule, mean: rule.ask(rule.first - mean))
the_rate_alone = _with(lambda r, mean: r.weights + r.outer.rate * (mean - r.weights))
reads_it = _with(lambda r, mean: r.ask(r.weights - mean) if r.outer.momentum >= 0 else None)
always_0 = _with(lambda rule, mean: rule.ask(rule.weights - mean, version=0))
counts_before = _with(counts=(1, 0))
never_counts = _with(counts=(0, 0))
counts_twice = _with(counts=(0, 2))
shares = _with(keep=lambda outer: outer)
own_outer = _with(keep=lambda outer: Sgd(0.7, 0.9, nesterov=True))
begins_anew = _with(lambda r, mean: copy.copy(r.outer).step(r.weights, r.weights - mean, r.version))
written_into = _with(lambda rule, mean: rule.weights.copy_(rule.ask(rule.weights - mean)))
keeps_none = _with(keep=lambda outer: None)


class HidesStart(since_the_start):  # type: ignore[misc, valid-type]
    def __init__(self, weights: Any, workers: Any, outer: Any) -> None:
        super().__init__(weights, workers, outer)
        self.start = weights


class RuleAlone(Averaging):
    def __init__(self, weights: Any, workers: Any, outer: Any) -> None:
        Rule.__init__(self, weights, outer, workers)
