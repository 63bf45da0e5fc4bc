"""Searches of a learning rate with one thing wrong (18.3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

Result = tuple[float, float]  # seconds, and the error at the end
ResultOf = Callable[[float, int], Result]
Found = Sequence[Result]
Worth = Callable[[float, Found], Any]


def _mean(found: Found, part: int = 0) -> float:
    return sum(each[part] for each in found) / len(found)


def _worth(rate: float, found: Found) -> Any:
    return _mean(found), _mean(found, 1), rate


def _search(
    worth: Worth = _worth,
    order: Worth = _worth,
    whole: bool = True,
    rates_of: Callable[[Sequence[float]], Sequence[float]] = lambda rates: rates,
    most: int | None = None,
    ordered: bool = True,
) -> Callable[[ResultOf, Sequence[float], Sequence[int], int], float]:
    """The right one with a part exchanged. order: who goes on first. whole: whether only rates with
    all seeds are compared. most: at most so many rates go on."""

    def best_rate(
        result_of: ResultOf, rates: Sequence[float], seeds: Sequence[int], budget: int
    ) -> float:
        first, *others = seeds
        tried = {rate: [result_of(rate, first)] for rate in rates_of(rates)}
        goes = sorted(tried, key=lambda r: order(r, tried[r])) if ordered else list(tried)
        room = (budget - len(tried)) // len(others) if others else len(goes)
        for rate in goes[: room if most is None else most]:
            tried[rate] += [result_of(rate, seed) for seed in others]
        those = [r for r in tried if len(tried[r]) == len(seeds) or not whole]
        return min(those, key=lambda rate: worth(rate, tried[rate]))

    return best_rate


def _finite(rate: float, found: Found) -> Any:
    kept = [each for each in found if math.isfinite(each[0])]
    return (_mean(kept) if kept else math.inf), _mean(found, 1), rate


def _median(rate: float, found: Found) -> Any:
    return statistics.median(seconds for seconds, _ in found), _mean(found, 1), rate


quickest_run = _search(worth=lambda rate, found: (min(found), rate))
finite_alone = _search(worth=_finite)
by_median = _search(worth=_median)
first_of_equals = _search(worth=lambda rate, found: _worth(rate, found)[:2])
larger_of_equals = _search(worth=lambda rate, found: (*_worth(rate, found)[:2], -rate))
one_seed_counts = _search(whole=False)
first_seed_again = _search(worth=lambda rate, found: (*found[0], rate))
without_first = _search(worth=lambda rate, found: _worth(rate, found[1:] or found))
end_is_not_asked = _search(worth=lambda rate, found: (_mean(found), rate))
end_nowhere = _search(
    worth=lambda rate, found: (_mean(found), rate), order=lambda rate, found: (found[0][0], rate)
)
by_the_end = _search(worth=lambda rate, found: (_mean(found, 1), rate))
smallest_go_on = _search(order=lambda rate, found: (found[0][0], rate))
slowest_go_on = _search(order=lambda rate, found: (-found[0][0], rate))
lowest_go_on = _search(order=lambda rate, found: (found[0][1], rate))
first_go_on = _search(ordered=False)
tries_all = _search(most=99)
one_seed = _search(most=0, whole=False)
stops_early = _search(rates_of=lambda rates: rates[:-1])


def trains_again(
    result_of: ResultOf, rates: Sequence[float], seeds: Sequence[int], budget: int
) -> float:
    """Every rate on the first seed, and then some of them on all, the first once more."""
    first = {rate: result_of(rate, seeds[0]) for rate in rates}
    order = sorted(rates, key=lambda rate: (*first[rate], rate))
    goes = order[: (budget - len(rates)) // len(seeds)]
    return min(goes or order, key=lambda rate: sum(result_of(rate, seed)[0] for seed in seeds))
