"""Exercise 05.6, Adagrad on the server: a learning rate for each weight.

`class Adagrad`, made with `(rate, start)`, of which `step(weights, gradient, version)` is asked:
s ← s + g², then w − rate · g / √s, as a new array; every s begins at `start`. Source: Dean et
al. (2012), section 4.1; Duchi et al. (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array, short
from helpers.exercises.drives_servers import optimizer_steps
from helpers.exercises.lesson_05.recognise import as_known, instead, same, seen_of
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
        known = seen_of(optimizer_steps, {"right": reference, **KNOWN}, case)
        made.append(Case(name, case.args, facts={"known": known, "numbers": {}}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The weights after each update, and the old ones as they were."""
    want = case.facts["known"]["right"][1][0]
    for update, (got, right) in enumerate(zip(seen.values[0], want, strict=False)):
        when = f"{case.name}, at update {update + 1}"
        if not is_array(got["weights"], right["weights"].shape):
            return f"{when}, `step` gave {describe(got['weights'])}; new weights were asked for."
        if not same(got["weights"], right["weights"]):
            return (
                f"{when}, the new weights are not as asked: "
                f"{instead(got['weights'], right['weights'])}."
            )
        if got["changed"]:
            return f"{when}, the old weights changed."
    if len(seen.values[0]) != len(want):
        return f"{case.name}, only {len(seen.values[0])} of {len(want)} updates were made."
    return None


def _in_place(case: Case, seen: Observation) -> str | None:
    if not any(update["changed"] for update in seen.values[0]):
        return None
    return (
        f"{case.name}, the old weights were changed in place: a worker may still be computing on "
        "them. Return new ones, `weights - …`."
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
                "against a division by 0. Here every s begins at `start` and is never 0: leave it "
                "out."
            )
    return None


def _returned_nothing(case: Case, seen: Observation) -> str | None:
    if seen.values[0][0]["weights"] is not None:
        return None
    return f"{case.name}, `step` returned None: it returns the new weights."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        "Passed: weights whose gradients differ a hundredfold take steps of one size, which "
        "shrink as the squares add up."
    )


def reference(rate: float, start: float) -> Any:
    """The course's own."""
    from helpers.algorithms.servers.server_optimizers import Adagrad

    return Adagrad(rate, start)


class Keeps:
    """What the answers below share."""

    def __init__(self, rate: float, start: float) -> None:
        self.rate, self.start = rate, start
        self.squares: Any = None

    def add(self, gradient: Any) -> Any:
        """The sums of squares with this gradient's."""
        before = self.start if self.squares is None else self.squares
        self.squares = before + gradient * gradient
        return self.squares


class NoRoot(Keeps):
    """Divides by the sum of squares itself."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        return weights - self.rate * gradient / self.add(gradient)


class OnlyThisGradient(Keeps):
    """Forgets the earlier gradients."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        self.squares = None
        return weights - self.rate * gradient / self.add(gradient) ** 0.5


class OneForAll(Keeps):
    """One sum over all weights."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        before = self.start if self.squares is None else self.squares
        self.squares = before + (gradient * gradient).sum()
        return weights - self.rate * gradient / self.squares**0.5


class AddsAfterwards(Keeps):
    """Divides by the sums from before this gradient."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        before = self.start if self.squares is None else self.squares
        self.add(gradient)
        return weights - self.rate * gradient / before**0.5


class NotSquared(Keeps):
    """Adds sizes and not squares."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        before = self.start if self.squares is None else self.squares
        self.squares = before + gradient.abs()
        return weights - self.rate * gradient / self.squares**0.5


class Raw(Keeps):
    """Adds the gradient itself, whose sum may be negative."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        before = self.start if self.squares is None else self.squares
        self.squares = before + gradient
        return weights - self.rate * gradient / self.squares**0.5


class Epsilon(Keeps):
    """Adds a little to the root."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        return weights - self.rate * gradient / (self.add(gradient) ** 0.5 + 1e-8)


class NoStart(Keeps):
    """Begins at nothing."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        if self.squares is None:
            self.squares = 0.0 * gradient
        return weights - self.rate * gradient / self.add(gradient) ** 0.5


class InPlace(Keeps):
    """Right, but the old weights are gone."""

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        weights -= self.rate * gradient / self.add(gradient) ** 0.5
        return weights


KNOWN = {
    "no root": NoRoot,
    "only this gradient": OnlyThisGradient,
    "one for all": OneForAll,
    "adds afterwards": AddsAfterwards,
    "not squared": NotSquared,
    "no start": NoStart,
    "raw": Raw,
}

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
    mistakes=(
        Mistake("returns nothing", _returned_nothing),
        Mistake("in place", _in_place),
        Mistake("epsilon", _epsilon),
        Mistake(
            "without the square",
            as_known(
                "raw",
                "s grows by the gradient itself, which may be negative, and then there is no root "
                "(NaN): add gradient².",
            ),
        ),
        Mistake(
            "no root",
            as_known("no root", "the step was divided by s: divide by its square root."),
        ),
        Mistake(
            "only this gradient",
            as_known(
                "only this gradient",
                "s holds the square of the present gradient alone, and so the steps never shrink: "
                "keep s from update to update, and add to it.",
            ),
        ),
        Mistake(
            "one sum for all weights",
            as_known(
                "one for all",
                "all weights share one s: each weight has its own, so nothing is summed over the "
                "weights.",
            ),
        ),
        Mistake(
            "adds afterwards",
            as_known(
                "adds afterwards",
                "the step was divided by the root of the old s: add this gradient's square first.",
            ),
        ),
        Mistake(
            "not squared",
            as_known("not squared", "s grows by the size of the gradient: it grows by its square."),
        ),
        Mistake(
            "begins at 0",
            as_known(
                "no start",
                "s began at 0, and so the first step has the full rate for every weight, however "
                "small its gradient: begin at `start`.",
            ),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("no root", NoRoot, hint="divide by its square root"),
        WrongAnswer("only this gradient", OnlyThisGradient, hint="the steps never shrink"),
        WrongAnswer("one for all", OneForAll, hint="share one s"),
        WrongAnswer("adds afterwards", AddsAfterwards, hint="the root of the old s"),
        WrongAnswer("not squared", NotSquared, hint="it grows by its square"),
        WrongAnswer("no start", NoStart, hint="s began at 0"),
        WrongAnswer("in place", InPlace, hint="changed in place"),
        WrongAnswer("without the square", Raw, hint="the gradient itself"),
        WrongAnswer("epsilon", Epsilon, hint="as many libraries do"),
    ),
    ranked=False,
)
