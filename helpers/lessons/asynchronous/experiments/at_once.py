"""Trainings that have nothing to do with each other, on as many cores as there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

import helpers
from helpers.course.setup.machine import usable_cores

Result = TypeVar("Result")
_MOST = 8  # processes: each has a copy of what the function refers to


def at_once(function: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> list[Result]:
    """`function(*call)` for each of some calls, in their order; each core takes its share.

    Every process computes with one thread, so that results do not depend on how many there are.
    Raises RankFailed where a call raises, with its traceback.
    """
    ranks = max(1, min(_MOST, int(usable_cores()), len(calls)))
    shares = helpers.run(_share, function, list(calls), ranks=ranks, timeout=900)
    return [shares[number % ranks][number // ranks] for number in range(len(calls))]


def _share(
    comm: Any, function: Callable[..., Result], calls: list[tuple[Any, ...]]
) -> list[Result]:
    torch.set_num_threads(1)
    return [function(*call) for call in calls[comm.rank :: comm.size]]
