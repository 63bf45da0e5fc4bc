"""Exercise 03.6, the learning rate of a large batch: linear scaling with gradual warmup.

`learning_rate(step, base, times, warmup) -> float`: base at step 0, growing by the same amount
every step up to base·times at step `warmup`, constant afterwards; with warmup 0, base·times from
the start. Source: Goyal et al. (2017), sections 2.1 and 2.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
        others = {
            name: [rule(step, base, times, warmup) for step in steps]
            for name, rule in OTHER_RULES.items()
        }
        facts = {"want": want, "others": others}
        made.append(Case(name, ((steps, base, times, warmup),), facts=facts))
    return made


def _rates(seen: Observation) -> list[float]:
    found = [number(v) for v in seen.values[0]]
    if None in found:
        raise TypeError
    return [v for v in found if v is not None]


def _matches(case: Case, seen: Observation, rule: str) -> bool:
    want = case.facts["others"][rule]
    return all(
        abs(g - w) <= _TOLERANCE * max(abs(w), 1e-9)
        for g, w in zip(_rates(seen), want, strict=True)
    )


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


def _no_warmup(case: Case, seen: Observation) -> str | None:
    base, times, warmup = case.args[0][1:]
    if warmup or times == 1 or not _matches(case, seen, "no_scaling"):
        return None
    return (
        f"{case.name}, the rate is {short(base)} throughout: without warmup there is nothing to "
        f"grow, and it is base · times, {short(base * times)}, from step 0 on."
    )


def _by_rule(rule: str, words: str) -> Callable[[Case, Observation], str | None]:
    """A recogniser for answers that follow another rule, named; words: what to say to them."""

    def look(case: Case, seen: Observation) -> str | None:
        base, times, warmup = case.args[0][1:]
        if not _matches(case, seen, rule):
            return None
        facts = {"base": short(base), "scaled": short(base * times), "warmup": warmup}
        return f"{case.name}, {words.format(**facts)}"

    return look


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rates = ", ".join(short(rate) for rate in _rates(seen[0])[:5])
    return f"Passed: 8 times the batch with 4 steps of warmup starts {rates} …"


def reference(step: int, base: float, times: int, warmup: int) -> float:
    """The course's own."""
    from helpers.algorithms.data_parallel.learning_rate import gradual_warmup, linear_scaling

    return linear_scaling(base, times) * gradual_warmup(warmup, times)(step)


def from_zero(step: int, base: float, times: int, warmup: int) -> float:
    """Starts at zero."""
    return base * times * min(1.0, step / warmup if warmup else 1.0)


def late_by_one(step: int, base: float, times: int, warmup: int) -> float:
    """One step ahead: (step + 1) / warmup."""
    return base + (base * times - base) * min(1.0, (step + 1) / warmup if warmup else 1.0)


def no_scaling(step: int, base: float, times: int, warmup: int) -> float:
    """Grows to base alone, from base / times."""
    return reference(step, base, times, warmup) / times


def jumps(step: int, base: float, times: int, warmup: int) -> float:
    """Constant at base during the warmup, then scaled: a jump."""
    return base if step < warmup else base * times


def never_stops(step: int, base: float, times: int, warmup: int) -> float:
    """Goes on growing after the warmup."""
    return base + (base * times - base) * step / warmup if warmup else base * times


def root(step: int, base: float, times: int, warmup: int) -> float:
    """Scales with the square root."""
    return (
        reference(step, base, times, warmup)
        if times == 1
        else (base + (base * times**0.5 - base) * min(1.0, step / warmup if warmup else 1.0))
    )


def divides_by_warmup(step: int, base: float, times: int, warmup: int) -> float:
    """Right, but for warmup=0."""
    return base + (base * times - base) * min(1.0, step / warmup)


def unscaled_without_warmup(step: int, base: float, times: int, warmup: int) -> float:
    """Right, but base where there is no warmup."""
    return reference(step, base, times, warmup) if warmup else base


OTHER_RULES: dict[str, Callable[[int, float, int, int], float]] = {
    "from_zero": from_zero,
    "late_by_one": late_by_one,
    "no_scaling": no_scaling,
    "jumps": jumps,
    "never_stops": never_stops,
    "root": root,
}

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
    mistakes=(
        Mistake("divides by no warmup", _no_division, unfinished=True),
        Mistake(
            "starts at zero",
            _by_rule(
                "from_zero",
                (
                    "the rate starts at 0, so that the first step does nothing: warm up from "
                    "{base} to {scaled}."
                ),
            ),
        ),
        Mistake(
            "one step ahead",
            _by_rule(
                "late_by_one",
                (
                    "the rate is one step ahead: it is {base} at step 0 and {scaled} at step "
                    "{warmup}, so "
                    "the growth goes with step / warmup."
                ),
            ),
        ),
        Mistake("not scaled without warmup", _no_warmup),
        Mistake(
            "never scaled",
            _by_rule(
                "no_scaling",
                (
                    "the rate ends at {base}: a batch that is so many times as large takes so many "
                    "times "
                    "the rate, {scaled}."
                ),
            ),
        ),
        Mistake(
            "jumps",
            _by_rule(
                "jumps",
                (
                    "the rate jumps from {base} to {scaled} at step {warmup}: let it grow by equal "
                    "amounts, or the jump does what the warmup is there to avoid."
                ),
            ),
        ),
        Mistake(
            "never stops",
            _by_rule(
                "never_stops",
                (
                    "the rate goes on growing after the warmup: from step {warmup} on it is "
                    "{scaled}."
                ),
            ),
        ),
        Mistake(
            "square root",
            _by_rule(
                "root",
                (
                    "the rate is scaled with the square root of the batch: the linear rule gives "
                    "{scaled}."
                ),
            ),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("from zero", from_zero, hint="starts at 0"),
        WrongAnswer("one step ahead", late_by_one, hint="one step ahead"),
        WrongAnswer("no scaling", no_scaling, hint="the rate ends at 0.1"),
        WrongAnswer(
            "base without warmup", unscaled_without_warmup, hint="there is nothing to grow"
        ),
        WrongAnswer("jumps", jumps, hint="jumps from 0.1 to 0.8"),
        WrongAnswer("never stops", never_stops, hint="goes on growing"),
        WrongAnswer("square root", root, hint="square root"),
        WrongAnswer("divides by zero", divides_by_warmup, hint="nothing to divide by"),
    ),
    ranked=False,
)
