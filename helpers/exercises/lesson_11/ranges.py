"""A range beside the values that it is for: what it leaves of them, and in which ways it is wrong.

For exercise 11.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from helpers.exercises.compare import number
from helpers.exercises.lesson_11.figures import Array, items, near
from helpers.exercises.spec import Case, Observation

# How near the least an error is: 5 % for a right range, and what tells other kinds of error.
_SLACK = {"squared": 1.05, "absolute": 1.02, "largest": 1.04, "8 bits": 1.03, "both sides": 1.02}
_ROUNDING = 1e-8  # of the values' mean square: where the least error is 0
_PARTS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)


def facts(batches: Sequence[Array], bits: int) -> dict[str, Any]:
    """Of each kind of error, the best bound that a dense search finds, and what it leaves.

    others: what the best bound leaves of what is kept by mistake.
    """
    values = joined(batches)
    found = {kind: best_bound(values, bits, kind) for kind in ("squared", "absolute", "largest")}
    found |= {"8 bits": best_bound(values, 8), "both sides": best_bound(values, bits, "both sides")}
    others = {name: best_bound(joined(some), bits)[1] for name, some in kept(batches).items()}
    return {"bits": bits, "kinds": found, "others": others}


def kept(batches: Sequence[Array]) -> dict[str, list[Array]]:
    """What an answer has that keeps the last batch, no copies, or what another one has seen."""
    last = batches[-1]
    return {
        "last": [last],
        "no copies": [*3 * [batches[2]], last],
        "another's": [4 * batches[0], *batches],
    }


def joined(batches: Sequence[Array]) -> Array:
    """All values of some batches, in doubles."""
    return np.concatenate([batch.ravel() for batch in batches]).astype(np.float64)


def best_bound(values: Array, bits: int, kind: str = "squared") -> tuple[float, float]:
    """The best bound and its error: coarsely, by parts of the largest magnitude, then finely."""
    values, weights = np.unique(values, return_counts=True)
    top = float(np.abs(values).max())
    error = partial(cut_error, values, bits=bits, kind=kind, weights=weights / weights.sum())
    bound = min(top * 0.97 ** np.arange(250), key=error)
    best = min([bound, *np.minimum(bound * np.linspace(0.97, 1.03, 61), top)], key=error)
    return float(best), error(best)


def cut(values: Any, bound: float) -> tuple[float, float]:
    """The range of some values, an array or a tensor, and 0, cut at −bound and bound."""
    return max(min(float(values.min()), 0.0), -bound), min(max(float(values.max()), 0.0), bound)


def cut_error(
    values: Array, bound: float, bits: int, kind: str = "squared", weights: Array | None = None
) -> float:
    """What is left where values are cut at a bound; "both sides": as if they lay on both."""
    ends = (-bound, bound) if kind == "both sides" else cut(values, bound)
    return _error(values, ends, bits, kind, weights)


def _error(
    values: Array, ends: tuple[float, float], bits: int, kind: str, weights: Array | None = None
) -> float:
    """What the steps of a range leave: mean squared, mean absolute or largest error."""
    low, high = min(ends[0], 0.0), max(ends[1], 0.0)
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
        self.batches: list[Array] = case.args[0][0]
        self.values = joined(self.batches)
        self.magnitudes: Array = np.abs(self.values)
        self.top = float(self.magnitudes.max())
        self.lowest, self.highest = cut(self.values, self.top)
        self.bits, self.kinds, self.others = (case.facts[k] for k in ("bits", "kinds", "others"))
        self.best, self.least = self.kinds["squared"]
        self.value = seen.values[0]["given"]
        ends = [number(end) for end in items(self.value, 2) or []]
        self.is_pair = len(ends) == 2 and None not in ends
        self.low, self.high = (float(end or 0) for end in ends) if self.is_pair else (np.nan,) * 2
        self.bound = max(-self.low, self.high)
        more = 1e-6 * self.top
        self.is_inside = self.lowest - more <= self.low < self.high <= self.highest + more

    def left(self, bound: float | None = None) -> float:
        """The mean squared error of the range, or where values are cut at a bound."""
        ends = (self.low, self.high) if bound is None else cut(self.values, bound)
        return _error(self.values, ends, self.bits, "squared")

    def is_good(self, low: float, high: float) -> bool:
        """Whether a range leaves hardly more than the least mean squared error."""
        rounding = _ROUNDING * float(np.mean(self.values**2))
        left = _error(self.values, (low, high), self.bits, "squared")
        return left <= _SLACK["squared"] * self.least + rounding

    def beyond(self) -> float:
        """The part of the values that the bound cuts off."""
        return float(np.mean(self.magnitudes > self.bound * (1 + 1e-6)))

    def is_least(self, kind: str) -> bool:
        """Whether the range is best by another kind of error, where that is another range."""
        best, least = self.kinds[kind]
        if not self.is_inside or self.is_good(*cut(self.values, best)):
            return False
        bits = 8 if kind == "8 bits" else self.bits
        return cut_error(self.values, self.bound, bits, kind) <= _SLACK[kind] * least

    def is_of(self, name: str) -> bool:
        """Whether the range is the one of what is kept by a mistake."""
        values = joined(kept(self.batches)[name])
        ends = zip(cut(values, self.bound), (self.low, self.high), strict=True)
        if not all(near(a, b, 1e-5) for a, b in ends):
            return False
        return cut_error(values, self.bound, self.bits) <= 1.05 * float(self.others[name])

    def is_largest_of_each(self) -> bool:
        """Whether the bound is the largest of those that are best for a batch by itself."""
        each = [best_bound(joined([batch]), self.bits)[0] for batch in self.batches]
        return near(self.bound, max(each), 0.05) and not self.is_good(*cut(self.values, max(each)))

    def ends_early(self) -> bool:
        """Whether the bound is best up to the largest value, where magnitudes are larger."""
        if self.highest > 0.99 * self.top or not 0 < self.bound <= self.highest * (1 + 1e-6):
            return False
        tried = (self.highest * n / 100 for n in range(1, 101))
        return self.left(self.bound) <= 1.05 * min(map(self.left, tried))

    def deviations(self) -> float:
        """How many standard deviations the bound is, where they are whole or halves; else 0."""
        times = self.bound / float(self.values.std())
        usual = float(np.round(2 * times)) / 2
        return usual if near(times, usual, 4e-4) else 0

    def is_quantile(self) -> bool:
        """Whether the bound is a usual quantile, of magnitudes or at one end."""
        ends = (self.magnitudes, self.bound), (self.values, self.high), (-self.values, -self.low)
        return any(
            end > 0 and near(end, float(part), 1e-5)
            for of, end in ends
            for where in ("linear", "lower", "higher")
            for part in np.quantile(of, _PARTS, method=where)
        )


# Ways to be wrong that a range tells, whatever the candidates were.
WAYS: dict[str, Callable[[Named], bool]] = {
    "the high end first": lambda n: n.low > n.high and n.is_good(n.high, n.low),
    "the last batch alone": lambda n: n.is_of("last"),
    "the largest of each batch's": lambda n: n.is_inside and n.is_largest_of_each(),
    "kept and not copied": lambda n: n.is_of("no copies"),
    "shared with another": lambda n: n.is_of("another's"),
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
    "steps on both sides of 0": lambda n: n.is_least("both sides"),
    "always 8 bits": lambda n: n.bits != 8 and n.is_least("8 bits"),
    "least absolute error": lambda n: n.is_least("absolute"),
    "least largest error": lambda n: n.is_least("largest"),
    "near the best": lambda n: n.best / 2 < n.bound < 2 * n.best,
}
