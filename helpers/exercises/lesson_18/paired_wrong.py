"""Comparisons of two lists of runs with one thing wrong (18.4)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.racing.paired import compare

Numbers = Sequence[float]
Four = tuple[float, float, float, float]


def _t() -> Any:
    from scipy.stats import t  # type: ignore[import-untyped]

    return t


def _checked(a: Numbers, b: Numbers) -> list[float]:
    compare(a, b)  # raises what is to be raised
    return [y - x for x, y in zip(a, b, strict=True)]


def _four(
    mean: float, error: float, degrees: float, share: float = 0.975, p_of: Any = None
) -> Four:
    reach = float(_t().ppf(share, degrees)) * error
    if error == 0:
        return mean, mean - reach, mean + reach, 1.0
    p = 2 * float(_t().sf(abs(mean) / error, degrees))
    return mean, mean - reach, mean + reach, p


def _paired(
    error_of: Callable[[list[float]], float] = lambda d: statistics.stdev(d) / math.sqrt(len(d)),
    degrees: Callable[[int], int] = lambda n: n - 1,
    share: float = 0.975,
    p: Callable[[float], float] = lambda p: p,
) -> Callable[[Numbers, Numbers], Four]:
    """The right one with a part exchanged."""

    def wrongly(a: Numbers, b: Numbers) -> Four:
        d = _checked(a, b)
        mean, low, high, found = _four(statistics.mean(d), error_of(d), degrees(len(d)), share)
        return mean, low, high, p(found)

    return wrongly


def _apart(a: Numbers, b: Numbers) -> tuple[float, float]:
    error = math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))
    return statistics.mean(b) - statistics.mean(a), error


def unpaired(a: Numbers, b: Numbers) -> Four:
    _checked(a, b)
    return _four(*_apart(a, b), len(a) + len(b) - 2)


def welch(a: Numbers, b: Numbers) -> Four:
    _checked(a, b)
    mean, error = _apart(a, b)
    x, y = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    degrees = (x + y) ** 2 / (x**2 / (len(a) - 1) + y**2 / (len(b) - 1))
    return _four(mean, error, degrees)


def p_unpaired(a: Numbers, b: Numbers) -> Four:
    return (*compare(a, b)[:3], unpaired(a, b)[3])


def reversed_(a: Numbers, b: Numbers) -> Four:
    return compare(b, a)


def sorted_first(a: Numbers, b: Numbers) -> Four:
    _checked(a, b)
    return compare(sorted(a), sorted(b))


def normal(a: Numbers, b: Numbers) -> Four:
    mean, _, _, p = compare(a, b)
    d = _checked(a, b)
    reach = 1.96 * statistics.stdev(d) / math.sqrt(len(d))
    return mean, mean - reach, mean + reach, p


n_degrees = _paired(degrees=lambda n: n)
two_lists_degrees = _paired(degrees=lambda n: 2 * n - 2)
population = _paired(error_of=lambda d: statistics.pstdev(d) / math.sqrt(len(d)))
spread = _paired(error_of=lambda d: statistics.stdev(d))
one_sided = _paired(p=lambda p: p / 2)
one_sided_interval = _paired(share=0.95)
confidence = _paired(p=lambda p: 1 - p)


def relative(a: Numbers, b: Numbers) -> Four:
    mean, low, high, p = compare(a, b)
    base = statistics.mean(a)
    return mean / base, low / base, high / base, p


def medians(a: Numbers, b: Numbers) -> Four:
    return statistics.median(b) - statistics.median(a), *compare(a, b)[1:]


def statistic(a: Numbers, b: Numbers) -> Four:
    d = _checked(a, b)
    error = statistics.stdev(d) / math.sqrt(len(d))
    return *compare(a, b)[:3], statistics.mean(d) / error if error else 0.0


def drops_infinite(a: Numbers, b: Numbers) -> Four:
    if len(a) != len(b):
        raise ValueError("No pairs.")
    kept = [(x, y) for x, y in zip(a, b, strict=True) if math.isfinite(y - x)]
    return compare([x for x, _ in kept], [y for _, y in kept])


def cuts(a: Numbers, b: Numbers) -> Four:
    n = min(len(a), len(b))
    return compare(a[:n], b[:n])


def one_pair(a: Numbers, b: Numbers) -> Four:
    if len(a) == len(b) == 1:
        return b[0] - a[0], b[0] - a[0], b[0] - a[0], 1.0
    return compare(a, b)
