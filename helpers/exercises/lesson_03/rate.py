"""Exercise 03.6, the learning rate of a large batch: Goyal et al. (2017), sections 2.1 and 2.2."""

from __future__ import annotations

from collections.abc import Callable

from helpers.exercises.common import fails_with, rng
from helpers.exercises.compare import describe, number, short
from helpers.exercises.drives_training import over_steps
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-6


def cases(seed: int) -> list[Case]:
    """Seed 0: 8 times the batch with 4 steps of warmup, then 1 rank, and no warmup at all."""
    random = rng(seed, "03.6")
    settings = [(0.1, 8, 4), (0.05, 1, 10), (0.2, 4, 0), (0.1, 256, 100)]
    if seed:
        settings = [(0.3, 16, 0)]
        for _ in range(5):
            base, times, warmup = random.uniform([0.01, 2, 2], [1, 300, 50])
            settings.append((float(base), int(times), int(warmup)))
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


_no_division = fails_with(
    "",
    "there is nothing to divide by: without warmup the rate is base · times.",
    kind="ZeroDivisionError",
)


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
    """The reference with a part exchanged. grown: the part of the growth that is done at a step.
    least, most: times base, before and after it. at_once: times base, without warmup."""

    def learning_rate(step: int, base: float, times: int, warmup: int) -> float:
        if not warmup:
            return base * at_once(times)
        return base * (least + (most(times) - least) * grown(step, warmup))

    return learning_rate


_from_zero = _grown(least=0.0)
_late_by_one = _grown(lambda step, warmup: min(1.0, (step + 1) / warmup))
_a_step_longer = _grown(lambda step, warmup: min(1.0, step / (warmup + 1)))
_a_step_shorter = _grown(lambda step, warmup: min(1.0, step / max(warmup - 1, 1)))
_jumps = _grown(lambda step, warmup: step >= warmup)
_never_stops = _grown(lambda step, warmup: step / warmup)
_root = _grown(most=lambda times: times**0.5, at_once=lambda times: times**0.5)
_at_once = _grown(lambda step, warmup: 1.0)
_base_without_warmup = _grown(at_once=lambda times: 1.0)


def _no_scaling(step: int, base: float, times: int, warmup: int) -> float:
    return reference(step, base, times, warmup) / times


def _by_factors(step: int, base: float, times: int, warmup: int) -> float:
    return base * times ** min(1.0, step / warmup if warmup else 1.0)


def _at_least_a_step(step: int, base: float, times: int, warmup: int) -> float:
    return reference(step, base, times, max(warmup, 1))


def _divides_by_warmup(step: int, base: float, times: int, warmup: int) -> float:
    return base + (base * times - base) * min(1.0, step / warmup)


_AT_WARMUP = "the warmup is a step too long or too short: {scaled} is reached at step {warmup}."

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
    compared=lambda case, seen: [number(rate) for rate in seen.values[0]],
    mistakes=(Mistake("divides by no warmup", _no_division, unfinished=True),),
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
    wrong=(
        WrongAnswer("divides by zero", _divides_by_warmup, hint="nothing to divide by"),
        WrongAnswer(
            "from zero", _from_zero, "the rate starts at 0, where nothing happens: start at {base}."
        ),
        WrongAnswer(
            "ahead", _late_by_one, "the rate is a step ahead: step / warmup, and {base} at step 0."
        ),
        WrongAnswer("a step longer", _a_step_longer, _AT_WARMUP),
        WrongAnswer("a step shorter", _a_step_shorter, _AT_WARMUP),
        WrongAnswer(
            "not scaled without warmup",
            _base_without_warmup,
            "the rate is {base} throughout: without warmup it is {scaled} from step 0 on.",
        ),
        WrongAnswer(
            "a step of warmup at least",
            _at_least_a_step,
            "step 0 has {base}, as if there were one step of warmup, `max(warmup, 1)`. Without "
            "any, step 0 has {scaled} already.",
        ),
        WrongAnswer(
            "no warmup",
            _at_once,
            "the rate is {scaled} from step 0 on: it starts at {base}, and grows.",
        ),
        WrongAnswer(
            "factors", _by_factors, "the rate grows by equal factors, and not by equal amounts."
        ),
        WrongAnswer(
            "not scaled",
            _no_scaling,
            "the rate ends at {base}, not at that times the batch, {scaled}.",
        ),
        WrongAnswer(
            "jumps",
            _jumps,
            "the rate jumps from {base} to {scaled} at step {warmup}: let it grow evenly.",
        ),
        WrongAnswer(
            "never stops",
            _never_stops,
            "the rate goes on growing after the warmup: from step {warmup} on it is {scaled}.",
        ),
        WrongAnswer(
            "root", _root, "the rate grows with the batch's root: the linear rule gives {scaled}."
        ),
    ),
    ranked=False,
)
