"""The α–β model: what a message costs, and what a collective made of messages costs.

A message of n bytes takes α + nβ seconds: α (the latency) is paid for every message however
small, β (one over the bandwidth) for every byte. Source: Hockney, "The communication challenge
for MPP: Intel Paragon and Meiko CS-2" (1994); for the collectives, Thakur, Rabenseifner and
Gropp (2005), sections 3 and 4, without their term for the additions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Fit(NamedTuple):
    """α in seconds and β in seconds a byte, as `alpha, beta = fit_latency_bandwidth(...)`."""

    alpha: float
    beta: float

    @property
    def latency(self) -> float:
        """Seconds that a message takes however small: α."""
        return self.alpha

    @property
    def bandwidth(self) -> float:
        """Bytes a second: 1/β, infinite where the bytes cost nothing."""
        return 1 / self.beta if self.beta else math.inf


class Cost(NamedTuple):
    """What is on a collective's critical path. tensors: in units of the whole tensor."""

    messages: float
    tensors: float


def _rounds(size: int) -> int:
    """⌈log₂ N⌉: how often 1 is doubled until it reaches N."""
    return (size - 1).bit_length()


def _halving_doubling(size: int) -> Cost:
    power = 1 << (size.bit_length() - 1)
    fold = 0 if power == size else 2
    return Cost(2 * _rounds(power) + fold, 2 * (power - 1) / power + fold)


_COSTS: dict[str, Callable[[int], Cost]] = {
    "message": lambda size: Cost(1, 1),
    "broadcast_naive": lambda size: Cost(size - 1, size - 1),
    "broadcast_tree": lambda size: Cost(_rounds(size), _rounds(size)),
    "reduce_naive": lambda size: Cost(min(size - 1, 1), size - 1),
    "reduce_tree": lambda size: Cost(_rounds(size), _rounds(size)),
    "all_reduce_naive": lambda size: Cost(min(size - 1, 1) + size - 1, 2 * (size - 1)),
    "all_reduce_tree": lambda size: Cost(2 * _rounds(size), 2 * _rounds(size)),
    "all_reduce_ring": lambda size: Cost(2 * (size - 1), 2 * (size - 1) / size),
    "all_reduce_halving_doubling": _halving_doubling,
}

ALGORITHMS = tuple(_COSTS)
"""The names that `predicted_seconds` knows: those of the functions, and "message"."""


def predicted_seconds(
    algorithm: str | Callable[..., object],
    size: int,
    nbytes: float,
    latency: float,
    bandwidth: float,
) -> float:
    """Seconds that a collective takes by the α–β model; additions and copies count as nothing.

    algorithm: the function, or its name. size: ranks. nbytes: of the whole tensor. latency: α in
    seconds. bandwidth: 1/β in bytes a second, `math.inf` allowed.
    Exact on the virtual clock for the naive ones and broadcast_tree; for the ring where N divides
    the length, and for reduce_tree and halving-doubling where N is a power of two (and the length
    divides). Otherwise a chunk of ⌈length/N⌉ makes it slightly more, an idle round less.
    Raises ValueError for an algorithm that sends no messages, or that it does not know.
    """
    name = algorithm if isinstance(algorithm, str) else getattr(algorithm, "__name__", "?")
    if name not in _COSTS:
        raise ValueError(f"No cost is known for {name!r}. Known are: {', '.join(ALGORITHMS)}.")
    if size < 1 or nbytes < 0 or latency < 0 or bandwidth <= 0:
        raise ValueError(
            "The model needs at least one rank, no negative bytes or latency, and a bandwidth "
            f"above zero; it got {size} ranks, {nbytes} B, {latency} s, {bandwidth} B/s."
        )
    cost = _COSTS[name](size)
    return cost.messages * latency + cost.tensors * nbytes / bandwidth


def fit_latency_bandwidth(sizes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """α and β that explain measured times best: least squares of the relative errors.

    sizes: bytes of each message. seconds: how long it took; both of the same length, at least two
    different sizes. Relative errors, because a time of 10 ms would otherwise drown all the small
    messages, which alone tell α. Neither comes out below zero: where the free fit has one
    negative, it is set to zero and the other is fitted anew.
    """
    n, t = np.asarray(sizes, dtype=float), np.asarray(seconds, dtype=float)
    if n.shape != t.shape or n.ndim != 1 or len(np.unique(n)) < 2:
        raise ValueError("A fit needs one time for each size, and at least two different sizes.")
    if not (np.all(t > 0) and np.all(n >= 0)):
        raise ValueError("Times must be above zero and sizes not below it.")
    scale = n.max()
    columns = np.stack([1 / t, n / scale / t], axis=1)  # relative: (α + nβ)/t should be 1
    ones = np.ones_like(t)
    alpha, beta = np.linalg.lstsq(columns, ones, rcond=None)[0]
    if alpha < 0:
        alpha, beta = 0.0, columns[:, 1].sum() / np.square(columns[:, 1]).sum()
    elif beta < 0:
        alpha, beta = columns[:, 0].sum() / np.square(columns[:, 0]).sum(), 0.0
    return Fit(float(alpha), float(beta) / float(scale))


class Interconnect(NamedTuple):
    """A link's published peak. gigabytes: GB (10⁹ bytes) a second in one direction.

    published: the figure as it is usually printed.
    """

    name: str
    gigabytes: float
    published: str

    @property
    def bandwidth(self) -> float:
        """Bytes a second in one direction."""
        return self.gigabytes * 1e9


INTERCONNECTS = (
    Interconnect("Ethernet 1 Gbit/s", 0.125, "1 Gb/s a direction"),
    Interconnect("Ethernet 10 Gbit/s", 1.25, "10 Gb/s a direction"),
    Interconnect("Ethernet 100 Gbit/s", 12.5, "100 Gb/s a direction"),
    Interconnect("InfiniBand FDR ×4", 6.8125, "54.5 Gb/s a direction"),
    Interconnect("InfiniBand EDR ×4", 12.5, "100 Gb/s a direction"),
    Interconnect("InfiniBand HDR ×4", 25.0, "200 Gb/s a direction"),
    Interconnect("InfiniBand NDR ×4", 50.0, "400 Gb/s a direction"),
    Interconnect("PCIe 3 ×16", 16.0, "16 GB/s a direction"),
    Interconnect("PCIe 4 ×16", 32.0, "32 GB/s a direction"),
    Interconnect("PCIe 5 ×16", 64.0, "64 GB/s a direction"),
    Interconnect("NVLink 1", 80.0, "160 GB/s a GPU, both directions together"),
    Interconnect("NVLink 2", 150.0, "300 GB/s a GPU, both directions together"),
    Interconnect("NVLink 3", 300.0, "600 GB/s a GPU, both directions together"),
    Interconnect("NVLink 4", 450.0, "900 GB/s a GPU, both directions together"),
    Interconnect("NVLink 5", 900.0, "1800 GB/s a GPU, both directions together"),
)
"""Peaks of the links that ranks talk over; see `INTERCONNECTS_SOURCE`."""

INTERCONNECTS_SOURCE = (
    "Peaks as secondary sources list them, not measured here; Ethernet's are in the names of its "
    "standards. Headers and protocols take a part: measure your own."
)
