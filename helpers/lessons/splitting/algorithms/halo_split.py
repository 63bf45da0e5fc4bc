"""Convolutions split by rows of the picture: only the borders cross.

A convolution of k rows looks (k − 1)/2 rows beyond its own place. A rank that holds some rows of
every picture needs so many rows of each neighbour's, the halo, and nothing else. The weights are
the same at every place, so every rank holds all of them, and its gradient is a part of the sum.
Source: Jin, Ginsburg and Keutzer, "Spatially Parallel Convolutions" (2018), section 2; Dryden et
al., "Improving Strong-Scaling of CNN Training by Exploiting Finer-Grained Parallelism" (2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from helpers.lessons.splitting.algorithms.model_split import exchange

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

ROWS = 2  # the dimension of (pictures, channels, rows, columns) that is cut


class _Halo(torch.autograd.Function):
    """x with `reach` rows of the neighbours above and below it; zeros beyond the picture."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, comm: Comm, reach: int) -> Tensor:
        ctx.comm, ctx.reach = comm, reach
        up, down = _neighbours(comm)
        parts: list[Tensor | None] = [None] * comm.size
        if up is not None:
            parts[up] = x.narrow(ROWS, 0, reach).contiguous()
        if down is not None:
            parts[down] = x.narrow(ROWS, x.shape[ROWS] - reach, reach).contiguous()
        come = exchange(comm, parts, [rank for rank in (up, down) if rank is not None])
        nothing = x.new_zeros(*x.shape[:ROWS], reach, *x.shape[ROWS + 1 :])
        above, below = (nothing if r is None else come[r] for r in (up, down))
        return torch.cat([above, x, below], ROWS)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (gradient,), comm, reach = gradients, ctx.comm, ctx.reach
        rows = gradient.shape[ROWS] - 2 * reach
        up, down = _neighbours(comm)
        parts: list[Tensor | None] = [None] * comm.size
        if up is not None:
            parts[up] = gradient.narrow(ROWS, 0, reach).contiguous()
        if down is not None:
            parts[down] = gradient.narrow(ROWS, reach + rows, reach).contiguous()
        come = exchange(comm, parts, [rank for rank in (up, down) if rank is not None])
        mine = gradient.narrow(ROWS, reach, rows).clone()
        # A row that was lent has a gradient from the neighbour too.
        if up is not None:
            mine.narrow(ROWS, 0, reach).add_(come[up])
        if down is not None:
            mine.narrow(ROWS, rows - reach, reach).add_(come[down])
        return mine, None, None


def _neighbours(comm: Comm) -> tuple[int | None, int | None]:
    """The ranks that hold the rows above and below this rank's."""
    up = comm.rank - 1 if comm.rank > 0 else None
    return up, comm.rank + 1 if comm.rank + 1 < comm.size else None


def add_halo(comm: Comm, x: Tensor, reach: int) -> Tensor:
    """This rank's rows with `reach` rows more above and below, from its neighbours, or zeros.

    x: (pictures, channels, rows, columns). Sends at most 2 · reach rows, whatever the picture's
    height; backward as many, the gradients of the rows that were lent, which are added at home.
    Raises ValueError where this rank has fewer rows than it has to lend.
    """
    if reach < 1:
        return x
    if comm.size > 1 and x.shape[ROWS] < reach:
        raise ValueError(
            f"Rank {comm.rank} has {x.shape[ROWS]} rows and has to lend {reach}: take fewer ranks."
        )
    wider: Tensor = _Halo.apply(x, comm, reach)
    return wider
