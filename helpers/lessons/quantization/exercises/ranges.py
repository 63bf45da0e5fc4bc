"""A range beside the values that it is for: what it leaves of them, and in which ways it is wrong.

For exercise 11.4.
"""

from collections.abc import Callable, Sequence
from math import isclose
from typing import Any

import numpy as np

from helpers.checks.compare import number
from helpers.checks.spec import Case, Observation


def joined(batches: Sequence[np.ndarray]) -> np.ndarray:
    """All values of some batches, in doubles."""
    return np.concatenate([batch.ravel() for batch in batches]).astype(np.float64)


def best_bound(values: np.ndarray, bits: int, kind: str = "squared") -> tuple[float, float]:
    """The best bound and its error: coarsely, by parts of the largest magnitude, then finely."""
    values, counts = np.unique(values, return_counts=True)
    weights, top = counts / counts.sum(), float(np.abs(values).max())

    def error(bound: float) -> float:
        return error_left(values, cut(values, bound), bits, kind, weights)

    bound = min(top * 0.97 ** np.arange(250), key=error)
    best = min([bound, *np.minimum(bound * np.linspace(0.97, 1.03, 61), top)], key=error)
    return float(best), error(best)


def cut(values: Any, bound: float) -> tuple[float, float]:
    """The range of some values, an array or a tensor, and 0, cut at −bound and bound."""
    return max(min(float(values.min()), 0.0), -bound), min(max(float(values.max()), 0.0), bound)


def error_left(
    values: np.ndarray, ends: tuple[float, float], bits: int, kind: str, weights: Any = None
) -> float:
    """What the steps of a range leave: mean "squared", mean "absolute" or "largest" error.

    kind: "both sides" is the squared one where steps reach as far on the other side of 0. weights:
    (values,), how much each counts, or None.
    """
    low, high = min(ends[0], 0.0), max(ends[1], 0.0)
    if kind == "both sides":
        low, high = min(low, -high), max(high, -low)
    with np.errstate(all="ignore"):  # of a range so narrow that it is lost
        step = (high - low) / (2**bits - 1)
        left = np.minimum(np.maximum(np.rint(values / step) * step, low), high)
        off = np.abs(left - values)
        if kind == "largest":
            return float(off.max())
        off = off if kind == "absolute" else off * off
        return float(off.mean() if weights is None else off @ weights)


class Named:
    """The range that an answer named, beside all of a case's values; NaN where it named none.

    bound: where it cuts magnitudes. best, least: the bound of the least error, and that.
    """

    def __init__(self, case: Case, seen: Observation) -> None:
        self.batches: list[np.ndarray] = case.args[0][0]
        self.bits = (*case.args[0][1:], 8)[0]
        self.values = joined(self.batches)
        self.magnitudes: np.ndarray = np.abs(self.values)
        self.top = float(self.magnitudes.max())
        self.lowest, self.highest = cut(self.values, self.top)
        self.best, self.least = case.facts["best"]
        self.value = seen.values[0]["given"]
        given = self.value if type(self.value) in (tuple, list) else []
        ends = [number(end) for end in given]
        self.is_pair = len(ends) == 2 and None not in ends
        self.low, self.high = (float(end or 0) for end in ends) if self.is_pair else (np.nan,) * 2
        self.bound = max(-self.low, self.high)
        more = 1e-6 * self.top
        self.is_inside = self.lowest - more <= self.low < self.high <= self.highest + more

    def left(self, low: float, high: float) -> float:
        """The mean squared error that a range leaves."""
        return error_left(self.values, (low, high), self.bits, "squared")

    def is_good(self, low: float, high: float) -> bool:
        """Whether a range leaves hardly more than the least."""
        rounding = 1e-8 * float(np.mean(self.values**2))  # where the least error is 0
        return self.left(low, high) <= 1.05 * self.least + rounding

    def beyond(self) -> float:
        """The part of the values that the bound cuts off."""
        return float(np.mean(self.magnitudes > self.bound * (1 + 1e-6)))

    def is_least(self, kind: str, slack: float, bits: int | None = None) -> bool:
        """Whether the range is best by another kind of error, where that is another range."""
        bits = bits or self.bits
        best, least = best_bound(self.values, bits, kind)
        if not self.is_inside or self.is_good(*cut(self.values, best)):
            return False
        ends = cut(self.values, self.bound)
        return error_left(self.values, ends, bits, kind) <= slack * least

    def is_of(self, *batches: np.ndarray) -> bool:
        """Whether the range is the one of other batches, kept by a mistake."""
        values = joined(batches)
        ends, least = cut(values, self.bound), best_bound(values, self.bits)[1]
        is_near = np.allclose(ends, (self.low, self.high), rtol=1e-5, atol=0)
        return is_near and error_left(values, ends, self.bits, "squared") <= 1.05 * least

    def is_largest_of_each(self) -> bool:
        """Whether the bound is the largest of those that are best for a batch by itself."""
        most = max(best_bound(joined([batch]), self.bits)[0] for batch in self.batches)
        return isclose(self.bound, most, rel_tol=0.05) and not self.is_good(*cut(self.values, most))

    def ends_early(self) -> bool:
        """Whether the bound is best up to the largest value, where magnitudes are larger."""
        if self.highest > 0.99 * self.top or not 0 < self.bound <= self.highest * (1 + 1e-6):
            return False
        bounds = self.bound, *(self.highest * n / 100 for n in range(1, 101))
        mine, *others = (self.left(*cut(self.values, bound)) for bound in bounds)
        return mine <= 1.05 * min(others)

    def deviations(self) -> float:
        """How many standard deviations the bound is, where they are whole or halves; else 0."""
        times = self.bound / float(self.values.std())
        usual = float(np.round(2 * times)) / 2
        return usual if isclose(times, usual, rel_tol=4e-4) else 0

    def is_quantile(self) -> bool:
        """Whether the bound is a usual quantile, of magnitudes or at one end."""
        parts = (0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
        if len(np.unique(self.magnitudes)) < 100:
            return False  # of few values any one is some quantile
        ends = (self.magnitudes, self.bound), (self.values, self.high), (-self.values, -self.low)
        return any(
            end > 0 and isclose(end, part, rel_tol=1e-5)
            for of, end in ends
            for where in ("linear", "lower", "higher")
            for part in np.quantile(of, parts, method=where)
        )


# Ways to be wrong that a range tells, whatever the candidates were.
WAYS: dict[str, Callable[[Named], bool]] = {
    "the high end first": lambda n: n.low > n.high and n.is_good(n.high, n.low),
    "the last batch alone": lambda n: n.is_of(n.batches[3]),
    "the largest of each batch's": lambda n: n.is_inside and n.is_largest_of_each(),
    "kept and not copied": lambda n: n.is_of(*3 * [n.batches[2]], n.batches[3]),
    "shared with another": lambda n: n.is_of(4 * n.batches[0], *n.batches),
    "both ends alike": lambda n: not n.is_inside and n.low == -n.high < 0 and n.bound <= n.top,
    "beyond what was seen": lambda n: n.low < n.high and not n.is_inside,
    "another end": lambda n: n.is_good(*cut(n.values, n.bound)),
    "bounds of a fixed size": lambda n: n.top <= 0.01 and n.bound >= n.top * (1 - 1e-5),
    "too far out": lambda n: n.bound > 5 * n.best,
    "nothing is ever cut": lambda n: n.bound >= n.top * (1 - 1e-5),
    "the largest value, not magnitude": lambda n: n.ends_early(),
    "the largest magnitude is no candidate": lambda n: (
        0.965 * n.top < n.bound < n.best and n.is_good(*cut(n.values, n.top))
    ),
    "a fixed number of standard deviations": lambda n: n.deviations() >= 1,
    "a fixed percentile": lambda n: n.is_quantile(),
    "what is cut off costs nothing": lambda n: n.bound < 0.5 * n.best and n.beyond() >= 0.4,
    "steps on both sides of 0": lambda n: n.is_least("both sides", 1.02),
    "always 8 bits": lambda n: n.bits != 8 and n.is_least("squared", 1.03, 8),
    "least absolute error": lambda n: n.is_least("absolute", 1.02),
    "least largest error": lambda n: n.is_least("largest", 1.04),
    "near the best": lambda n: n.best / 2 < n.bound < 2 * n.best,
}
