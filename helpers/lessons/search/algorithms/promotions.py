"""What it costs to promote before all is known: who went on that would not have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Promotions(NamedTuple):
    """From one rung to the next: how many went on, and how many of them by mistake."""

    promoted: int
    wrong: int

    @property
    def share(self) -> float:
        """Of those that went on, the part that should not have; 0 where nobody did."""
        return self.wrong / self.promoted if self.promoted else 0.0


def wrong_promotions(
    found: Sequence[Mapping[int, float]], complete: Sequence[Mapping[int, float]]
) -> list[Promotions]:
    """Of each rung but the last: promotions, and how many a search that waits does not make.

    found: the losses of each rung by trial, of a search that promotes early. complete: those of
    synchronous halving with the same trials, rungs and losses, which knows a whole rung before it
    promotes. Raises ValueError where the two do not have as many rungs.
    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), section 3:
    of n trials in the first rung about √n are promoted by mistake, so their share falls with n.
    """
    if len(found) != len(complete):
        raise ValueError(
            f"Both searches have the same rungs, not {len(found)} and {len(complete)}."
        )
    counts = []
    for early, patient in zip(found[1:], complete[1:], strict=True):
        counts.append(Promotions(len(early), len(set(early) - set(patient))))
    return counts


def expected(trials: int, factor: int = 3) -> tuple[float, float]:
    """What the paper expects of the first rung: (√n wrong promotions, their share of n/η).

    It is a rule of thumb, for how it grows: the share falls as 1/√n. Source: Li et al. (2020),
    section 3, with the Dvoretzky-Kiefer-Wolfowitz inequality: that is how far the ranks among those
    known so far are from the ranks among all.
    """
    wrong = math.sqrt(trials)
    return wrong, min(1.0, wrong * factor / trials)
