"""A unit of a sharded model: parameters in a row, cut into as many slices as there are ranks.

The row is padded with zeros until the ranks divide it, so that every rank's slice is as long as the
others'. A unit's parameters are gathered, used and freed together. Sources: Rajbhandari, Rasley,
Ruwase and He, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020),
section 5; Zhao et al., "PyTorch FSDP" (2023), sections 3.2.1 and 4.2, for units, the padded row
and for freeing its memory under the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    chunk_bounds,
    reduce_scatter_ring,
)

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request


class Unit:
    """Some parameters of one type, in a row, and the row of their gradients.

    full: the whole row, padded. Where `whole` is not set its memory is there only between `open`
    and `free`, and a closed parameter reads as NaN, so that a use at the wrong time shows.
    slice: this rank's part of the row, in the type that is computed with.
    master: what the optimizer updates: the slice itself, or in mixed precision a copy of it in
    the model's own type.
    gradient: of the whole row, None where there is none now. own: from stage 2 on, this rank's
    slice of the sum.
    padding: elements that the row is longer than its parameters.
    arrived: parameters whose gradients backward has made. is_open: whether the row has memory,
    which a gather may be filling yet. used: whether backward will come by. backward: whether it
    is here. made: gradients that this backward has made.
    """

    def __init__(
        self, name: str, parameters: Sequence[nn.Parameter], comm: Comm, stage: int, mixed: bool
    ) -> None:
        kinds = {p.dtype for p in parameters}
        if len(kinds) > 1 or not parameters[0].is_floating_point():
            raise TypeError(f"The parameters of {name} are {kinds}: take floats of one type.")
        self.name, self.parameters, self.whole = name, list(parameters), stage < 3
        self.length = sum(p.numel() for p in parameters)
        self.padding = -self.length % comm.size
        exact = parameters[0].new_zeros(self.length + self.padding, requires_grad=False)
        torch.cat([p.detach().reshape(-1) for p in parameters], out=exact[: self.length])
        self.full = exact.to(torch.bfloat16 if mixed else exact.dtype)
        start, stop = self.bounds = chunk_bounds(len(exact), comm.size)[comm.rank]
        self.slice = self.full[start:stop] if self.whole else self.full[start:stop].clone()
        self.master = nn.Parameter(exact[start:stop].clone() if mixed else self.slice)
        self._views = self.shaped(self.full)
        self._closed = [self.full.new_full((), math.nan).expand(p.shape) for p in parameters]
        for parameter, view in zip(parameters, self._views, strict=True):
            parameter.grad, parameter.data = None, view
        self.gradient = torch.zeros_like(self.full) if stage == 1 else None
        self.own = torch.zeros_like(self.slice) if stage > 1 else None
        # The row's parts, in the parameters' shapes.
        self._gradients = [] if self.gradient is None else self.shaped(self.gradient)
        self.arrived: set[nn.Parameter] = set()
        self.used, self.backward, self.made = False, False, 0
        self.is_open = True
        self._gathering: Request | None = None
        if not self.whole:
            self.free(comm)

    def shaped(self, row: Tensor) -> list[Tensor]:
        """Each parameter's part of a row, in the parameter's shape."""
        parts = row[: self.length].split([p.numel() for p in self.parameters])
        return [part.view(p.shape) for part, p in zip(parts, self.parameters, strict=True)]

    # --- the parameters' values -------------------------------------------------------------------

    def start_gather(self, comm: Comm) -> None:
        """Begin to gather the parameters on the communication thread, unless that is done.

        The whole row gets memory, with this rank's slice in its place.
        """
        if self.is_open:
            return
        self.full.untyped_storage().resize_(len(self.full) * self.full.element_size())
        self.full[slice(*self.bounds)] = self.slice
        for parameter, view in zip(self.parameters, self._views, strict=True):
            parameter.data = view
        self.is_open, self._gathering = True, comm.background(_gather, self.full)

    def gather(self, comm: Comm) -> None:
        """Return once the parameters are whole."""
        self.start_gather(comm)
        if self._gathering is not None:
            self._gathering.wait()
        self._gathering = None

    def free(self, comm: Comm) -> None:
        """Keep this rank's slice of the parameters only; waits for a gather under way.

        What autograd has saved refers to the same memory, and finds it filled after the next one.
        """
        if self.is_open:
            self.gather(comm)
            for parameter, nothing in zip(self.parameters, self._closed, strict=True):
                parameter.data = nothing
            self.full.untyped_storage().resize_(0)
        self.is_open = self.backward = False

    def collect(self, comm: Comm) -> list[Tensor]:
        """Every parameter's whole value, in the optimizer's type, on every rank."""
        row = self.master.detach().new_empty(len(self.full))
        row[slice(*self.bounds)] = self.master.detach()
        return self.shaped(all_gather_ring(comm, row))

    # --- their gradients --------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether backward has made every gradient of the unit."""
        return len(self.arrived) == len(self.parameters)

    def zero(self) -> None:
        """Forget this rank's slice of the summed gradient; in stage 1, the whole row.

        In stage 1 every `.grad` is a view of the row, which autograd adds to.
        """
        for held in (self.gradient, self.own):
            if held is not None:
                held.zero_()
        for parameter, view in zip(self.parameters, self._gradients, strict=False):
            parameter.grad = view

    def summed(self, comm: Comm, weight: float) -> Tensor:
        """Stage 1: this rank's slice of the sum of all ranks' rows times their weights.

        The rows stay as they are, so that the next backward adds to them where nobody has called
        `zero_grad`: unlike `reduce_scatter_ring` this one passes copies of the chunks on.
        """
        assert self.gradient is not None
        for parameter, view in zip(self.parameters, self._gradients, strict=True):
            if parameter.grad is None:  # somebody else's `zero_grad` puts None there
                view.zero_()
            elif parameter.grad.data_ptr() != view.data_ptr():
                view.copy_(parameter.grad)
            parameter.grad = view
        chunks = [self.gradient[slice(*b)] for b in chunk_bounds(len(self.gradient), comm.size)]
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        partial, scratch = chunks[left] * weight, torch.empty_like(chunks[left])
        for step in range(1, comm.size):
            sending = comm.isend(partial, right)
            received = comm.recv(left, into=scratch)
            sending.wait()
            torch.add(received, chunks[(comm.rank - step - 1) % comm.size] * weight, out=partial)
        return partial

    def take(self, number: int, weight: float) -> None:
        """Move a parameter's `.grad`, times `weight`, into the row, which is made if need be.

        number: of the parameter in the row. Where it has arrived before, this one is added.
        """
        if self.gradient is None:
            self.gradient = self.full.new_zeros(len(self.full))
            self._gradients = self.shaped(self.gradient)
        parameter, view = self.parameters[number], self._gradients[number]
        assert parameter.grad is not None
        if parameter in self.arrived:
            view.add_(parameter.grad, alpha=weight)
        else:
            torch.mul(parameter.grad, weight, out=view)
        parameter.grad = None
        self.arrived.add(parameter)

    def start_scatter(self, comm: Comm, weight: float) -> Request:
        """Begin to sum the gradients and to add this rank's slice of the sum to `own`.

        A parameter that has no gradient counts as zero.
        """
        for number, parameter in enumerate(self.parameters):
            if parameter.grad is not None:
                self.take(number, weight)
        if self.gradient is None:
            self.gradient = self.full.new_zeros(len(self.full))
        self.arrived.clear()
        return comm.background(_scatter, self.gradient, self.own)

    def drop(self) -> None:
        """Give the whole row of gradients back."""
        self.gradient = None
        self._gradients = []


def _gather(comm: Comm, row: Tensor) -> None:
    """On the communication thread: fill a whole row of which each rank has its slice.

    The ring works on another tensor of the same memory: one that is ever seen through numpy, as
    some ranks' messages are, can no longer give its memory back.
    """
    all_gather_ring(comm, torch.from_dlpack(row))


def _scatter(comm: Comm, row: Tensor, own: Tensor) -> None:
    """On the communication thread: sum a row of gradients and add this rank's slice to its own."""
    own += reduce_scatter_ring(comm, row)
