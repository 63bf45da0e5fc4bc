"""The reference of exercise 14.6, and layers with one thing wrong."""

from __future__ import annotations

from typing import Any


def _layer(
    comm: Any, x: Any, own: Any, shape: tuple[int, int], keep: str = "slice", sums: str = "scatter"
) -> Any:
    """keep: "slice", "saved", "ctx" or "both". sums: "scatter", "none", "mean" or "all"."""
    import torch

    from helpers.algorithms.collectives import (
        all_reduce_ring,
        chunk_bounds,
        reduce_scatter_ring,
    )

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, own: Any) -> Any:
            weight = _gather(comm, own, shape)
            ctx.save_for_backward(x, own, *([weight] if keep in ("saved", "both") else []))
            ctx.weight = weight if keep == "ctx" else None
            return x @ weight.T

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            x, own, *saved = ctx.saved_tensors
            if keep in ("slice", "both"):
                weight = _gather(comm, own, shape)
            else:
                weight = ctx.weight if keep == "ctx" else saved[0]
            whole = (gradients[0].T @ x).reshape(-1)
            start, stop = chunk_bounds(len(whole), comm.size)[comm.rank]
            if sums in ("scatter", "mean"):
                reduce_scatter_ring(comm, whole)
            elif sums == "all":
                all_reduce_ring(comm, whole)
            mine = whole[start:stop] / (comm.size if sums == "mean" else 1)
            return gradients[0] @ weight, mine

    return Linear.apply(x, own)


def _gather(comm: Any, own: Any, shape: tuple[int, int]) -> Any:
    from helpers.algorithms.collectives import all_gather_ring, chunk_bounds

    whole = own.new_empty(shape[0] * shape[1])
    start, stop = chunk_bounds(len(whole), comm.size)[comm.rank]
    whole[start:stop] = own.detach()
    return all_gather_ring(comm, whole).view(shape)


def reference(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """The course's own."""
    return _layer(comm, x, own, shape)


def saves_the_weight(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """save_for_backward(x, weight), as an ordinary layer does."""
    return _layer(comm, x, own, shape, keep="saved")


def keeps_in_ctx(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """ctx.weight = weight."""
    return _layer(comm, x, own, shape, keep="ctx")


def gathers_and_keeps(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Saves the weight, and gathers it again all the same."""
    return _layer(comm, x, own, shape, keep="both")


def own_gradient(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Cuts its slice out of its own gradient."""
    return _layer(comm, x, own, shape, sums="none")


def averages(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Divides the sum by N."""
    return _layer(comm, x, own, shape, sums="mean")


def by_all_reduce(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Sums the whole gradient on every rank."""
    return _layer(comm, x, own, shape, sums="all")


def plain(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """An ordinary product with the gathered weight."""
    return x @ _gather(comm, own, shape).T


def no_gather(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Zeros where the other ranks' slices belong."""
    import torch

    from helpers.algorithms.collectives import chunk_bounds

    start, stop = chunk_bounds(shape[0] * shape[1], comm.size)[comm.rank]
    whole = torch.zeros(shape[0] * shape[1], dtype=own.dtype)
    whole[start:stop] = own
    return x @ whole.view(shape).T
