"""A model cut between ranks: by layer, or through every layer so that each holds some units.

By layer (`LayerSplit`), rank 0 holds the first layers, rank 1 the next: an activation crosses from
one to the next, its gradient comes back, and one rank works at a time. Through the layers
(`VerticalSplit`), every rank holds a slice of every layer's units, all work at once, and the
activations of every layer cross. Source: Dean et al., "Large Scale Distributed Deep Networks"
(2012), section 3, where both are called model parallelism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds
from helpers.lessons.splitting.algorithms.stages import works_in_place

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

ELEMENTWISE = (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.LeakyReLU, nn.ELU, nn.Identity)
"""Layers that look at each unit alone, so that a slice of units needs nobody else's."""


class TiedSums:
    """Parameters that several ranks hold, because layers share them: one value, one gradient.

    held: for each rank the parameters that it holds, in the same order on every rank, as they
    were before the model was cut. Call `set_aside()` before backward and `sum()` after it, on
    every rank: each holder ends with the gradient of the whole model, bit for bit the same, added
    to what was there before, and takes the same step.
    """

    def __init__(self, comm: Comm, held: Sequence[Iterable[nn.Parameter]]) -> None:
        self.comm = comm
        holders: dict[nn.Parameter, list[int]] = {}
        for rank, parameters in enumerate(held):
            for parameter in parameters:
                holders.setdefault(parameter, []).append(rank)
        self.shared = [
            (parameter, ranks)
            for parameter, ranks in holders.items()
            if len(ranks) > 1 and comm.rank in ranks
        ]
        self._before: list[Tensor | None] = []

    def start_alike(self) -> None:
        """Give every holder the first one's value, where the whole model was not broadcast."""
        for parameter, ranks in self.shared:
            parameter.detach().copy_(self._from_first(parameter.detach(), ranks))

    def set_aside(self) -> None:
        """Take away the gradients that are there, so that they are not summed once more."""
        self._before = [parameter.grad for parameter, _ in self.shared]
        for parameter, _ in self.shared:
            parameter.grad = None

    def sum(self) -> None:
        """Add up at the first holder, in rank order, and give the sum to the others."""
        for (parameter, ranks), before in zip(self.shared, self._before, strict=True):
            if not parameter.requires_grad:
                continue
            mine = parameter.grad
            total = torch.zeros_like(parameter) if mine is None else mine
            first, *others = ranks
            if self.comm.rank != first:
                self.comm.send(total, first)
            else:
                for other in others:
                    total = total + self.comm.recv(other)
            total = self._from_first(total, ranks)
            parameter.grad = total if before is None else before + total

    def _from_first(self, value: Tensor, ranks: list[int]) -> Tensor:
        """The first holder's value, on all of them."""
        first, *others = ranks
        if self.comm.rank != first:
            return self.comm.recv(first)
        for sending in [self.comm.isend(value, other) for other in others]:
            sending.wait()
        return value


# --- by layer -------------------------------------------------------------------------------------


class LayerSplit:
    """Layers cut between the ranks, as evenly as can be: by `chunk_bounds(layers, ranks)`.

    model: the whole model, built on every rank; rank 0's parameters are what all start from.
    A rank may hold no layer, and passes on what it gets. Layers that share a parameter may lie on
    different ranks.
    seconds: on the virtual clock, what ("forward" or "backward", this rank) takes.

    part: this rank's layers. names: its parameters, by their names in the whole model.
    """

    def __init__(
        self,
        comm: Comm,
        model: nn.Sequential,
        seconds: Callable[[str, int], float] | None = None,
    ) -> None:
        bounds = chunk_bounds(len(model), comm.size)
        model.to(comm.device)
        broadcast_parameters(model, comm)
        self.comm, self._seconds = comm, seconds
        parts = [nn.Sequential(*list(model)[start:stop]) for start, stop in bounds]
        self.part = parts[comm.rank]
        mine = list(model._modules)[slice(*bounds[comm.rank])]
        self.names = {
            name: parameter
            for name, parameter in model.named_parameters(remove_duplicate=False)
            if name.partition(".")[0] in mine
        }
        self._ties = TiedSums(comm, [part.parameters() for part in parts])

    def parameters(self) -> list[nn.Parameter]:
        """This rank's parameters, for its optimizer."""
        return list(self.part.parameters())

    def zero_grad(self) -> None:
        """Clear this rank's gradients, to which `step` adds."""
        self.part.zero_grad()

    def step(
        self, inputs: Tensor, targets: Tensor, loss: Callable[[Tensor, Tensor], Tensor]
    ) -> float:
        """Forward and backward through all ranks; every `.grad` then has the whole model's.

        inputs: of rank 0. targets: of the last rank; the others may pass anything. Returns the
        loss, on every rank.
        """
        comm = self.comm
        self._ties.set_aside()
        given = inputs.to(comm.device) if comm.rank == 0 else comm.recv(comm.rank - 1)
        if comm.rank > 0 and given.is_floating_point():
            given.requires_grad_()
        out = self.part(given.clone() if works_in_place(self.part) else given)
        if not isinstance(out, Tensor):
            raise TypeError(
                f"Rank {comm.rank}'s layers end in {type(out).__name__}: one tensor goes on to the "
                "next rank. Cut the model elsewhere, or pack the rest in."
            )
        self._work("forward")
        if comm.rank < comm.size - 1:
            comm.send(out.detach(), comm.rank + 1)
            gradient = comm.recv(comm.rank + 1) if out.is_floating_point() else None
            value = out.new_zeros((), dtype=torch.float64)
        else:
            end, gradient = loss(out, targets.to(comm.device)), None
            value, out = end.detach().double(), end
        if out.requires_grad:
            out.backward(gradient)
        self._work("backward")
        if comm.rank > 0 and given.is_floating_point():
            gradient = torch.zeros_like(given) if given.grad is None else given.grad
            comm.send(gradient, comm.rank - 1)
        self._ties.sum()
        return share_value(comm, value, comm.size - 1)

    def _work(self, kind: str) -> None:
        if self._seconds is not None:
            self.comm.compute(self._seconds(kind, self.comm.rank))


def share_value(comm: Comm, value: Tensor, root: int) -> float:
    """One number of rank `root`, on every rank."""
    if comm.rank != root:
        return float(comm.recv(root))
    for sending in [comm.isend(value, other) for other in range(comm.size) if other != root]:
        sending.wait()
    return float(value)


# --- through every layer --------------------------------------------------------------------------


def exchange(
    comm: Comm, parts: Sequence[Tensor | None], sources: Iterable[int]
) -> dict[int, Tensor]:
    """Send parts[r] to each other rank r that has one; receive one from each of `sources`.

    In N − 1 steps: in step k to the rank k places on and from the one k places back, so that no
    two ranks send to the same one. With tensors of n bytes it takes (N − 1)(α + nβ) seconds.
    """
    wanted, received = set(sources), dict[int, Tensor]()
    for step in range(1, comm.size):
        to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        part = parts[to]
        sending = comm.isend(part, to) if part is not None else None
        if source in wanted:
            received[source] = comm.recv(source)
        if sending is not None:
            sending.wait()
    return received


def _gather(comm: Comm, part: Tensor, dim: int) -> Tensor:
    received = exchange(comm, [part] * comm.size, range(comm.size)) | {comm.rank: part}
    return torch.cat([received[rank] for rank in range(comm.size)], dim)


def _scatter_sum(comm: Comm, whole: Tensor, sizes: Sequence[int], dim: int) -> Tensor:
    parts = [part.contiguous() for part in whole.split(list(sizes), dim)]
    received = exchange(comm, parts, range(comm.size)) | {comm.rank: parts[comm.rank]}
    total = received[0].clone()
    for rank in range(1, comm.size):  # in rank order, so that every run adds alike
        total += received[rank]
    return total


class _GatherUnits(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, part: Tensor, comm: Comm, sizes: Sequence[int], dim: int, replicated: bool
    ) -> Tensor:
        ctx.comm, ctx.sizes, ctx.dim, ctx.replicated = comm, sizes, dim, replicated
        return _gather(comm, part.contiguous(), dim)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (gradient,) = gradients
        if ctx.replicated:
            mine = gradient.split(list(ctx.sizes), ctx.dim)[ctx.comm.rank]
        else:
            mine = _scatter_sum(ctx.comm, gradient, ctx.sizes, ctx.dim)
        return mine, None, None, None, None


class _ScatterSumUnits(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, partial: Tensor, comm: Comm, sizes: Sequence[int], dim: int) -> Tensor:
        ctx.comm, ctx.dim = comm, dim
        return _scatter_sum(comm, partial, sizes, dim)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return _gather(ctx.comm, gradients[0].contiguous(), ctx.dim), None, None, None


def gather_units(
    comm: Comm, part: Tensor, sizes: Sequence[int], dim: int = -1, replicated: bool = False
) -> Tensor:
    """Every rank's slice of the units, put together on every rank, with a gradient.

    part: this rank's sizes[rank] units along `dim`. Backward: each rank has used the whole for
    units of its own, so the gradient of a slice is the sum of what all ranks say about it: it is
    scattered and summed. replicated: all ranks do the same with the whole (the loss, say), so
    each has the whole gradient already and takes its slice: a sum would be N times too large.
    Sends (N − 1) slices forward, and backward all but one slice of the gradient, or nothing.
    """
    whole: Tensor = _GatherUnits.apply(part, comm, tuple(sizes), dim, replicated)
    return whole


def scatter_sum_units(comm: Comm, partial: Tensor, sizes: Sequence[int], dim: int = -1) -> Tensor:
    """The sum over the ranks of tensors of one shape, of which each keeps its slice of units.

    Backward gathers the slices' gradients: `gather_units` the other way round, as many bytes.
    """
    mine: Tensor = _ScatterSumUnits.apply(partial, comm, tuple(sizes), dim)
    return mine


def whole_gradient(comm: Comm, inputs: Tensor) -> Tensor:
    """Inputs that every rank has; where they want a gradient, every rank gets the whole one.

    Each rank differentiates what it makes of them alone, so backward sums over the ranks.
    """
    if comm.size == 1 or not inputs.requires_grad:
        return inputs

    def sum_over_ranks(gradient: Tensor) -> Tensor:
        total = gradient.clone(memory_format=torch.contiguous_format)
        all_reduce_ring(comm, total)
        return total

    mine = inputs.clone()  # which a first layer may write into
    mine.register_hook(sum_over_ranks)
    return mine
