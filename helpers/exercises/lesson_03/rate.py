"""Exercise 03.6, the learning rate of a large batch: linear scaling with gradual warmup.

`learning_rate(step, base, times, warmup) -> float`: base at step 0, growing by the same amount
every step up to base·times at step `warmup`, constant afterwards; with warmup 0, base·times from
the start. Source: Goyal et al. (2017), sections 2.1 and 2.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, number, short
from helpers.exercises.drives_training import over_steps
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-6


def cases(seed: int) -> list[Case]:
    """Seed 0: 8 times the batch with 4 steps of warmup, then 1 rank, and no warmup at all."""
    random = rng(seed, "03.6")
    settings = [(0.1, 8, 4), (0.05, 1, 10), (0.2, 4, 0), (0.1, 256, 100)]
    if seed:
        settings = [
            (
                float(random.uniform(0.01, 1)),
                int(random.integers(2, 300)),
                int(random.integers(2, 50)),
            )
            for _ in range(5)
        ] + [(0.3, 16, 0)]
    made = []
    for base, times, warmup in settings:
        steps = sorted({0, 1, 2, warmup // 2, max(warmup - 1, 0), warmup, warmup + 1, 10 * warmup})
        name = f"With base {short(base)}, {times} times the batch and {warmup} steps of warmup"
        want = [reference(step, base, times, warmup) for step in steps]
        made.append(Case(name, ((steps, base, times, warmup),), facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The rate at every step, to six digits, which float32 has too."""
    steps = case.args[0][0]
    for step, got, want in zip(steps, seen.values[0], case.facts["want"], strict=True):
        rate = number(got)
        if rate is None:
            return f"{case.name}, step {step} gave {describe(got)}; a number was asked for."
        if not abs(rate - want) <= _TOLERANCE * abs(want):  # so that NaN is wrong too
            said = f"{case.name}, the rate at step {step} is {short(rate)}"
            return f"{said}; it should be {short(want)}."
    return None


def _no_division(case: Case, seen: Observation) -> str | None:
    if seen.kind != "ZeroDivisionError":
        return None
    return f"{case.name}, there is nothing to divide by: without warmup the rate is base · times."


def compared(case: Case, seen: Observation) -> list[float | None]:
    """The rates, whatever holds them."""
    return [number(rate) for rate in seen.values[0]]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    _, base, times, warmup = case.args[0]
    return {"base": short(base), "scaled": short(base * times), "warmup": warmup}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rates = ", ".join(short(rate) for rate in compared(cases[0], seen[0])[:5])
    return f"Passed: 8 times the batch with 4 steps of warmup starts {rates} …"


def reference(step: int, base: float, times: int, warmup: int) -> float:
    """The course's own."""
    from helpers.algorithms.data_parallel.learning_rate import gradual_warmup, linear_scaling

    return linear_scaling(base, times) * gradual_warmup(warmup, times)(step)


def _grown(
    grown: Callable[[int, int], float] = lambda step, warmup: min(1.0, step / warmup),
    least: float = 1.0,
    most: Callable[[int], float] = lambda times: times,
    at_once: Callable[[int], float] = lambda times: times,
) -> Callable[[int, float, int, int], float]:
    """The reference with a part exchanged.

    grown: the part of the growth that is done at a step. least, most: times base, before and after
    it. at_once: times base, without warmup.
    """

    def learning_rate(step: int, base: float, times: int, warmup: int) -> float:
        if not warmup:
            return base * at_once(times)
        return base * (least + (most(times) - least) * grown(step, warmup))

    return learning_rate


_from_zero = _grown(least=0.0)
_late_by_one = _grown(lambda step, warmup: min(1.0, (step + 1) / warmup))
_jumps = _grown(lambda step, warmup: step >= warmup)
_never_stops = _grown(lambda step, warmup: step / warmup)
_root = _grown(most=lambda times: times**0.5, at_once=lambda times: times**0.5)
_base_without_warmup = _grown(at_once=lambda times: 1.0)


def _no_scaling(step: int, base: float, times: int, warmup: int) -> float:
    return reference(step, base, times, warmup) / times


def _divides_by_warmup(step: int, base: float, times: int, warmup: int) -> float:
    return base + (base * times - base) * min(1.0, step / warmup)


EXERCISE = Exercise(
    number="03.6",
    title="Learning rate of a large batch",
    stars=1,
    minutes=8,
    points=2,
    function="learning_rate",
    asks=(
        "`base` at step 0, growing by equal amounts to base · times at step `warmup`, and "
        "base · times from there on."
    ),
    cases=cases,
    drive=over_steps,
    claim=claim,
    compared=compared,
    mistakes=(Mistake("divides by no warmup", _no_division, unfinished=True),),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("divides by zero", _divides_by_warmup, hint="nothing to divide by"),
        WrongAnswer(
            "starts at zero",
            _from_zero,
            "the rate starts at 0, so that the first step does nothing: warm up from {base} to "
            "{scaled}.",
        ),
        WrongAnswer(
            "one step ahead",
            _late_by_one,
            "the rate is one step ahead: it is {base} at step 0 and {scaled} at step {warmup}, so "
            "the growth goes with step / warmup.",
        ),
        WrongAnswer(
            "not scaled without warmup",
            _base_without_warmup,
            "the rate is {base} throughout: without warmup there is nothing to grow, and it is "
            "base · times, {scaled}, from step 0 on.",
        ),
        WrongAnswer(
            "never scaled",
            _no_scaling,
            "the rate ends at {base}: a batch that is so many times as large takes so many times "
            "the rate, {scaled}.",
        ),
        WrongAnswer(
            "jumps",
            _jumps,
            "the rate jumps from {base} to {scaled} at step {warmup}: let it grow by equal "
            "amounts, or the jump does what the warmup is there to avoid.",
        ),
        WrongAnswer(
            "never stops",
            _never_stops,
            "the rate goes on growing after the warmup: from step {warmup} on it is {scaled}.",
        ),
        WrongAnswer(
            "square root",
            _root,
            "the rate is scaled with the square root of the batch: the linear rule gives {scaled}.",
        ),
    ),
    ranked=False,
)
