"""The reference of exercise 14.6, and layers with one thing wrong."""

from __future__ import annotations

from typing import Any


def _layer(
    comm: Any, x: Any, own: Any, shape: tuple[int, int], keep: str = "slice", sums: str = "scatter"
) -> Any:
    """keep: "slice", "saved", "ctx", "both" or "held". sums: "scatter", "none", "mean", "all", or
    "view" for a chunk that is not copied, "turned" for the gradient of the transpose, and
    "whole" for one that is not cut."""
    import torch

    from helpers.algorithms.messages.collectives import (
        all_reduce_ring,
        chunk_bounds,
        reduce_scatter_ring,
    )

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, own: Any) -> Any:
            weight = _gather(comm, own, shape)
            ctx.save_for_backward(x, own, *([weight] if keep in ("saved", "both") else []))
            ctx.weight = weight if keep in ("ctx", "held") else None
            return x @ weight.T

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            x, own, *saved = ctx.saved_tensors
            if keep in ("slice", "both", "held"):
                weight = _gather(comm, own, shape)
            else:
                weight = ctx.weight if keep == "ctx" else saved[0]
            whole = gradients[0].T @ x
            whole = (whole.T if sums == "turned" else whole).reshape(-1)
            start, stop = chunk_bounds(len(whole), comm.size)[comm.rank]
            if sums in ("all", "whole"):
                all_reduce_ring(comm, whole)
            elif sums != "none":
                reduce_scatter_ring(comm, whole)
            if sums in ("view", "whole"):
                return gradients[0] @ weight, whole[start:stop] if sums == "view" else whole
            mine = whole[start:stop] / (comm.size if sums == "mean" else 1)
            return gradients[0] @ weight, mine

    return Linear.apply(x, own)


def _gather(comm: Any, own: Any, shape: tuple[int, int]) -> Any:
    from helpers.algorithms.messages.collectives import all_gather_ring, chunk_bounds

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

    from helpers.algorithms.messages.collectives import chunk_bounds

    start, stop = chunk_bounds(shape[0] * shape[1], comm.size)[comm.rank]
    whole = torch.zeros(shape[0] * shape[1], dtype=own.dtype)
    whole[start:stop] = own
    return x @ whole.view(shape).T


def holds_and_gathers(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """ctx.weight = weight, and gathers again all the same."""
    return _layer(comm, x, own, shape, keep="held")


def view_of_the_gradient(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Returns a view of the whole gradient."""
    return _layer(comm, x, own, shape, sums="view")


def whole_gradient(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Returns the summed gradient of the whole weight."""
    return _layer(comm, x, own, shape, sums="whole")


def turned(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """The gradient of the transposed weight."""
    return _layer(comm, x, own, shape, sums="turned")


def _with(comm: Any, shape: tuple[int, int], gather: Any, *, x_grad: str = "own") -> Any:
    """A layer that gathers in another way. x_grad: "own", "sum" or "none"."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring, reduce_scatter_ring

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, own: Any) -> Any:
            ctx.save_for_backward(x, own)
            return x @ gather(own).T

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            x, own = ctx.saved_tensors
            of_x = gradients[0] @ gather(own)
            if x_grad == "sum":
                all_reduce_ring(comm, of_x)
            mine = reduce_scatter_ring(comm, (gradients[0].T @ x).reshape(-1)).clone()
            return (None if x_grad == "none" else of_x), mine

    return Linear.apply


def keeps_in_backward(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Puts what backward gathers where it stays."""
    times, stays = [], comm.__dict__.setdefault("_stays", [])

    def gather(part: Any) -> Any:
        times.append(1)
        whole = _gather(comm, part, shape)
        if len(times) == 2:
            stays.append(whole)
        return whole

    return _with(comm, shape, gather)(x, own)


def gathers_by_a_sum(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Adds up rows that are zero but for a slice."""
    from helpers.algorithms.messages.collectives import all_reduce_ring, chunk_bounds

    def gather(part: Any) -> Any:
        whole = part.new_zeros(shape[0] * shape[1])
        whole[slice(*chunk_bounds(len(whole), comm.size)[comm.rank])] = part
        return all_reduce_ring(comm, whole).view(shape)

    return _with(comm, shape, gather)(x, own)


def sums_x(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Sums the gradient of x, as tensor parallelism does."""
    return _with(comm, shape, lambda part: _gather(comm, part, shape), x_grad="sum")(x, own)


def no_x(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Has a gradient for the weight alone."""
    return _with(comm, shape, lambda part: _gather(comm, part, shape), x_grad="none")(x, own)


def other_view(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Takes the row for that of the transpose."""

    def gather(part: Any) -> Any:
        return _gather(comm, part, (shape[1], shape[0])).T

    return _with(comm, shape, gather)(x, own)


def at_the_start(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Puts its slice at the start of the row, whatever its rank."""
    from helpers.algorithms.messages.collectives import all_gather_ring

    def gather(part: Any) -> Any:
        whole = part.new_zeros(shape[0] * shape[1])
        whole[: len(part)] = part
        return all_gather_ring(comm, whole).view(shape)

    return _with(comm, shape, gather)(x, own)


def scales_x(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Works in place on what the layer before gave, and on a copy of its own afterwards."""
    out = _layer(comm, x.view_as(x) * 1.0, own, shape)
    x.data.mul_(1.5)
    return out


def no_wait(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Starts messages, and never waits for them."""
    import torch

    def gather(part: Any) -> Any:
        others = [r for r in range(comm.size) if r != comm.rank]
        for other in others:
            comm.isend(part.detach(), other)
        parts = [part if r == comm.rank else comm.recv(r) for r in range(comm.size)]
        return torch.cat(parts).reshape(shape)

    return _with(comm, shape, gather)(x, own)
