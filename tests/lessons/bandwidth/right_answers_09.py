"""Right answers to lesson 09 that differ from the references: other fits, leaders, other ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.lessons.bandwidth.algorithms.mesh import Group
from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    all_reduce_ring,
    broadcast_tree,
    reduce_naive,
    reduce_scatter_ring,
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


def fit_of_logarithms(workers: Any, seconds: Any, nbytes: float, bandwidth: float) -> Any:
    """Gauss and Newton on the errors of the logarithms, with bounds."""
    from scipy.optimize import least_squares

    columns, t = _columns(workers, nbytes, bandwidth), np.array(seconds)
    start = np.array([min(seconds), 1e-3, 1.0])
    found = least_squares(
        lambda x: np.log(columns @ (x * start)) - np.log(t),
        np.ones(3),
        bounds=(0, np.inf),
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    ).x
    compute, alpha, slow = found * start
    return compute, alpha if alpha > 1e-7 else 0.0, 1 / slow


# --- 09.4: two levels -----------------------------------------------------------------------------


def two_levels_by_leaders(comm: Any, tensor: Any) -> None:
    """One rank a host sums for it, and the leaders go round a ring."""
    inside = Group(comm, comm.host_ranks)
    reduce_naive(inside, tensor)  # type: ignore[arg-type]
    if inside.rank == 0:
        leaders = [comm.hosts.index(host) for host in sorted(set(comm.hosts))]
        all_reduce_ring(Group(comm, leaders), tensor)  # type: ignore[arg-type]
    broadcast_tree(inside, tensor)  # type: ignore[arg-type]


def two_levels_by_width(comm: Any, tensor: Any) -> Any:
    """Hosts by their width; where they differ in size, by hand through the first rank of each."""
    sizes = [comm.hosts.count(host) for host in range(max(comm.hosts) + 1)]
    width, first = sizes[0], comm.hosts.index(comm.host)
    if len(set(sizes)) == 1:
        inside: Any = Group(comm, range(first, first + width))
        part = reduce_scatter_ring(inside, tensor)
        across: Any = Group(comm, range(comm.rank - first, comm.size, width))
        all_reduce_ring(across, part)
        return all_gather_ring(inside, tensor)
    if comm.rank != first:
        comm.isend(tensor, first).wait()
        tensor.copy_(comm.recv(first))
        return tensor
    for other in range(first + 1, first + sizes[comm.host]):
        tensor.add_(comm.recv(other))
    leaders: Any = Group(comm, [comm.hosts.index(host) for host in range(len(sizes))])
    all_reduce_ring(leaders, tensor)
    for other in range(first + 1, first + sizes[comm.host]):
        comm.send(tensor, other)
    return tensor


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


def sparse_with_counts(comm: Any, rows: Any, values: Any) -> Any:
    """Tells the counts first, receives into tensors of that size, pads to the largest."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    count = torch.zeros(comm.size, dtype=torch.int64)
    count[comm.rank] = len(rows)
    for step in range(comm.size - 1):
        request = comm.isend(count[(comm.rank - step) % comm.size].clone(), right)
        count[(comm.rank - step - 1) % comm.size] = comm.recv(left)
        request.wait()
    most = int(count.max())
    all_rows = rows.new_zeros(comm.size, most)
    all_values = values.new_zeros(comm.size, most, values.shape[1])
    all_rows[comm.rank, : len(rows)], all_values[comm.rank, : len(rows)] = rows, values
    for step in range(comm.size - 1):
        out, into = (comm.rank - step) % comm.size, (comm.rank - step - 1) % comm.size
        requests = [comm.isend(all_rows[out], right), comm.isend(all_values[out], right)]
        comm.recv(left, into=all_rows[into])
        comm.recv(left, into=all_values[into])
        for request in requests:
            request.wait()
    union = torch.cat([r[:k] for r, k in zip(all_rows, count.tolist(), strict=True)]).unique()
    sums = values.new_zeros(len(union), values.shape[1])
    for its_rows, its_values, k in zip(all_rows, all_values, count.tolist(), strict=True):
        sums[torch.searchsorted(union, its_rows[:k])] += its_values[:k]
    return union, sums


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("09.1", speedup_by_rates),
    ("09.2", servers_by_cases),
    ("09.3", fit_by_nnls),
    ("09.3", fit_of_logarithms),
    ("09.4", two_levels_by_leaders),
    ("09.4", two_levels_by_width),
    ("09.5", sparse_by_dictionary),
    ("09.5", sparse_with_counts),
]
