"""Right answers of lesson 10 in another style than the course's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.engine.servers.rule import Decision, Rule
from helpers.lessons.messages.algorithms.collectives import (
    all_reduce_ring,
)

# --- 10.1: half the bits --------------------------------------------------------------------------


def half_by_owners(comm: Any, gradient: Any, dtype: Any) -> Any:
    """Each rank owns a part, adds up what all give of it in float64, and tells it in 16 bits."""
    flat = gradient.view(-1)
    parts = [(flat[start:stop] / comm.size).to(dtype) for start, stop in _cut(flat, comm.size)]
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    sending = [comm.isend(parts[rank], rank) for rank in others]
    mine = parts[comm.rank].double()
    for rank in others:
        mine = mine + comm.recv(rank).double()
    told = mine.to(dtype)
    sending += [comm.isend(told, rank) for rank in others]
    for rank, (start, stop) in enumerate(_cut(flat, comm.size)):
        flat[start:stop] = told if rank == comm.rank else comm.recv(rank)
    for request in sending:
        request.wait()
    return gradient


def _cut(flat: Any, size: int) -> list[tuple[int, int]]:
    return [(r * len(flat) // size, (r + 1) * len(flat) // size) for r in range(size)]


# --- 10.2: a loss scale that finds itself ---------------------------------------------------------


def scale_in_order(scale: float, good: int, finite: bool, interval: int) -> Any:
    """Counts first, and looks afterwards, as torch's `GradScaler` does; a tensor among them."""
    if finite:
        good += 1
        if good >= interval:
            scale *= 2.0
            good = 0
    else:
        scale *= 0.5
        good = 0
    return torch.tensor(scale, dtype=torch.float64), good


# --- 10.3: the largest, and a memory for the rest -------------------------------------------------


def largest_taken_off(gradient: Any, error: Any, count: int) -> Any:
    """What was sent is taken off the gradient, and the old error added: zeros but for rounding."""
    places, _ = torch.sort(torch.topk((gradient + error).abs(), count, sorted=False)[1])
    sent = torch.zeros_like(gradient)
    sent[places] = gradient[places] + error[places]
    return places, sent[places], gradient - sent + error


# --- 10.4: two thin factors -----------------------------------------------------------------------


def low_rank_by_svd(comm: Any, matrix: Any, right: Any) -> Any:
    """Singular vectors; the mean of M·Q, whose directions are the sum's; Q′ the other way round."""
    left = torch.matmul(matrix, right) / comm.size
    all_reduce_ring(comm, left)
    left = torch.linalg.svd(left, full_matrices=False).U
    turned = (left.T @ matrix).contiguous()
    all_reduce_ring(comm, turned)
    return [torch.einsum("ik,kj->ij", left, turned), turned.T]


# --- 10.5: a mean that is a gradient --------------------------------------------------------------


class DiLoCoOfDifferences(Rule):
    """A rule of its own: adds up what each worker moved, as it comes, in a tensor of its own."""

    pushes = "weights"

    def __init__(self, weights: Any, workers: int, outer: Any) -> None:
        super().__init__(weights, outer, workers)
        self.came: list[int] = []
        self.moved = torch.zeros_like(weights)

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Releases the last one first."""
        self.came.append(worker)
        self.moved += (self.weights - gradient) / len(self.workers)
        if len(self.came) < len(self.workers):
            return Decision()
        self.apply(self.moved.clone())
        self.moved.zero_()
        came, self.came = self.came, []
        return Decision(tuple(reversed(came)))


# --- 10.6: when does it pay? ----------------------------------------------------------------------


def even_by_the_link(
    compute: float, nbytes: float, workers: int, share: float, plain: float, compressed: float
) -> Any:
    """How many times as quick as the link that was measured; a tensor."""
    dense, less = plain - compute, compressed - compute
    if less <= share * dense:
        return float("inf")
    link = torch.tensor(2 * nbytes * (workers - 1) / (workers * dense), dtype=torch.float64)
    return link * (dense - share * dense) / (less - share * dense)


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("10.1", half_by_owners),
    ("10.2", scale_in_order),
    ("10.3", largest_taken_off),
    ("10.4", low_rank_by_svd),
    ("10.5", DiLoCoOfDifferences),
    ("10.6", even_by_the_link),
]
