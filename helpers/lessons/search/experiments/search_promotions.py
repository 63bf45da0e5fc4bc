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

Loss = Callable[[Job], float]
SPREAD = 4.0


class Share(NamedTuple):
    """Promotions out of the first rung, over some seeds.

    promoted, wrong: on average of a search. share: of all promotions, the part that was wrong.
    """

    trials: int
    promoted: float
    wrong: float

    @property
    def share(self) -> float:
        """Of the promotions, the part that a search which waits does not make."""
        return self.wrong / self.promoted if self.promoted else 0.0


def counted(
    trials: int, workers: int, loss: Loss, seed: int = 0, least: int = 1, most: int = 9
) -> list[Promotions]:
    """One search by ASHA on the clock, its promotions held against synchronous halving's, by rung.

    seed: of the workers' speeds.
    """
    speeds = search_clock.speeds(workers, SPREAD, seed)
    early, patient = Asha(trials, least, most), SuccessiveHalving(trials, least, most)
    search_clock.on_clock(early, speeds, loss, early.resources)
    search_clock.on_clock(patient, [1.0], loss, patient.resources)
    return wrong_promotions(early.losses, patient.losses)


def share(
    trials: int,
    workers: int,
    loss_of: Callable[[int], Loss],
    seeds: Sequence[int],
    least: int = 1,
    most: int = 3,
) -> Share:
    """The first rung's wrong promotions, on average of some seeds.

    loss_of: gives the losses of a seed, such as `lambda seed: Synthetic(seed, 0.3).loss`.
    """
    each = [counted(trials, workers, loss_of(seed), seed, least, most)[0] for seed in seeds]
    promoted, wrong = (sum(column) / len(each) for column in zip(*each, strict=True))
    return Share(trials, promoted, wrong)


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
