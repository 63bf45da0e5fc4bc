"""Answers to lesson 09 that no table lists: what each is told, and right ones that pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from helpers.checks import find
from helpers.lessons.bandwidth.algorithms.mesh import Group
from helpers.lessons.bandwidth.algorithms.scaling import ring_speedup
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from tests.checks.table import Table, is_told


def relative(workers: Any, seconds: Any, nbytes: float, bandwidth: float) -> np.ndarray:
    """A row a run, divided by its time."""
    n, t = np.array(workers, float), np.array(seconds)
    return np.stack([n**0, 2 * (n - 1), 2 * (n - 1) * nbytes / n / bandwidth], 1) / t[:, None]


def one_by_one(worst: Callable[[Sequence[float]], int]) -> Callable[..., Any]:
    """A fit that leaves columns out one after the other. worst: which, of those below zero."""

    def fit(*given: Any) -> tuple[float, ...]:
        columns, kept = relative(*given), [0, 1, 2]
        while True:
            found = np.linalg.lstsq(columns[:, kept], np.ones(len(columns)), rcond=None)[0]
            below = [at for at, value in enumerate(found) if value < 0]
            if not below:
                break
            del kept[below[worst([found[at] for at in below])]]
        three = np.zeros(3)
        three[kept] = found
        return three[0], three[1], 1 / three[2] if three[2] else np.inf

    return fit


def by_logarithms(*given: Any) -> tuple[float, ...]:
    """Least squares of the logarithms, by Gauss and Newton from the best fit on."""
    found = np.array(one_by_one(lambda values: int(np.argmin(values)))(*given))
    if found[2] == np.inf or not found[1]:
        return tuple(found)
    found[2] = 1 / found[2]
    for _ in range(20):
        fitted = relative(*given) * np.array(given[1])[:, None]
        ratio = fitted @ found
        step = np.linalg.lstsq(fitted / ratio[:, None], np.log(given[1] / ratio), rcond=None)[0]
        found = found + step
    return found[0], found[1], 1 / found[2]


def ring_after_ring(comm: Any, tensor: Any) -> None:
    all_reduce_ring(comm, tensor)
    all_reduce_ring(Group(comm, comm.host_ranks), tensor)  # type: ignore[arg-type]


def in_16_bits(comm: Any, tensor: Any) -> None:
    half = tensor.half()
    all_reduce_ring(comm, half)
    tensor.copy_(half)


@pytest.mark.parametrize(
    "worst", [lambda values: 0, lambda values: -1, lambda values: int(np.argmin(values))]
)
def test_columns_may_be_left_out_in_any_order(worst: Callable[[Sequence[float]], int]) -> None:
    table = Table(find("09.3"))
    for seed in range(6):
        assert table.verdict(one_by_one(worst), seed).status == "passed", seed


@pytest.mark.parametrize(
    ("number", "answer", "told"),
    [
        ("09.1", lambda *given: max(1.0, ring_speedup(*given)), "you say 1 times as many"),
        ("09.3", by_logarithms, "times off by 20%, your"),
        ("09.4", ring_after_ring, "every value is 2 times too large"),
        ("09.4", in_16_bits, "is not the sum over all ranks"),
    ],
)
def test_it_is_told_what_was_seen(number: str, answer: Any, told: str) -> None:
    is_told(number, answer, told)
