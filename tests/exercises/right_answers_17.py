"""Right answers of lesson 17 in another style than the course's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

RIGHT: list[tuple[str, Callable[..., Any]]] = []  # each section adds its own


# --- 17.1: how often to save ----------------------------------------------------------------------


def interval_in_hours(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    """All in hours, the bracket multiplied out; seconds at the end."""
    mean, delta = gpu_hours / gpus, save / 3600
    if delta >= 2 * mean:
        return 3600 * mean
    young = (2 * delta * mean) ** 0.5
    return 3600 * (young + delta / 3 + young * delta / mean / 18 - delta)


def interval_by_rates(save: float, restart: float, gpu_hours: float, gpus: int) -> Any:
    """Failures a second; numpy's numbers."""
    rate = np.float64(gpus) / (gpu_hours * 3600)
    x = save * rate / 2
    series = np.polynomial.polynomial.polyval(np.sqrt(x), [1, 1 / 3, 1 / 9])
    return np.where(x >= 1, 1 / rate, np.sqrt(2 * save / rate) * series - save)


def interval_by_bisection(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    """The best interval itself: where the share of time neither grows nor shrinks."""
    mtbf = 3600 * gpu_hours / gpus
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        if math.log1p(-middle) + middle + save / mtbf > 0:
            low = middle
        else:
            high = middle
    return low * mtbf


def interval_by_lambert(save: float, restart: float, gpu_hours: float, gpus: int) -> Any:
    """The same in one line of scipy."""
    from scipy.special import lambertw  # type: ignore[import-untyped]

    mtbf = 3600 * gpu_hours / gpus
    return (1 + lambertw(-np.exp(-1 - save / mtbf)).real) * mtbf


RIGHT += [
    ("17.1", interval_in_hours),
    ("17.1", interval_by_rates),
    ("17.1", interval_by_bisection),
    ("17.1", interval_by_lambert),
]


# --- 17.2: effective time -------------------------------------------------------------------------


def share_by_expm1(interval: float, save: float, restart: float, mtbf: float) -> Any:
    """As it is asked for, in torch's numbers."""
    length = torch.tensor((interval + save) / mtbf, dtype=torch.float64)
    return interval / (mtbf * math.exp(restart / mtbf) * torch.expm1(length))


def share_by_summing(interval: float, save: float, restart: float, mtbf: float) -> float:
    """The k-th save after a restart counts if nothing failed until then; add up all of them."""
    found, k = 0.0, 1
    while True:
        more = math.exp(-(restart + k * (interval + save)) / mtbf) * interval / mtbf
        found, k = found + more, k + 1
        if more < 1e-17:
            return found


def share_by_tries(interval: float, save: float, restart: float, mtbf: float) -> float:
    """The first try, and if it fails, as many as it takes with a restart before each."""
    fails = 1 - math.exp(-(interval + save) / mtbf)
    again = mtbf * (math.exp((restart + interval + save) / mtbf) - 1)
    return interval / (fails * mtbf + fails * again)


RIGHT += [("17.2", share_by_expm1), ("17.2", share_by_summing), ("17.2", share_by_tries)]
