"""Exercise 03.6, the learning rate of a large batch: Goyal et al. (2017), sections 2.1 and 2.2."""

from collections.abc import Iterator
from typing import Any

from helpers.checks.common import raised
from helpers.checks.compare import count, describe, number, short
from helpers.checks.drives.calling import Function, driver
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers

_TOLERANCE = 1e-6


@driver(arguments=4)
def over_steps(fn: Function, steps: list[int], *others: Any) -> Any:
    """`fn(step, *others)` for every step; `values[0]` is the list."""
    return [plain(fn(step, *others)) for step in steps]


def cases(seed: int) -> list[Case]:
    """Seed 0: 8 times the batch with 4 steps of warmup, then 1 rank, and no warmup at all; at last
    one step of it, and a batch that is no whole number of times as large."""
    random = rng(seed, "03.6")
    settings: list[tuple[float, Any, int]]
    settings = [(0.1, 8, 4), (0.05, 1, 10), (0.2, 4, 0), (0.1, 256, 100), (0.1, 4, 1)]
    settings.append((0.0123456, 2.5, 3))
    if seed:
        settings = [(0.3, 16, 0)]
        for _ in range(5):
            base, times, warmup = random.uniform([0.01, 2, 2], [1, 300, 50])
            settings.append((float(base), int(times), int(warmup)))
        settings += [(0.2, 4, 1), (0.2, float(random.integers(1, 9)) + 0.5, 3)]
    made = []
    for base, times, warmup in settings:
        steps = sorted({0, 1, 2, warmup // 2, max(warmup - 1, 0), warmup, warmup + 1, 10 * warmup})
        name = f"With base {short(base)}, {short(times)} times the batch"
        name += f" and {count(warmup, 'step')} of warmup"
        want = [reference(step, base, times, warmup) for step in steps]
        made.append(Case(name, ((steps, base, times, warmup),), facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The rate at every step, to six digits, which float32 has too."""
    steps = case.args[0][0]
    for step, got, want in zip(steps, seen.values[0], case.facts["want"], strict=True):
        rate = number(got)
        if rate is None:
            yield f"step {step} gave {describe(got)}; a number was asked for."
        elif not abs(rate - want) <= _TOLERANCE * abs(want):  # so that NaN is wrong too
            yield f"the rate at step {step} is {short(rate)}; it should be {short(want)}."


def reference(step: int, base: float, times: int, warmup: int) -> float:
    """The course's own."""
    from helpers.lessons.data_parallel.algorithms.learning_rate import (
        gradual_warmup,
        linear_scaling,
    )

    return linear_scaling(base, times) * gradual_warmup(warmup, times)(step)


def in_two_lines(step: int, base: float, times: int, warmup: int) -> float:
    """The same in two lines."""
    grown = min(1.0, step / warmup) if warmup else 1.0
    return base * (1 + (times - 1) * grown)


WRONG = """
divides by zero
    | if warmup else 1.0 =>
    ? nothing to divide by
from zero
    | (1 + (times - 1) * grown) => times * grown
    the rate starts at 0, where nothing happens: start at {base}.
ahead
    | step / warmup => (step + 1) / warmup
    the rate is a step ahead: step / warmup, and {base} at step 0.
a step longer
    | step / warmup => step / (warmup + 1)
    the warmup is a step too long or too short: {scaled} is reached at step {warmup}.
a step shorter
    | step / warmup => step / max(warmup - 1, 1)
    ! a step longer
not scaled without warmup
    | else 1.0 => else 0.0
    the rate is {base} throughout: without warmup it is {scaled} from step 0 on.
a step of warmup at least
    | step / warmup) if warmup else 1.0 => step / max(warmup, 1))
    step 0 has {base}, as if there were one step of warmup, `max(warmup, 1)`. Without any, step 0
    has {scaled} already.
no warmup
    | step / warmup => 1.0
    the rate is {scaled} from step 0 on: it starts at {base}, and grows.
factors
    | (1 + (times - 1) * grown) => times**grown
    the rate grows by equal factors, and not by equal amounts.
not scaled
    | base * => base / times *
    the rate ends at {base}, not at that times the batch, {scaled}.
jumps
    | min(1.0, step / warmup) => (step >= warmup)
    the rate jumps from {base} to {scaled} at step {warmup}: let it grow evenly.
never stops
    | min(1.0, step / warmup) => step / warmup
    the rate goes on growing after the warmup: from step {warmup} on it is {scaled}.
root
    | times - 1 => times**0.5 - 1
    the rate grows with the batch's root: the linear rule gives {scaled}.
"""

EXERCISE = Exercise(
    number="03.6",
    title="Learning rate of a large batch",
    size=Size(stars=1, minutes=8, points=2),
    function="learning_rate",
    asks=(
        "`base` at step 0, growing by equal amounts to base · times at step `warmup`, and "
        "base · times from there on."
    ),
    cases=cases,
    drive=over_steps,
    claim=claim,
    compared=lambda case, seen: [number(rate) for rate in seen.values[0]],
    mistakes=(
        raised(
            "divides by no warmup",
            "by zero",
            "there is nothing to divide by: without warmup the rate is base · times.",
        ),
    ),
    numbers=lambda case, seen: {
        "base": short(case.args[0][1]),
        "scaled": short(case.args[0][1] * case.args[0][2]),
        "warmup": case.args[0][3],
    },
    praise=lambda cases, seen: (
        "Passed: 8 times the batch with 4 steps of warmup starts "
        f"{', '.join(short(number(rate)) for rate in seen[0].values[0][:5])} …"
    ),
    reference=reference,
    wrong=wrong_answers("03.6", WRONG, in_two_lines),
    ranked=False,
)
