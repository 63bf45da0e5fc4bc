"""Two ways to train on the same seeds: how much they differ, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Compared(NamedTuple):
    """difference: the mean of b − a, pair by pair. low, high: its 95 % interval. p: two-sided."""

    difference: float
    low: float
    high: float
    p: float


def compare(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float, float]:
    """The mean difference b − a over pairs, its 95 % interval, and the p of the paired t-test.

    a, b: a number for each seed, in the same order of seeds. Differences are taken for normally
    distributed. Raises ValueError for lists of different length, fewer than two pairs, or a run
    that never arrived, whose difference is no number.
    Source: Student, "The Probable Error of a Mean" (1908).
    """
    from scipy.stats import t  # type: ignore[import-untyped]

    if len(a) != len(b) or len(a) < 2:
        raise ValueError(f"{len(a)} and {len(b)} runs: pairs, two or more, are needed.")
    differences = [second - first for first, second in zip(a, b, strict=True)]
    if not all(map(math.isfinite, differences)):
        raise ValueError("A run that never arrived has no difference: say how many arrived.")
    n = len(differences)
    mean = sum(differences) / n
    error = math.sqrt(sum((d - mean) ** 2 for d in differences) / (n - 1) / n)
    reach = float(t.ppf(0.975, n - 1)) * error
    if error == 0:
        return mean, mean, mean, 1.0 if mean == 0 else 0.0
    return mean, mean - reach, mean + reach, 2 * float(t.sf(abs(mean) / error, n - 1))
