"""Sums of gradients of which few rows are not zero, such as those of an embedding.

A batch touches the rows of its own words only. What travels is these rows and their numbers, and
not the table. Source: Abadi et al., "TensorFlow" (2016), section 4.2, for sparse layers at
parameter servers; Horovod's all-gather of `IndexedSlices` does the same between workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

Tensor = Any


def sum_sparse(comm: Comm, rows: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Sum every rank's rows; each rank gets the rows that anybody touched, and their sums.

    rows: (k,) int64, the numbers of this rank's rows, each once; k may differ by rank and be 0.
    values: (k, width), what this rank adds to each. Returns: all ranks' rows in ascending order,
    each once, and (rows, width) sums, the same on every rank. The arguments stay as they are.
    Each rank's rows go round the ring once, so a rank sends N − 1 times two tensors.
    """
    found, sums = [rows], [values]
    for _ in range(comm.size - 1):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        sending = [comm.isend(found[-1], right), comm.isend(sums[-1], right)]
        found.append(comm.recv(left))
        sums.append(comm.recv(left))
        for request in sending:
            request.wait()
    return merged(in_rank_order(found, comm.rank), in_rank_order(sums, comm.rank))


def in_rank_order(came: list[Tensor], rank: int) -> list[Tensor]:
    """What came round the ring, rank 0's first, so that every rank adds in the same order."""
    return [came[(rank - other) % len(came)] for other in range(len(came))]


def merged(rows: list[Tensor], values: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Rows that several lists name, once each, with the sums of their values."""
    union, places = torch.cat(rows).unique(return_inverse=True)
    sums = torch.zeros(len(union), values[0].shape[1], dtype=values[0].dtype)
    return union, sums.index_add_(0, places, torch.cat(values))
