"""Right answers of lesson 10 in another style than the course's own."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from helpers.engine.servers.rule import Decision, Rule
from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    all_reduce_ring,
    reduce_scatter_ring,
)
from helpers.lessons.parameter_servers.algorithms.update_rules import Averaging, Synchronous

RIGHT: list[tuple[str, Callable[..., Any]]] = []  # each section adds its own


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


def half_in_two_halves(comm: Any, gradient: Any, dtype: Any) -> None:
    """The ring's halves, one after the other, on a buffer of its own; nothing for one rank."""
    if comm.size == 1:
        return
    half = gradient.new_empty(gradient.numel(), dtype=dtype)
    half.copy_(gradient.flatten() * (1 / comm.size))
    reduce_scatter_ring(comm, half)
    all_gather_ring(comm, half)
    gradient[...] = half.reshape(gradient.shape).double()


def half_with_padding(comm: Any, gradient: Any, dtype: Any) -> Any:
    """Pads to a multiple of N, and returns another tensor besides."""
    rows = -(-gradient.numel() // comm.size)
    padded = torch.zeros(rows * comm.size, dtype=dtype)
    padded[: gradient.numel()] = (gradient.reshape(-1) / comm.size).to(dtype)
    all_reduce_ring(comm, padded)
    gradient.view(-1).copy_(padded[: gradient.numel()])
    return padded


def half_by_numpy(comm: Any, gradient: Any, dtype: Any) -> None:
    """Into the gradient's memory by numpy; a ring of rows for what has several dimensions."""
    half = (gradient / comm.size).to(dtype)
    all_reduce_ring(comm, half)
    np.copyto(gradient.numpy(), half.to(torch.float64).numpy())


RIGHT += [
    ("10.1", half_by_owners),
    ("10.1", half_in_two_halves),
    ("10.1", half_with_padding),
    ("10.1", half_by_numpy),
]


# --- 10.2: a loss scale that finds itself ---------------------------------------------------------


def scale_by_powers(scale: float, good: int, finite: bool, interval: int) -> list[Any]:
    """The exponent goes up or down; a list of numpy's numbers."""
    good = (good + 1) * finite
    up = good == interval
    return [np.ldexp(scale, int(up) - (not finite)), np.int64(0 if up else good)]


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


class Scaled(NamedTuple):
    """A scale and its age."""

    scale: float
    good: int


def scale_with_names(scale: float, good: int, finite: bool, interval: int) -> Scaled:
    """By a remainder; a named tuple."""
    after = (good + 1) % interval if finite else 0
    factor = (2 if after == 0 else 1) if finite else 0.5
    return Scaled(scale * factor, after)


RIGHT += [
    ("10.2", scale_by_powers),
    ("10.2", scale_in_order),
    ("10.2", scale_with_names),
]


# --- 10.3: the largest, and a memory for the rest -------------------------------------------------


def largest_by_numpy(gradient: Any, error: Any, count: int) -> Any:
    """Numpy's partition, and what it gives."""
    wanted = (gradient + error).numpy()
    places = np.sort(np.argpartition(-np.abs(wanted), count - 1)[:count])
    rest = wanted.copy()
    rest[places] = 0
    return torch.from_numpy(places), torch.from_numpy(wanted[places]), torch.from_numpy(rest)


def largest_one_by_one(gradient: Any, error: Any, count: int) -> Any:
    """Plain Python; of equal ones the last."""
    wanted = [g + e for g, e in zip(gradient.tolist(), error.tolist(), strict=True)]
    best = sorted(range(len(wanted)), key=lambda at: (abs(wanted[at]), at))[-count:]
    left = [0.0 if at in best else number for at, number in enumerate(wanted)]
    sent = gradient.new_tensor([wanted[at] for at in sorted(best)])
    return torch.tensor(sorted(best)), sent, gradient.new_tensor(left)


def largest_by_mask(gradient: Any, error: Any, count: int) -> Any:
    """A mask of so many places, by their squares; a list."""
    wanted = error.add(gradient)
    mask = torch.zeros_like(wanted, dtype=torch.bool)
    mask[wanted.square().argsort(descending=True)[:count]] = True
    return [mask.nonzero().squeeze(1), wanted[mask], wanted * ~mask]


def largest_taken_off(gradient: Any, error: Any, count: int) -> Any:
    """What was sent is taken off the gradient, and the old error added: zeros but for rounding."""
    places, _ = torch.sort(torch.topk((gradient + error).abs(), count, sorted=False)[1])
    sent = torch.zeros_like(gradient)
    sent[places] = gradient[places] + error[places]
    return places, sent[places], gradient - sent + error


# --- 10.4: two thin factors -----------------------------------------------------------------------


def low_rank_by_gram_schmidt(comm: Any, matrix: Any, right: Any) -> Any:
    """Column by column, in place in its own P, as PowerSGD's own code does."""
    left = all_reduce_ring(comm, matrix @ right)
    for at, column in enumerate(left.T):
        for before in left.T[:at]:
            column -= (column @ before) * before
        column /= column.norm()
    new = all_reduce_ring(comm, matrix.T @ left)
    return left @ new.T, new


def low_rank_by_svd(comm: Any, matrix: Any, right: Any) -> Any:
    """Singular vectors; the mean of M·Q, whose directions are the sum's; Q′ the other way round."""
    left = torch.matmul(matrix, right) / comm.size
    all_reduce_ring(comm, left)
    left = torch.linalg.svd(left, full_matrices=False).U
    turned = (left.T @ matrix).contiguous()
    all_reduce_ring(comm, turned)
    return [torch.einsum("ik,kj->ij", left, turned), turned.T]


def low_rank_by_numpy(comm: Any, matrix: Any, right: Any) -> Any:
    """Numpy's QR, and sums of flat buffers by the ring's two halves."""
    m, q = matrix.numpy(), right.numpy()
    left = np.linalg.qr(_ring_sum(comm, m @ q))[0]
    new = _ring_sum(comm, m.T @ left)
    return torch.from_numpy(left @ new.T), torch.from_numpy(new)


def _ring_sum(comm: Any, array: Any) -> Any:
    flat = torch.from_numpy(np.ascontiguousarray(array).reshape(-1).copy())
    reduce_scatter_ring(comm, flat)
    return all_gather_ring(comm, flat).numpy().reshape(array.shape)


def low_rank_by_cholesky(comm: Any, matrix: Any, right: Any) -> Any:
    """PᵀP = L·Lᵀ, and P·L⁻ᵀ is orthonormal; begins with an orthonormal Q, of the same span."""
    left = all_reduce_ring(comm, matrix @ torch.linalg.qr(right).Q)
    factor = torch.linalg.cholesky(left.T @ left)
    left = torch.linalg.solve_triangular(factor, left.T, upper=False).T
    new = (matrix.T @ left).clone(memory_format=torch.contiguous_format)
    all_reduce_ring(comm, new)
    return left @ new.T, new


RIGHT += [
    ("10.3", largest_by_numpy),
    ("10.3", largest_one_by_one),
    ("10.3", largest_by_mask),
    ("10.3", largest_taken_off),
    ("10.4", low_rank_by_gram_schmidt),
    ("10.4", low_rank_by_svd),
    ("10.4", low_rank_by_numpy),
    ("10.4", low_rank_by_cholesky),
]


# --- 10.5: a mean that is a gradient --------------------------------------------------------------


class DiLoCoByRules(Averaging):
    """Lets `Rule` take the copy and make the update, for it knows how."""

    def __init__(self, weights: Any, workers: Any, outer: Any) -> None:
        Synchronous.__init__(self, weights, outer, workers)

    def apply(self, gradient: Any) -> None:
        """A gradient like any other."""
        Rule.apply(self, self.weights - gradient)


class DiLoCoAfterwards(Averaging):
    """Takes the mean over first, and the step then, with a deep copy that is made when needed."""

    def __init__(self, weights: Any, workers: Any, outer: Any = None) -> None:
        super().__init__(weights, workers)
        self.outer = outer

    def apply(self, gradient: Any) -> None:
        """`super()` counts."""
        old, self.optimizer = self.weights, self.optimizer or copy.deepcopy(self.outer)
        super().apply(gradient)
        self.weights = self.optimizer.step(old, old.sub(self.weights), self.version - 1)


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


def even_by_halving(
    compute: float, nbytes: float, workers: int, share: float, plain: float, compressed: float
) -> float:
    """Halves an interval of seconds that the dense bytes take, until both steps are as long."""
    coding = compressed - (compute + share * (plain - compute))
    if compute + coding <= compute:
        return math.inf
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if coding + share * middle < middle:
            high = middle
        else:
            low = middle
    return (2 - 2 / workers) * nbytes / high


def even_by_equations(
    compute: float, nbytes: float, workers: int, share: float, plain: float, compressed: float
) -> Any:
    """Three unknowns at a time: sending here, coding, and sending where both are even."""
    left = np.array([[1.0, 0.0, 0.0], [share, 1.0, 0.0], [0.0, 1.0, share - 1.0]])
    _, coding, even = np.linalg.solve(left, [plain - compute, compressed - compute, 0.0])
    return np.float64(2 * (workers - 1) * nbytes / workers / even) if coding > 0 else np.inf


RIGHT += [
    ("10.5", DiLoCoByRules),
    ("10.5", DiLoCoAfterwards),
    ("10.5", DiLoCoOfDifferences),
    ("10.6", even_by_the_link),
    ("10.6", even_by_halving),
    ("10.6", even_by_equations),
]
