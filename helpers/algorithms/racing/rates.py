"""The learning rate of each way to train, searched on one budget for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def best_rate(
    seconds_of: Callable[[float, int], float],
    rates: Sequence[float],
    seeds: Sequence[int],
    budget: int,
) -> float:
    """The rate that is quickest on these seeds, found in `budget` trainings at most.

    Every rate is tried on the first seed. What is left of the budget goes to the rates in the order
    in which they reached the target there, quickest first (of equals the smaller rate): each is
    tried on all other seeds, as long as the budget holds that. Of those that were tried on all
    seeds the one with the smallest mean wins; a run that never arrives makes a mean infinite.
    Where all means are infinite it is the rate that arrived most often; of equals the smaller one.

    seconds_of: trains with a rate and a seed, and gives seconds, infinity for never; each call is
    one of the budget. Raises ValueError where the budget does not hold one rate on all seeds.
    """
    if budget < len(rates) + len(seeds) - 1:
        raise ValueError(
            f"{len(rates)} rates, one of them on {len(seeds)} seeds, take "
            f"{len(rates) + len(seeds) - 1} trainings; the budget is {budget}."
        )
    first, *others = seeds
    tried = {rate: [seconds_of(rate, first)] for rate in rates}
    order = sorted(rates, key=lambda rate: (tried[rate][0], rate))
    for rate in order[: (budget - len(rates)) // len(others) if others else len(rates)]:
        tried[rate] += [seconds_of(rate, seed) for seed in others]

    def worth(rate: float) -> tuple[float, int, float]:
        found = tried[rate]
        return sum(found) / len(found), -sum(map(math.isfinite, found)), rate

    return min((rate for rate in rates if len(tried[rate]) == len(seeds)), key=worth)
