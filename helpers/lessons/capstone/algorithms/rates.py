"""The learning rate of each way to train, searched on one budget for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def best_rate(
    result_of: Callable[[float, int], tuple[float, float]],
    rates: Sequence[float],
    seeds: Sequence[int],
    budget: int,
) -> float:
    """The rate that is quickest on these seeds, found in `budget` trainings at most.

    Every rate is tried on the first seed. What is left of the budget goes to the rates that did
    best there, quickest first: each is tried on all other seeds, as long as the budget holds that.
    Of those that were tried on all seeds the one with the smallest mean of seconds wins; a run that
    never arrives makes a mean infinite. Of rates that are equal in that, as those that never arrive
    are, the one that ended lower is better; of equals in both the smaller one.

    result_of: trains with a rate and a seed, and gives seconds, infinity for never, and the error
    at the end in %; each call is one of the budget. Raises ValueError where the budget does not
    hold one rate on all seeds.
    """
    if budget < len(rates) + len(seeds) - 1:
        raise ValueError(
            f"{len(rates)} rates, one of them on {len(seeds)} seeds, take "
            f"{len(rates) + len(seeds) - 1} trainings; the budget is {budget}."
        )
    first, *others = seeds
    tried = {rate: [result_of(rate, first)] for rate in rates}

    def worth(rate: float) -> tuple[float, float, float]:
        found = tried[rate]
        seconds = sum(seconds for seconds, _ in found) / len(found)
        return seconds, sum(end for _, end in found) / len(found), rate

    best_first = sorted(rates, key=worth)
    for rate in best_first[: (budget - len(rates)) // len(others) if others else len(rates)]:
        tried[rate] += [result_of(rate, seed) for seed in others]
    return min((rate for rate in rates if len(tried[rate]) == len(seeds)), key=worth)
