"""Wrong promotions of ASHA, counted: by how many trials there are, and how many workers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving
from helpers.lessons.search.algorithms.promotions import Promotions, wrong_promotions
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments import search_clock
from helpers.lessons.search.experiments.search_processes import Search

Loss = Callable[[Job], float]
Make = Callable[[int, int, int, int], Search]
SPREAD = 4.0


class Share(NamedTuple):
    """Promotions out of the first rung, over some seeds.

    promoted, wrong: on average of a search. share: of all promotions, the part that was wrong.
    """

    trials: int
    workers: int
    promoted: float
    wrong: float

    @property
    def share(self) -> float:
        """Of the promotions, the part that a search which waits does not make."""
        return self.wrong / self.promoted if self.promoted else 0.0


def complete(
    trials: int,
    least: int,
    most: int,
    factor: int,
    loss: Loss,
    halving: Make = SuccessiveHalving,
) -> list[dict[int, float]]:
    """The losses of each rung where all results are known before anybody goes on."""
    search = halving(trials, least, most, factor)
    search_clock.on_clock(search, [1.0], loss, search.resources)
    return search.losses


def counted(
    trials: int,
    workers: int,
    loss: Loss,
    seed: int = 0,
    least: int = 1,
    most: int = 9,
    factor: int = 3,
    asha: Make = Asha,
    halving: Make = SuccessiveHalving,
) -> list[Promotions]:
    """One search by ASHA on the clock, its promotions held against synchronous halving's, by rung.

    seed: of the workers' speeds. asha, halving: what makes the searches, such as classes of
    one's own.
    """
    search = asha(trials, least, most, factor)
    speeds = search_clock.speeds(workers, SPREAD, seed)
    search_clock.on_clock(search, speeds, loss, search.resources)
    return wrong_promotions(search.losses, complete(trials, least, most, factor, loss, halving))


def shares(
    trials: Sequence[int],
    workers: Sequence[int],
    loss_of: Callable[[int], Loss],
    seeds: Sequence[int] = range(5),
    least: int = 1,
    most: int = 9,
    factor: int = 3,
    asha: Make = Asha,
    halving: Make = SuccessiveHalving,
) -> list[Share]:
    """The first rung's wrong promotions for each number of trials and of workers.

    loss_of: gives the losses of a seed, such as `lambda seed: Synthetic(seed, 0.3).loss`.
    """
    found = []
    for count in trials:
        for crew in workers:
            each = [
                counted(count, crew, loss_of(seed), seed, least, most, factor, asha, halving)[0]
                for seed in seeds
            ]
            promoted, wrong = (sum(column) / len(each) for column in zip(*each, strict=True))
            found.append(Share(count, crew, promoted, wrong))
    return found


def shuffled(loss: Loss, pool: int, seed: int) -> Loss:
    """The losses of a search's trials in another order, some of `pool` trials that are known.

    So a few trainings serve for many searches. Example: `shuffled(Models().loss, 81, seed)`.
    """
    order = np.random.default_rng(seed).permutation(pool)
    return lambda job: loss(job._replace(trial=int(order[job.trial])))


def expected(trials: int, factor: int = 3) -> tuple[float, float]:
    """What the paper expects of the first rung: (√n wrong promotions, their share of n/η).

    It is a rule of thumb, for how it grows: the share falls as 1/√n. Source: Li et al. (2020),
    section 3, with the Dvoretzky-Kiefer-Wolfowitz inequality: that is how far the ranks among those
    known so far are from the ranks among all.
    """
    wrong = math.sqrt(trials)
    return wrong, min(1.0, wrong * factor / trials)
