"""Right answers to lesson 09 that differ from the references: other fits, leaders, other ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.lessons.bandwidth.algorithms.mesh import Group
from helpers.lessons.messages.algorithms.collectives import (
    all_reduce_ring,
    broadcast_tree,
    reduce_naive,
)

# --- 09.1 and 09.2: formulas ----------------------------------------------------------------------


def speedup_by_rates(
    workers: int, compute: float, nbytes: float, latency: float, bandwidth: float
) -> Any:
    """Batches a second of all over those of one; the ring step by step; a tensor."""
    step = compute
    for _ in range(2):
        for _ in range(workers - 1):
            step += latency + nbytes / (workers * bandwidth)
    return torch.tensor(workers / step / (1 / compute), dtype=torch.float64)


def servers_by_cases(
    workers: int, servers: int, nbytes: float, latency: float, bandwidth: float
) -> Any:
    """An `if` in place of a maximum; a numpy number."""
    wire = np.float64(nbytes / bandwidth)
    if workers > servers:
        wire = wire * workers / servers
    return 2 * latency + 2 * wire


# --- 09.3: fits -----------------------------------------------------------------------------------


def _columns(workers: Any, nbytes: float, bandwidth: float) -> np.ndarray:
    n = np.array(workers, float)
    return np.stack([n**0, 2 * (n - 1), 2 * (n - 1) / n * nbytes / bandwidth], 1)


def fit_by_nnls(workers: Any, seconds: Any, nbytes: float, bandwidth: float) -> Any:
    """Scipy's least squares without negative numbers; numpy numbers in a list."""
    from scipy.optimize import nnls

    t = np.array(seconds)
    found, _ = nnls(_columns(workers, nbytes, bandwidth) / t[:, None], np.ones(len(t)))
    return [found[0], found[1], 1 / found[2] if found[2] else float("inf")]


# --- 09.4: two levels -----------------------------------------------------------------------------


def two_levels_by_leaders(comm: Any, tensor: Any) -> None:
    """One rank a host sums for it, and the leaders go round a ring."""
    inside = Group(comm, comm.host_ranks)
    reduce_naive(inside, tensor)  # type: ignore[arg-type]
    if inside.rank == 0:
        leaders = [comm.hosts.index(host) for host in sorted(set(comm.hosts))]
        all_reduce_ring(Group(comm, leaders), tensor)  # type: ignore[arg-type]
    broadcast_tree(inside, tensor)  # type: ignore[arg-type]


# --- 09.5: sparse sums ----------------------------------------------------------------------------


def sparse_by_dictionary(comm: Any, rows: Any, values: Any) -> Any:
    """Everybody sends to everybody; a dictionary of rows, filled in the order of the ranks."""
    sending = []
    for other in range(comm.size):
        if other != comm.rank:
            sending += [comm.isend(rows, other), comm.isend(values, other)]
    sums: dict[int, Any] = {}
    for source in range(comm.size):
        mine = source == comm.rank
        its_rows = rows if mine else comm.recv(source)
        its_values = values if mine else comm.recv(source)
        for row, value in zip(its_rows.tolist(), its_values, strict=True):
            sums[row] = sums[row] + value if row in sums else value.clone()
    for request in sending:
        request.wait()
    union = sorted(sums)
    if not union:
        return [rows[:0], values[:0]]
    return [torch.tensor(union), torch.stack([sums[row] for row in union])]


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("09.1", speedup_by_rates),
    ("09.2", servers_by_cases),
    ("09.3", fit_by_nnls),
    ("09.4", two_levels_by_leaders),
    ("09.5", sparse_by_dictionary),
]
