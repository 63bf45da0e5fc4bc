"""Exercise 11.4, the bound that leaves the least error.

`best_bound(values, bits=8) -> float`: where to cut, so that values that go through the codes of a
symmetric grid from −bound to bound and back have the least mean squared error. The claim: a bound
above 0, at most the largest magnitude, whose error is within 5 % of the least that a dense search
finds. Source: Banner et al. (2019), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, number
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11 import bounds_wrong as wrong
from helpers.exercises.lesson_11.figures import Array, near, said, what
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

# How near the least an error is: 5 % for a right bound, and what tells other kinds of error.
_SLACK = {"squared": 1.05, "absolute": 1.02, "largest": 1.04, "8 bits": 1.03}
_ROUNDING = 1e-8  # of the values' mean square: where the least error is 0
_PARTS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999)
_DEVIATIONS = (1, 2, 2.5, 3, 3.5, 4, 5, 6)


def cases(seed: int) -> list[Case]:
    """A wild value among normal ones, normal, even, one-sided, few and long-tailed values.

    They have 4, 6 and 8 bits, once by default. The long-tailed ones are small. Those of 4 bits are
    best cut at other multiples of their deviation, and at other percentiles.
    """
    return list(_cases(seed))


@lru_cache
def _cases(seed: int) -> tuple[Case, ...]:
    random = rng(seed, "11.4")
    sizes = random.integers(2000, 3000, 6) if seed else np.full(6, 2500)
    spread = np.exp(random.uniform(-2, 2, 7)) if seed else np.array([0.6, 2, 1, 0.3, 1, 5, 3])
    spread[5] *= 1e-4  # as small as weights may be: bounds have to be parts of the largest
    normal = random.normal(0, 1, sizes[0])
    normal[int(random.integers(0, sizes[0]))] = 7.5 * (random.choice([-1, 1]) if seed else 1)
    # One value in each of so many parts: chance alone would make some bound better than the top.
    even, more = (
        2 * random.permutation(np.arange(size) + random.random(size)) / size - 1
        for size in sizes[[2, 5]]
    )
    ends = np.array([7, -7, 3, -2, 0, 1, -5, 6, 4])
    settings = [
        ("normal values and a wild one", normal, 4),
        ("normal values", random.normal(0, 1, (2, sizes[1] // 2)), 8),
        ("values spread evenly", even, 8),
        ("values mostly below 0", 0.3 - random.gamma(2, 1, sizes[3]), 6),
        ("values that have a code each", random.permutation(ends) / 7, 4),
        ("long-tailed values", random.laplace(0, 1, sizes[4]), 4),
        ("values spread evenly", more, 4),
    ]
    made = []
    for at, (kind, values, bits) in enumerate(settings):
        given = (values * spread[at]).astype(np.float32)
        name = f"With {given.size} {kind}, {bits} bits"
        args: tuple[Any, ...] = (given, bits) if at != 2 else (given,)
        made.append(Case(name, (args,), facts=_facts(given.astype(np.float64), bits)))
    return tuple(made)


def _facts(values: Array, bits: int) -> dict[str, Any]:
    """Of each kind of error, the best bound that a dense search finds, and what it leaves."""
    top = float(np.abs(values).max())
    kinds = {kind: _search(values, bits, top, kind) for kind in ("squared", "absolute", "largest")}
    kinds["8 bits"] = _search(values, 8, top, "squared")
    return {"top": top, "bits": bits, "kinds": kinds}


def _search(values: Array, bits: int, top: float, kind: str) -> tuple[float, float]:
    """The best bound and its error: by steps of top/300, then finer ones."""
    error = partial(_error, values, bits=bits, kind=kind)
    bound = float(min(top * np.arange(1, 301) / 300, key=error))
    near_it = [b for b in bound + top / 300 * np.linspace(-0.95, 0.95, 39) if 0 < b <= top]
    best = min([bound, *map(float, near_it)], key=error)
    return best, error(best)


def _error(values: Array, bound: float, bits: int, kind: str = "squared") -> float:
    """What codes from −bound to bound leave: mean squared, mean absolute or largest error."""
    highest = 2 ** (bits - 1) - 1
    with np.errstate(all="ignore"):  # of a bound so small that it is lost
        steps = np.clip(np.round(values * (highest / bound)), -highest, highest)
        off = np.abs(steps * (bound / highest) - values)
    return float(off.max() if kind == "largest" else np.mean(off if kind == "absolute" else off**2))


class _Given:
    """A bound beside a case's values in doubles; NaN where no number was given."""

    def __init__(self, case: Case, seen: Observation) -> None:
        self.values: Array = np.asarray(case.args[0][0], np.float64)
        self.magnitudes: Array = np.abs(self.values)
        self.bits, self.top, self.kinds = (case.facts[k] for k in ("bits", "top", "kinds"))
        self.highest = 2 ** (self.bits - 1) - 1
        self.best, self.least = self.kinds["squared"]
        self.value = returned(seen.values[0])
        given = number(self.value)
        self.bound: float = np.nan if given is None else given
        self.is_inside = 0 < self.bound <= self.top * (1 + 1e-6)

    def left(self, bound: float) -> float:
        """The mean squared error that a bound leaves."""
        return _error(self.values, bound, self.bits)

    def is_good(self, bound: float) -> bool:
        """Whether it leaves hardly more than the least mean squared error."""
        rounding = _ROUNDING * float(np.mean(self.values**2))
        return self.left(bound) <= _SLACK["squared"] * self.least + rounding

    def is_least(self, kind: str) -> bool:
        """Whether the bound is best by another kind of error, where that is another bound."""
        best, least = self.kinds[kind]
        if not self.is_inside or self.is_good(best):
            return False
        by, bits = ("squared", 8) if kind == "8 bits" else (kind, self.bits)
        return _error(self.values, self.bound, bits, by) <= _SLACK[kind] * least

    def ends_early(self) -> bool:
        """Whether the bound is best up to the largest value, where magnitudes are larger."""
        end = float(self.values.max())
        if end > 0.99 * self.top or not 0 < self.bound <= end * (1 + 1e-6):
            return False
        return self.left(self.bound) <= 1.05 * min(self.left(end * n / 100) for n in range(1, 101))

    def deviations(self) -> float | None:
        """How many standard deviations the bound is, where it is a usual number of them."""
        middles = 0.0, float(self.values.mean()), abs(float(self.values.mean()))
        for times, ddof, middle in product(_DEVIATIONS, (0, 1), middles):
            if near(self.bound, middle + times * float(self.values.std(ddof=ddof)), 1e-5):
                return times
        return None

    def is_quantile(self) -> bool:
        """Whether the bound is a usual quantile, or simply one of the magnitudes."""
        known = [np.quantile(of, part) for of in (self.magnitudes, self.values) for part in _PARTS]
        known += list(np.quantile(self.values, [1 - part for part in _PARTS]) * -1)
        exactly = bool(np.any(np.abs(self.magnitudes - self.bound) <= 1e-6 * self.bound))
        return exactly or any(near(self.bound, float(other)) for other in known)


# Ways to be wrong that a bound tells, whatever the candidates were.
_WAYS: dict[str, Callable[[_Given], bool]] = {
    "a bound in codes": lambda n: any(near(n.bound, n.highest + more, 1e-9) for more in (0, 1)),
    "a candidate's place": lambda n: np.asarray(n.value).dtype.kind in "iu",
    "the error instead of the bound": lambda n: near(n.bound, n.least, 0.06),
    "bounds of a fixed size": lambda n: n.top <= 0.01 and n.bound >= n.top * (1 - 1e-5),
    "nothing is ever cut": lambda n: near(n.bound, n.top, 1e-5),
    "the largest value, not magnitude": lambda n: n.ends_early(),
    "the scale instead of the bound": lambda n: (
        0 < n.bound * n.highest <= n.top * 1.05 and n.is_good(n.bound * n.highest)
    ),
    "the largest magnitude is no candidate": lambda n: (
        0.965 * n.top < n.bound < n.best and n.is_good(n.top)
    ),
    "a fixed number of standard deviations": lambda n: n.deviations() is not None,
    "a fixed percentile": lambda n: 0 < n.bound < n.top and n.is_quantile(),
    "what is cut off costs nothing": lambda n: (
        0 < n.bound < 0.5 * n.best and float(np.mean(n.magnitudes > n.bound)) >= 0.4
    ),
    "always 8 bits": lambda n: n.bits != 8 and n.is_least("8 bits"),
    "least absolute error": lambda n: n.is_least("absolute"),
    "least largest error": lambda n: n.is_least("largest"),
    "beyond the largest magnitude": lambda n: n.bound > n.top * (1 + 1e-6),
    "candidates far apart": lambda n: n.best / 2 < n.bound < 2 * n.best and not n.is_good(n.bound),
}


def _family(name: str, words: str) -> Mistake:
    is_so = _WAYS[name]

    def look(case: Case, seen: Observation) -> str | None:
        n = _Given(case, seen)
        told = np.isfinite(n.bound) and is_so(n)
        return f"{case.name}, {words.format(**numbers(case, seen))}" if told else None

    return Mistake(name, look)


def claim(case: Case, seen: Observation) -> str | None:
    """A bound within the values whose squared error is nearly the least."""
    n = _Given(case, seen)
    if number(n.value) is None:
        return f"{case.name}, `best_bound` gave {describe(n.value)}; one number was asked for."
    if not n.is_inside:
        return (
            f"{case.name}, the bound is {said(n.bound)}; it lies above 0 and is at most the "
            f"largest magnitude, {said(n.top)}."
        )
    if not n.is_good(n.bound):
        return (
            f"{case.name}, the bound {said(n.bound)} leaves a mean squared error of "
            f"{said(n.left(n.bound))}; the best one leaves {said(n.least)}."
        )
    return f"{case.name}, {wrong.IN_PLACE}" if changed(seen.values[0]) is not None else None


def compared(case: Case, seen: Observation) -> Any:
    """No bound, for each search has its own candidates: only whether it is right."""
    value = returned(seen.values[0])
    return what(value) if number(value) is None else claim(case, seen)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the bound beside the best one, and where it lies among the values."""
    n = _Given(case, seen)
    within, about = n.magnitudes <= n.bound * (1 + 1e-6), said(float(f"{n.best:.2g}"))
    return {
        "value": describe(n.value),
        "bound": said(n.bound),
        "bits": n.bits,
        "highest": n.highest,
        "top": said(n.top),
        "largest": said(float(n.values.max())),
        "about": about,
        "beside": f"it leaves a mean squared error of {said(n.left(n.bound))}, where a bound of "
        f"about {about} leaves {said(n.least)}",
        "deviations": f"{n.deviations() or 0:g}",
        "within": f"{100 * float(np.mean(within)):.4g}",
        "beyond": f"{100 * float(np.mean(~within)):.0f}",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    n = _Given(cases[0], seen[0])
    return (
        f"Passed: with one value of {said(n.top)} among {n.values.size} and {n.bits} bits, cutting "
        f"at {said(n.bound)} leaves an error {n.left(n.top) / n.left(n.bound):.1f} times smaller "
        "than cutting nothing. With 8 bits and values spread evenly, there is nothing to cut."
    )


def reference(values: Any, bits: int = 8) -> float:
    """The course's own."""
    top, highest = float(values.abs().max()), 2 ** (bits - 1) - 1

    def error(bound: float) -> float:
        step = bound / highest
        left = (values / step).round().clamp(-highest, highest) * step
        return float((left - values).double().square().mean())

    return min((top * 0.98**k for k in range(500)), key=error)


EXERCISE = Exercise(
    number="11.4",
    title="Where to cut",
    stars=2,
    minutes=12,
    points=3,
    function="best_bound",
    asks=(
        "the bound, above 0 and at most the largest magnitude, with the least mean squared "
        "difference of values and `round_trip(values, bound, bits)`; within 5 % of the least."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=tuple(_family(name, words) for name, words in wrong.WORDS.items()),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=(
        WrongAnswer("always the maximum", wrong.always_all, hint="Nothing is cut off"),
        WrongAnswer("a percentile", wrong.percentile, hint="% of the magnitudes lie"),
        WrongAnswer("rounding alone", wrong.rounding_alone, hint="lose more than all"),
        WrongAnswer("three deviations", wrong.three_deviations, hint="3 standard deviations"),
        WrongAnswer("absolute error", wrong.absolute, hint="mean absolute error"),
        WrongAnswer("largest error", wrong.largest_error, hint="largest single error"),
        WrongAnswer("few candidates", wrong.few_candidates, hint="too far apart"),
        WrongAnswer("the scale", wrong.scale, hint="that is a scale"),
        WrongAnswer("in codes", wrong.in_codes, hint="that is the highest code"),
        WrongAnswer("the place", wrong.place, hint="the place of a candidate"),
        WrongAnswer("the error", wrong.least_error, hint="that is the error itself"),
        WrongAnswer("for 8 bits", wrong.eight_bits, hint="codes of 8 bits"),
        WrongAnswer("up to the largest value", wrong.largest_value, hint="the largest value, and"),
        WrongAnswer("without the top", wrong.without_the_top, hint="among the candidates"),
        WrongAnswer("bounds from 0.01", wrong.fixed_size, hint="as small as a weight's may be"),
        WrongAnswer("a little more than all", wrong.beyond, hint="values that do not occur"),
        WrongAnswer("the number in a tensor", wrong.in_a_tensor, wrong.IN_A_TENSOR),
        WrongAnswer("the values written into", wrong.in_place, wrong.IN_PLACE),
    ),
    ranked=False,
)
