"""Convolutions split by rows of the picture: only the borders cross.

A convolution of k rows looks (k − 1)/2 rows beyond its own place. A rank that holds some rows of
every picture needs so many rows of each neighbour's, the halo, and nothing else. The weights are
the same at every place, so every rank holds all of them and makes a part of their gradient.
Source: Jin, Ginsburg and Keutzer, "Spatially Parallel Convolutions" (2018), section 2; Dryden et
al., "Improving Strong-Scaling of CNN Training by Exploiting Finer-Grained Parallelism" (2019).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from torch.nn.modules.dropout import _DropoutNd

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds
from helpers.lessons.splitting.algorithms.model_split import (
    ELEMENTWISE,
    exchange,
    gather_units,
    whole_gradient,
)

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


class _Part(torch.autograd.Function):
    """A weight that body and head share. `finish` sums its gradients, and the head's is whole on
    every rank already: so each rank gives its N-th part.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, ranks: int) -> Tensor:
        ctx.ranks = ranks
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return gradients[0] / ctx.ranks, None


class HaloSplit(nn.Module):
    """A convolutional network of which each rank works on some rows of every picture.

        net = HaloSplit(comm, dense)
        loss(net(pictures), targets).backward()   # on every rank, with the same pictures
        net.finish()                              # sums what each rank's rows say of the weights

    dense: convolutions with stride 1 and padding that keeps the rows (k = 2 · padding + 1), and
    elementwise layers; from the first other layer on, the rows are gathered and every rank runs
    the rest (the head) on whole pictures. Built on every rank; rank 0's parameters are what all
    start from. Rows are cut by `chunk_bounds`. Every rank holds all parameters, and after
    `finish()` all gradients.
    Raises ValueError for a convolution that does not keep its rows.
    """

    def __init__(self, comm: Comm, dense: nn.Sequential) -> None:
        super().__init__()
        dense.to(comm.device)
        broadcast_parameters(dense, comm)
        layers = list(dense)
        split = 0
        while split < len(layers) and isinstance(layers[split], (nn.Conv2d, *ELEMENTWISE)):
            split += 1
        self.comm = comm
        self.body, self.head = nn.ModuleList(layers[:split]), nn.Sequential(*layers[split:])
        for number, layer in enumerate(self.body):
            if isinstance(layer, nn.Conv2d):
                _check(layer, number)
        if comm.size > 1 and any(isinstance(m, _DropoutNd) for m in self.head.modules()):
            raise ValueError(
                "The head has dropout: every rank would draw its own, and their weights part. "
                "Leave it out."
            )

    def forward(self, pictures: Tensor) -> Tensor:
        """All outputs on every rank. pictures: (pictures, channels, rows, columns), all rows."""
        comm = self.comm
        bounds = chunk_bounds(pictures.shape[ROWS], comm.size)
        start, stop = bounds[comm.rank]
        x = whole_gradient(comm, pictures.to(comm.device)).narrow(ROWS, start, stop - start)
        for layer in self.body:
            x = self._convolve(layer, x) if isinstance(layer, nn.Conv2d) else layer(x)
        sizes = [stop - start for start, stop in bounds]
        whole = gather_units(comm, x, sizes, ROWS, replicated=True)
        mine = set(self.body.parameters())
        named = self.head.named_parameters(remove_duplicate=False)
        shared = {n: _Part.apply(p, comm.size) for n, p in named if p in mine}
        return torch.as_tensor(functional_call(self.head, shared, (whole,)))

    def finish(self) -> None:
        """Sum the convolutions' gradients over the ranks, after backward, once, on every rank."""
        for parameter in self.body.parameters():
            if parameter.requires_grad:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameter.grad = parameter.grad.contiguous()
                all_reduce_ring(self.comm, parameter.grad)

    def _convolve(self, layer: nn.Conv2d, x: Tensor) -> Tensor:
        """The layer on this rank's rows: the halo stands in for the padding above and below."""
        up, across = (int(each) for each in layer.padding)
        wider = add_halo(self.comm, x, up)
        return functional.conv2d(
            wider, layer.weight, layer.bias, padding=(0, across), groups=layer.groups
        )


def _check(layer: nn.Conv2d, number: int) -> None:
    keeps = not isinstance(layer.padding, str) and layer.kernel_size[0] == 2 * layer.padding[0] + 1
    if not keeps or layer.stride != (1, 1) or layer.dilation != (1, 1):
        raise ValueError(
            f"Layer {number} does not keep its rows: a split by rows takes convolutions with "
            "stride 1, no dilation, and k = 2 · padding + 1 rows."
        )
    if layer.padding_mode != "zeros":
        raise ValueError(f"Layer {number} pads with {layer.padding_mode}: only zeros are known.")
