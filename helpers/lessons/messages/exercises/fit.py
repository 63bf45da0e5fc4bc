"""Exercise 02.4, fit α and β, in seconds and in seconds a byte.

The claim: with times that are off by a few per cent both come out as the fit to all points with
relative errors gives them: with absolute ones the largest message drowns the smallest.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.compare import describe, is_array, number, short
from helpers.checks.drives.calling import plain_call
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.messages.algorithms.cost_model import fit_latency_bandwidth

_SIZES = np.array([4**k for k in range(3, 13)])  # 64 B to 16 MiB
_NOISE = 0.04


def cases(seed: int) -> list[Case]:
    """Seed 0: exact times, then times with errors of a few per cent, on two kinds of link. At last
    two sizes alone, one of them 0, and sizes in any order."""
    random, made = rng(seed, "02.4"), []
    links = [(40e-6, 1 / 1.25e9, 0.0), (40e-6, 1 / 1.25e9, _NOISE), (2e-6, 1 / 12.5e9, _NOISE)]
    if seed:
        links = [
            (10 ** random.uniform(-6, -4.6), 10 ** random.uniform(-9.3, -8.5), noise)
            for noise in (_NOISE, _NOISE, _NOISE, 0.0)
        ]
        links.append((random.uniform(1e-6, 3e-6), random.uniform(1e-9, 2e-9), _NOISE))
    two = np.array([0, 2**20])
    middle = rng(seed, "02.4").permutation([*_SIZES[:-1], *_SIZES[:4]])
    mixed = np.array([0, *middle, _SIZES[-1]])  # the ends: some answers begin with them
    sets = [(*link, _SIZES, "") for link in links]
    sets.append((*links[0][:2], 0.0, two, " of two sizes, 0 B and 1 MiB"))
    sets.append((*links[1][:2], _NOISE, mixed, ", the sizes in any order"))
    for alpha, beta, noise, sizes, more in sets:
        wobble = 1 + noise * random.choice([-1.0, 1.0], len(sizes))
        wobble[sizes.argmax()] = 1 - noise  # the largest is off by far more seconds than α
        times = (alpha + sizes * beta) * wobble
        say = f"times that are off by {noise:.0%}" if noise else "exact times"
        name = f"With α = {alpha * 1e6:.3g} µs, β = {beta * 1e9:.3g} ns/B and {say}{more}"
        equations = np.stack([1 / times, sizes / times], axis=1)
        best = np.linalg.lstsq(equations, np.ones(len(times)), rcond=None)[0]
        facts = {"noise": noise, "best": best.tolist()}
        made.append(Case(name, ((sizes.tolist(), times.tolist()),), facts=facts))
    return made


def _pair(seen: Observation) -> tuple[float, float] | None:
    """α and β, None where there are not two numbers."""
    got: Any = seen.values[0] if seen.values else None
    if type(got) not in (tuple, list) or len(got) != 2:
        return None
    alpha, beta = map(number, got)
    return None if alpha is None or beta is None else (alpha, beta)


def _first(case: Case, seen: Observation) -> tuple[str, float, float] | None:
    """The first number that is wrong: its sign, what it is, what it should be."""
    by = 0.015 if case.facts["noise"] else 1e-3  # errors of logarithms, say, give nearly the same
    for sign, got, want in zip("αβ", _pair(seen) or (), case.facts["best"], strict=True):
        if not abs(got - want) <= by * abs(want):
            return sign, got, want
    return None


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """Both as the fit to all points has them, or within 0.1% where the times are exact."""
    if _pair(seen) is None:
        what = "a tensor, " * is_array(seen.values[0], (2,)) + describe(seen.values[0])
        yield f"Return two numbers, (α, β); yours gave {what}."
    if found := _first(case, seen):
        sign, got, want = found
        unit = {"α": "s", "β": "s/B"}[sign]
        yield f"your {sign} is {short(got)} {unit} instead of {short(want)}."


def compared(case: Case, seen: Observation) -> Any:
    """The first number that is wrong, α in picoseconds so that no two are alike in rounding."""
    found = _first(case, seen)
    return found and [found[0], found[1] * 1e12]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The two that were given, and by how much the largest message is off."""
    alpha, beta = _pair(seen) or (0.0, 0.0)
    off = max(case.args[0][1]) * case.facts["noise"]
    return {"alpha": short(alpha * 1e6), "beta": short(beta), "off": short(off * 1e6)}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    alpha, beta = _pair(seen[1]) or (0.0, 0.0)
    return (
        f"Passed; from times that are off by 4% you found α = {alpha * 1e6:.3g} µs (40 µs is "
        f"right) and a bandwidth of {1e-9 / beta:.3g} GB/s (1.25 is right)."
    )


def reference(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """The course's own."""
    alpha, beta = fit_latency_bandwidth(sizes, seconds)
    return alpha, beta


WRONG = """
α and β swapped
    | return alpha, beta => return beta, alpha
    α and β are swapped: return (α, β), the seconds a message first, then those a byte.
the bandwidth for β
    | return alpha, beta => return alpha, 1 / beta
    Your β is {beta}: that is the bandwidth, in bytes a second. β is one over it, in seconds a byte.
α in milliseconds
    | return alpha, => return alpha * 1e3,
    Your α is in ms; give it in seconds.
α in microseconds
    | return alpha, => return alpha * 1e6,
    Your α is in µs; give it in seconds.
no latency
    | return alpha, beta => return 0.0, float(np.dot(sizes, seconds) / np.dot(sizes, sizes))
    your α is 0: a line through the origin has no latency. Fit seconds = α + size · β.
the smallest message for α
    | return alpha, beta => return seconds[0], seconds[-1] / sizes[-1]
    your α is the time of the smallest message as it is: that contains its bytes' time and its
    error. Fit both numbers to all the points.
a line through two points
    | alpha, beta = fit_latency_bandwidth(sizes, seconds)
        => beta = (seconds[-1] - seconds[0]) / (sizes[-1] - sizes[0]);
        alpha = seconds[0] - beta * sizes[0]
    your line goes through the first and the last point alone, and takes over their errors. Fit it
    to all the points, each equation divided by its time.
absolute errors
    | alpha, beta = fit_latency_bandwidth(sizes, seconds)
        => beta, alpha = map(float, np.polyfit(sizes, seconds, 1))
    your α is {alpha} µs: the largest message, off by {off} µs, drowns all the small ones. Make the
    relative errors small: divide each equation by its time.
relative to the root of the time
    | alpha, beta = fit_latency_bandwidth(sizes, seconds)
        => beta, alpha = map(float, np.polyfit(sizes, seconds, 1, w=np.array(seconds) ** -0.5))
    each error counts relative to the square root of its time: divide it by the time itself before
    you square it. A weight of 1/t on the square is not enough.
"""

EXERCISE = Exercise(
    number="02.4",
    title="Fit α and β",
    size=Size(stars=2, minutes=12, points=2),
    function="fit",
    asks=(
        "the α (seconds) and β (seconds a byte) for which α + size · β comes nearest to the "
        "measured times, each error taken relative to its time."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("02.4", WRONG, reference),
    ranked=False,
)
