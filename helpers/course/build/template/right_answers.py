"""Right answers to the exercises of lesson NN in another style than the course's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def mean_of_a_stack(comm: Any, mine: Any) -> Any:
    """Gathers from the last rank on, stacks and takes the mean."""
    if comm.rank:
        comm.isend(mine, 0).wait()
        return None
    return torch.stack([mine, *(comm.recv(r) for r in range(comm.size - 1, 0, -1))]).mean(0)


def steps_in_a_loop(rows: int, batch: int) -> int:
    """Takes batches until nothing is left."""
    steps = 0
    while rows > 0:
        rows, steps = rows - batch, steps + 1
    return steps


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("NN.1", mean_of_a_stack),
    ("NN.2", steps_in_a_loop),
]
