"""Searches of a learning rate with one thing wrong (18.3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

SecondsOf = Callable[[float, int], float]
Found = Sequence[float]
Worth = Callable[[float, Found], Any]


def _worth(rate: float, found: Found) -> Any:
    return sum(found) / len(found), -sum(map(math.isfinite, found)), rate


def _search(
    worth: Worth = _worth,
    order: Callable[[float, float], Any] = lambda seconds, rate: (seconds, rate),
    whole: bool = True,
    rates_of: Callable[[Sequence[float]], Sequence[float]] = lambda rates: rates,
    most: int | None = None,
    ordered: bool = True,
) -> Callable[[SecondsOf, Sequence[float], Sequence[int], int], float]:
    """The right one with a part exchanged. order: who goes on first. whole: whether only rates with
    all seeds are compared. most: at most so many rates go on."""

    def best_rate(
        seconds_of: SecondsOf, rates: Sequence[float], seeds: Sequence[int], budget: int
    ) -> float:
        first, *others = seeds
        tried = {rate: [seconds_of(rate, first)] for rate in rates_of(rates)}
        goes = sorted(tried, key=lambda r: order(tried[r][0], r)) if ordered else list(tried)
        room = (budget - len(tried)) // len(others) if others else len(goes)
        for rate in goes[: room if most is None else most]:
            tried[rate] += [seconds_of(rate, seed) for seed in others]
        those = [r for r in tried if len(tried[r]) == len(seeds) or not whole]
        return min(those, key=lambda rate: worth(rate, tried[rate]))

    return best_rate


def _finite(rate: float, found: Found) -> Any:
    kept = [each for each in found if math.isfinite(each)]
    return (sum(kept) / len(kept) if kept else math.inf), rate


quickest_run = _search(worth=lambda rate, found: (min(found), rate))
finite_alone = _search(worth=_finite)
by_median = _search(worth=lambda rate, found: (statistics.median(found), rate))
first_of_equals = _search(worth=lambda rate, found: _worth(rate, found)[:2])
larger_of_equals = _search(worth=lambda rate, found: (*_worth(rate, found)[:2], -rate))
one_seed_counts = _search(whole=False)
first_seed_again = _search(worth=lambda rate, found: (found[0], rate))
without_first = _search(worth=lambda rate, found: _worth(rate, found[1:] or found))
never_how_often = _search(worth=lambda rate, found: (sum(found), rate))
slowest_go_on = _search(order=lambda seconds, rate: (-seconds, rate))
first_go_on = _search(ordered=False)
tries_all = _search(most=99)
one_seed = _search(most=0, whole=False)
stops_early = _search(rates_of=lambda rates: rates[:-1])


def trains_again(
    seconds_of: SecondsOf, rates: Sequence[float], seeds: Sequence[int], budget: int
) -> float:
    """Every rate on the first seed, and then some of them on all, the first once more."""
    first = {rate: seconds_of(rate, seeds[0]) for rate in rates}
    order = sorted(rates, key=lambda rate: (first[rate], rate))
    goes = order[: (budget - len(rates)) // len(seeds)]
    return min(goes or order, key=lambda rate: sum(seconds_of(rate, seed) for seed in seeds))
