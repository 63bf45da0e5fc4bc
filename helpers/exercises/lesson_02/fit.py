"""Exercise 02.4, fit α and β.

`fit(sizes, seconds) -> (α, β)`: plain lists of bytes and seconds; α in seconds, β in seconds a
byte. The claim: with times that are off by a few per cent, as real ones are, both come out as the
fit to all points with relative errors gives them: with absolute ones the largest message drowns
the smallest, and two points hand on their own errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, number, short
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_SIZES = [4**k for k in range(3, 13)]  # 64 B to 16 MiB
_NOISE = 0.04
_SAME_FIT = 0.015  # errors of logarithms, say, give nearly the same


def cases(seed: int) -> list[Case]:
    """Seed 0: exact times, then times with errors of a few per cent, on two kinds of link."""
    random, made = rng(seed, "02.4"), []
    links = [(40e-6, 1 / 1.25e9, 0.0), (40e-6, 1 / 1.25e9, _NOISE), (2e-6, 1 / 12.5e9, _NOISE)]
    if seed:
        links = [
            (10 ** random.uniform(-6, -4.6), 10 ** random.uniform(-9.3, -8.5), noise)
            for noise in (_NOISE, _NOISE, _NOISE, 0.0)
        ]
        links.append((random.uniform(1e-6, 3e-6), random.uniform(1e-9, 2e-9), _NOISE))
    for alpha, beta, noise in links:
        exact = np.array([alpha + n * beta for n in _SIZES])
        wobble = 1 + noise * random.choice([-1.0, 1.0], len(_SIZES))
        if noise:
            wobble[-1] = 1 - noise  # the largest message is off by far more seconds than α
        times = [float(t) for t in exact * wobble]
        say = f"times that are off by {noise:.0%}" if noise else "exact times"
        name = f"With α = {alpha * 1e6:.3g} µs, β = {beta * 1e9:.3g} ns/B and {say}"
        best = np.linalg.lstsq(
            np.stack([1 / np.array(times), np.array(_SIZES) / times], axis=1),
            np.ones(len(times)),
            rcond=None,
        )[0]
        facts = {"alpha": alpha, "beta": beta, "noise": noise, "best": best.tolist()}
        made.append(Case(name, ((list(_SIZES), times),), facts=facts))
    return made


def _pair(seen: Observation) -> tuple[float, float] | None:
    got: Any = seen.values[0] if seen.values else None
    if type(got) not in (tuple, list) or len(got) != 2:
        return None
    alpha, beta = number(got[0]), number(got[1])
    return None if alpha is None or beta is None else (alpha, beta)


def _near(got: float, want: float, by: float) -> bool:
    return bool(abs(got - want) <= by * abs(want))


def claim(case: Case, seen: Observation) -> str | None:
    """Both as the fit to all points has them, or within 0.1% where the times are exact."""
    pair = _pair(seen)
    if pair is None:
        return f"Return two numbers, (α, β); yours gave {describe(seen.values[0])}."
    by = _SAME_FIT if case.facts["noise"] else 1e-3
    for sign, got, want, unit in zip("αβ", pair, case.facts["best"], ("s", "s/B"), strict=True):
        if not _near(got, want, by):
            return f"{case.name}, your {sign} is {short(got)} {unit} instead of {short(want)}."
    return None


def _swapped(case: Case, seen: Observation) -> str | None:
    pair = _pair(seen)
    if pair is None or not _near(pair[1], case.facts["alpha"], 0.3):
        return None
    if not _near(pair[0], case.facts["beta"], 0.3):
        return None
    return "α and β are swapped: return (α, β), the seconds a message first, then those a byte."


def _bandwidth(case: Case, seen: Observation) -> str | None:
    pair = _pair(seen)
    if pair is None or not _near(pair[1], 1 / case.facts["beta"], 0.3):
        return None
    return (
        f"Your β is {short(pair[1])}: that is the bandwidth, in bytes a second. β is one over it, "
        "in seconds a byte."
    )


def _units(case: Case, seen: Observation) -> str | None:
    pair = _pair(seen)
    for factor, unit in ((1e3, "milliseconds"), (1e6, "microseconds")):
        if pair and _near(pair[0], case.facts["alpha"] * factor, 0.05):
            return f"Your α is in {unit}; give it in seconds, as the times are."
    return None


def _absolute(case: Case, seen: Observation) -> str | None:
    pair = _pair(seen)
    if pair is None or not case.facts["noise"]:
        return None
    sizes, seconds = case.args[0]
    _, start = np.polyfit(sizes, seconds, 1)
    if not (_near(pair[0], start, 0.02) or (start < 0 and pair[0] == 0)):
        return None
    return (
        f"{case.name}, your α is {short(pair[0] * 1e6)} µs: the largest message, off by "
        f"{short(seconds[-1] * case.facts['noise'] * 1e6)} µs, drowns all the small ones. Make the "
        "relative errors small: divide each equation by its time."
    )


def _smallest_only(case: Case, seen: Observation) -> str | None:
    pair = _pair(seen)
    _, seconds = case.args[0]
    if pair is None or not _near(pair[0], seconds[0], 1e-9):
        return None
    return (
        f"{case.name}, your α is the time of the smallest message as it is: that contains its "
        "bytes' time and its error. Fit both numbers to all the points."
    )


def _two_points(case: Case, seen: Observation) -> str | None:
    pair, ends = _pair(seen), _line(*case.args[0])
    if pair is None or not case.facts["noise"]:
        return None
    if not (_near(pair[0], ends[0], 1e-6) and _near(pair[1], ends[1], 1e-6)):
        return None
    return (
        f"{case.name}, your line goes through the first and the last point alone, and takes over "
        "their errors. Fit it to all the points, each equation divided by its time."
    )


def _line(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    beta = (seconds[-1] - seconds[0]) / (sizes[-1] - sizes[0])
    return seconds[0] - beta * sizes[0], beta


def _no_alpha(case: Case, seen: Observation) -> str | None:
    pair = _pair(seen)
    if pair is None or pair[0] != 0:
        return None
    return (
        f"{case.name}, your α is 0: a line through the origin has no latency. Fit seconds = α + "
        "size · β."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    pair = _pair(seen[1])
    assert pair is not None
    return (
        f"Passed; from times that are off by 4% you found α = {pair[0] * 1e6:.3g} µs (40 µs is "
        f"right) and a bandwidth of {1e-9 / pair[1]:.3g} GB/s (1.25 is right)."
    )


def reference(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """The course's own."""
    from helpers.algorithms.messages.cost_model import fit_latency_bandwidth

    alpha, beta = fit_latency_bandwidth(sizes, seconds)
    return alpha, beta


def absolute(sizes: list[int], seconds: list[float]) -> Any:
    """Plain least squares."""
    beta, alpha = np.polyfit(sizes, seconds, 1)
    return float(alpha), float(beta)


def swapped(sizes: list[int], seconds: list[float]) -> Any:
    """(β, α), as polyfit gives them."""
    alpha, beta = reference(sizes, seconds)
    return beta, alpha


def bandwidth(sizes: list[int], seconds: list[float]) -> Any:
    """The bandwidth for β."""
    alpha, beta = reference(sizes, seconds)
    return alpha, 1 / beta


def ends_only(sizes: list[int], seconds: list[float]) -> Any:
    """α from the smallest message, β from the largest."""
    return seconds[0], seconds[-1] / sizes[-1]


def two_points(sizes: list[int], seconds: list[float]) -> Any:
    """The line through the first and the last point."""
    beta = (seconds[-1] - seconds[0]) / (sizes[-1] - sizes[0])
    return seconds[0] - beta * sizes[0], beta


def through_origin(sizes: list[int], seconds: list[float]) -> Any:
    """A line through the origin."""
    return 0.0, float(np.dot(sizes, seconds) / np.dot(sizes, sizes))


def microseconds(sizes: list[int], seconds: list[float]) -> Any:
    """α in microseconds."""
    alpha, beta = reference(sizes, seconds)
    return alpha * 1e6, beta


EXERCISE = Exercise(
    number="02.4",
    title="Fit α and β",
    stars=2,
    minutes=12,
    points=2,
    function="fit",
    asks=(
        "the α (seconds) and β (seconds a byte) for which α + size · β comes nearest to the "
        "measured times, each error taken relative to its time."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("α and β swapped", _swapped),
        Mistake("the bandwidth for β", _bandwidth),
        Mistake("another unit", _units),
        Mistake("no latency", _no_alpha),
        Mistake("the smallest message for α", _smallest_only),
        Mistake("a line through two points", _two_points),
        Mistake("absolute errors", _absolute),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("plain least squares", absolute, hint="drowns all the small ones"),
        WrongAnswer("swapped", swapped, hint="swapped"),
        WrongAnswer("bandwidth", bandwidth, hint="that is the bandwidth"),
        WrongAnswer("the ends", ends_only, hint="the time of the smallest message"),
        WrongAnswer("two points", two_points, hint="the first and the last point alone"),
        WrongAnswer("through the origin", through_origin, hint="has no latency"),
        WrongAnswer("microseconds", microseconds, hint="is in microseconds"),
    ),
    ranked=False,
)
