"""Exercise 05.6, Adagrad on the server: a learning rate for each weight.

s ← s + g², then w − rate · g / √s; every s begins at `start`. Sources: Dean et al. (2012), section
4.1; Duchi et al. (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.algorithms.servers.server_optimizers import Adagrad as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array, short
from helpers.exercises.drives_servers import optimizer_steps
from helpers.exercises.nine_digits import instead, near
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Five updates of four weights whose gradients differ in size by powers of ten."""
    random, made = rng(seed, "05.6"), []
    for start in (0.1, 1.0, 0.01):
        rate = 0.1 if seed == 0 else float(random.uniform(0.01, 1.0))
        weights = random.standard_normal(4)
        gradients = random.standard_normal((5, 4)) * [1.0, 10.0, 0.1, 1.0] + 0.5
        name = f"With rate {short(rate)} and start {short(start)}"
        case = Case(name, ((rate, start, weights, gradients),))
        want = optimizer_steps(reference, case).values[0]
        made.append(Case(name, case.args, facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The weights after each update, and the old ones as they were."""
    want = case.facts["want"]
    for update, (got, right) in enumerate(zip(seen.values[0], want, strict=False), 1):
        when = f"{case.name}, at update {update}"
        if not is_array(got["weights"], right["weights"].shape):
            return f"{when}, `step` gave {describe(got['weights'])}; new weights were asked for."
        if not near(got["weights"], right["weights"]):
            told = instead(got["weights"], right["weights"])
            return f"{when}, the new weights are not as asked: {told}."
        if got["changed"]:
            return f"{when}, the {got['changed']} that was given changed."
    if len(seen.values[0]) != len(want):
        return f"{case.name}, only {len(seen.values[0])} of {len(want)} updates were made."
    return None


def _in_place(case: Case, seen: Observation) -> str | None:
    changed = next((each["changed"] for each in seen.values[0] if each["changed"]), "")
    if not changed:
        return None
    return (
        f"{case.name}, the {changed} that you were given changed in place, and a worker "
        "may still need it: make new tensors, as `weights - …` does."
    )


def _epsilon(case: Case, seen: Observation) -> str | None:
    """Whether the first step's divisors, or their squares, are all too large by the same little."""
    rate, start, weights, gradients = case.args[0]
    divisors = rate * gradients[0] / (weights - seen.values[0][0]["weights"])
    squares = start + gradients[0] ** 2
    for more, where in ((divisors - squares**0.5, "√s"), (divisors**2 - squares, "s")):
        if more.min() > 0 and np.ptp(more) < 0.1 * more.min() and more.min() < 0.01:
            return (
                f"{case.name}, about {more.mean():.1g} is added to {where}, as many libraries do "
                "against a division by 0. Here s is never 0: leave it out."
            )
    return None


def _adagrad(
    new: Callable[..., Any] = lambda weights, step, sums, before: weights - step / sums**0.5,
    sums: Callable[..., Any] = lambda before, gradient, start: before + gradient**2,
    begins: Callable[[float], float] = lambda start: start,
    scaled: Callable[..., Any] = lambda gradient, rate: rate * gradient,
) -> type[Any]:
    """The reference with a part exchanged. begins: where every s does, of `start`."""

    class Adagrad:
        def __init__(self, rate: float, start: float) -> None:
            self.rate, self.start, self.sums = rate, start, begins(start)

        def step(self, weights: Any, gradient: Any, version: int) -> Any:
            before = self.sums
            self.sums = sums(before, gradient, self.start)
            return new(weights, scaled(gradient, self.rate), self.sums, before)

    return Adagrad


_no_root = _adagrad(lambda weights, step, sums, before: weights - step / sums)
_adds_afterwards = _adagrad(lambda weights, step, sums, before: weights - step / before**0.5)
_adds_epsilon = _adagrad(lambda weights, step, sums, before: weights - step / (sums**0.5 + 1e-8))
_written_into = _adagrad(lambda weights, step, sums, before: weights.sub_(step / sums**0.5))
_scales_in_place = _adagrad(scaled=lambda gradient, rate: gradient.mul_(rate))
_returns_nothing = _adagrad(lambda weights, step, sums, before: None)
_raw = _adagrad(sums=lambda before, gradient, start: before + gradient)
_not_squared = _adagrad(sums=lambda before, gradient, start: before + gradient.abs())
_only_this_gradient = _adagrad(sums=lambda before, gradient, start: start + gradient**2)
_one_for_all = _adagrad(sums=lambda before, gradient, start: before + (gradient**2).sum())
_no_start = _adagrad(begins=lambda start: 0.0)
_start_squared = _adagrad(begins=lambda start: start**2)
_uphill = _adagrad(lambda weights, step, sums, before: weights + step / sums**0.5)


EXERCISE = Exercise(
    number="05.6",
    title="Adagrad on the server",
    stars=1,
    minutes=10,
    points=2,
    function="Adagrad",
    asks=(
        "for each weight its own sum of squares, s ← s + g², begun at `start`; return "
        "w − rate · g / √s as new weights."
    ),
    cases=cases,
    drive=optimizer_steps,
    claim=claim,
    mistakes=(Mistake("in place", _in_place), Mistake("epsilon", _epsilon)),
    praise=(
        "Passed: weights whose gradients differ a hundredfold take steps of one size, which "
        "shrink as the squares add up."
    ),
    reference=reference,
    wrong=(
        WrongAnswer("in place", _written_into, hint="the weights that you were given"),
        WrongAnswer("scales in place", _scales_in_place, hint="the gradient that you were given"),
        WrongAnswer("adds an epsilon", _adds_epsilon, hint="as many libraries do"),
        WrongAnswer("no return", _returns_nothing, "`step` returned None, and no new weights."),
        WrongAnswer("raw", _raw, "s may be negative and has no root (NaN) then: add gradient²."),
        WrongAnswer("no root", _no_root, "the step was divided by s: divide by its square root."),
        WrongAnswer(
            "only this gradient",
            _only_this_gradient,
            "s holds the square of the present gradient alone, and so the steps never shrink: "
            "keep s from update to update, and add to it.",
        ),
        WrongAnswer("one sum", _one_for_all, "all weights share one s: each weight has its own."),
        WrongAnswer(
            "adds afterwards",
            _adds_afterwards,
            "the step was divided by the root of the old s: add this gradient's square first.",
        ),
        WrongAnswer("start squared", _start_squared, "s began at start²: begin at `start` itself."),
        WrongAnswer("uphill", _uphill, "the weights go up the gradient: the step is subtracted."),
        WrongAnswer("not squared", _not_squared, "s grows by |g|: it grows by its square."),
        WrongAnswer(
            "begins at 0",
            _no_start,
            "s began at 0, and so the first step has the full rate for every weight, however "
            "small its gradient: begin at `start`.",
        ),
    ),
    ranked=False,
)
