"""Exercise 05.6, Adagrad on the server: a learning rate for each weight.

s ← s + g², then w − rate · g / √s; every s begins at `start`. Sources: Dean et al. (2012), section
4.1; Duchi et al. (2011).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import close, describe, is_array, short
from helpers.checks.drives.calling import Function, driver
from helpers.checks.drives.values import plain
from helpers.checks.nine_digits import instead
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Adagrad as reference


@driver(2)
def optimizer_steps(
    fn: Function, rate: float, start: float, weights: Tensor, gradients: Tensor, first: int
) -> list[Any]:
    """Drive `fn(rate, start)`, a server's optimizer: its updates.

    gradients: (updates, weights). first: the weights' version before the first of them. An
    update is `{"weights", "changed"}`: what `step` gave, and which tensor that it was given it
    changed in place, "weights", "gradient" or "".
    """
    updates: list[Any] = []
    optimizer = fn(rate, start)
    for version, gradient in enumerate(gradients, first):
        before, own = plain(weights), gradient.clone()
        made = optimizer.step(weights, own, version)
        changed = "gradient" * (not torch.equal(own, gradient))
        if not np.array_equal(plain(weights), before, equal_nan=True):
            changed = "weights"
        updates.append({"weights": plain(made), "changed": changed})
        if not isinstance(made, Tensor) or made.shape != before.shape:
            break
        weights = made
    return updates


def cases(seed: int) -> list[Case]:
    """Five updates of four weights whose gradients differ in size by powers of ten; one is 0.

    The last two go on from version 3, as after a restart; the last one is in float32.
    """
    random, made = rng(seed, "05.6"), []
    for start, first in ((0.1, 0), (1.0, 3), (0.01, 3)):
        rate = 0.2 if seed == 0 else float(random.uniform(0.01, 1.0))
        weights = random.standard_normal(4)
        gradients = random.standard_normal((5, 4)) * [1.0, 10.0, 0.1, 1.0] + 0.5
        gradients[3, 0] = 0.0  # as those of a pixel that is black in all rows
        name = f"With rate {short(rate)} and start {short(start)}"
        if first:
            name += f" from version {first} on"
        if start == 0.01:
            weights, gradients = weights.astype(np.float32), gradients.astype(np.float32)
            name += " in float32"
        case = Case(name, ((rate, start, weights, gradients, first),))
        made.append(replace(case, facts={"want": optimizer_steps(reference, case).values[0]}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """The weights after each update, and the old ones as they were."""
    want = case.facts["want"]
    for update, (got, right) in enumerate(zip(seen.values[0], want, strict=False), 1):
        when = f"at update {update}"
        if not is_array(got["weights"], right["weights"].shape):
            yield f"{when}, `step` gave {describe(got['weights'])}; new weights were asked for."
        types = got["weights"].dtype, right["weights"].dtype
        if not close(got["weights"], right["weights"], 1e-9 if types[1] == np.float64 else 1e-5):
            told = instead(got["weights"], right["weights"])
            yield f"{when}, the new weights are not as asked: {told}."
        if types[0] != types[1]:
            yield f"{when}, the new weights are {types[0]}; the old ones are {types[1]}."
    if len(seen.values[0]) != len(want):
        yield f"only {len(seen.values[0])} of {len(want)} updates were made."
    yield from _in_place(case, seen)


def _in_place(case: Case, seen: Observation) -> Iterator[str]:
    for each in seen.values[0]:
        if each["changed"]:
            yield (
                f"the {each['changed']} that you were given changed in place, and a worker may "
                "still need it: make new tensors, as `weights - …` does."
            )


def _epsilon(case: Case, seen: Observation) -> Iterator[str]:
    """Whether the first step's divisors, or their squares, are all too large by the same little."""
    rate, start, weights, gradients, _ = case.args[0]
    divisors = rate * gradients[0] / (weights - seen.values[0][0]["weights"])
    squares = start + gradients[0] ** 2
    for more, where in ((divisors - squares**0.5, "√s"), (divisors**2 - squares, "s")):
        if more.min() > 0 and np.ptp(more) < 0.1 * more.min() and more.min() < 0.01:
            yield (
                f"about {more.mean():.1g} is added to {where}, as many libraries do against a "
                "division by 0. Here s is above 0: leave it out."
            )


WRONG = """
in place
    | return weights - gradient / self._squares**0.5 * rate
        => return weights.sub_(gradient / self._squares**0.5 * rate)
    ? the weights that you were given
scales in place
    | gradient / self._squares**0.5 * rate => gradient.mul_(rate) / self._squares**0.5
    ? the gradient that you were given
adds an epsilon
    | self._squares**0.5 => (self._squares**0.5 + 1e-8)
    ? as many libraries do
no return
    | return weights => weights
    `step` returned None, and no new weights.
raw
    | gradient * gradient => gradient
    s may be negative and has no root (NaN) then: add gradient².
no root
    | self._squares**0.5 => self._squares
    the step was divided by s: divide by its square root.
only this gradient
    | + before => + self.start
    s holds the square of the present gradient alone, and so the steps never shrink: keep s from
    update to update, and add to it.
one sum
    | gradient * gradient => (gradient * gradient).sum()
    all weights share one s: each weight has its own.
adds afterwards
    | self._squares**0.5 => before**0.5
    the step was divided by the root of the old s: add this gradient's square first.
start squared
    | self.start if => self.start**2 if
    s began at start²: begin at `start` itself.
uphill
    | weights - gradient => weights + gradient
    the weights go up the gradient: the step is subtracted.
not squared
    | gradient * gradient => gradient.abs()
    s grows by |g|: it grows by its square.
begins at 0
    | self.start if => 0.0 if
    s began at 0, and so the first step has the full rate for every weight, however small its
    gradient: begin at `start`.
"""

EXERCISE = Exercise(
    number="05.6",
    title="Adagrad on the server",
    size=Size(stars=1, minutes=10, points=2),
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
    wrong=wrong_answers("05.6", WRONG, reference),
    ranked=False,
)
