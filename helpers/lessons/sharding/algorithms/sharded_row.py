"""Parameters in a row, cut into as many slices as there are ranks, and the row of their gradients.

A row is padded with zeros until the ranks divide it, so that every rank's slice is as long as the
others'. Sources: Rajbhandari, Rasley, Ruwase and He, "ZeRO: Memory Optimizations Toward Training
Trillion Parameter Models" (2020), section 5; Zhao et al., "PyTorch FSDP" (2023), section 4.2, for
the padded row and for freeing its memory under the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers.lessons.messages.algorithms.collectives import all_gather_ring, chunk_bounds

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


class Flat:
    """Some parameters of one type, all trainable or all frozen, in a row.

    full: the whole row, padded. Where `whole` is not set its memory is there only between `open`
    and `close`, and a closed parameter reads as NaN, so that a use at the wrong time shows.
    slice: this rank's part of the row, in the type that is computed with.
    master: what the optimizer updates: the slice itself, or in mixed precision a copy of it in
    the model's own type. None for frozen parameters.
    gradient: of the whole row, None where there is none now. own: from stage 2 on, this rank's
    slice of the sum.
    padding: elements that the row is longer than its parameters.
    """

    def __init__(
        self, parameters: Sequence[nn.Parameter], comm: Comm, stage: int, mixed: bool
    ) -> None:
        self.parameters = list(parameters)
        self.trainable, self.whole = parameters[0].requires_grad, stage < 3
        self.length = sum(p.numel() for p in parameters)
        self.padding = -self.length % comm.size
        exact = parameters[0].new_zeros(self.length + self.padding, requires_grad=False)
        torch.cat([p.detach().reshape(-1) for p in parameters], out=exact[: self.length])
        self.full = exact.to(torch.bfloat16 if mixed else exact.dtype)
        self.bounds = chunk_bounds(len(exact), comm.size)[comm.rank]
        own = self.full[slice(*self.bounds)]
        self.slice = own if self.whole else own.clone()
        self._views = self.shaped(self.full)
        self._closed = [self.full.new_full((), math.nan).expand(p.shape) for p in parameters]
        for parameter, view in zip(parameters, self._views, strict=True):
            parameter.grad, parameter.data = None, view
        self._allocate(exact, stage, mixed)
        if not self.whole:
            self.close()

    def _allocate(self, exact: Tensor, stage: int, mixed: bool) -> None:
        self.master: nn.Parameter | None = None
        self.gradient: Tensor | None = None
        self.own: Tensor | None = None
        self._gradients: list[Tensor] = []  # the row's parts, in the parameters' shapes
        if not self.trainable:
            return
        start, stop = self.bounds
        self.master = nn.Parameter(exact[start:stop].clone() if mixed else self.slice)
        if stage == 1:
            self.gradient = torch.zeros_like(self.full)
            self._gradients = self.shaped(self.gradient)
        else:
            self.own = torch.zeros_like(self.slice)

    def shaped(self, row: Tensor) -> list[Tensor]:
        """Each parameter's part of a row, in the parameter's shape."""
        parts = row[: self.length].split([p.numel() for p in self.parameters])
        return [part.view(p.shape) for part, p in zip(parts, self.parameters, strict=True)]

    def zero(self) -> None:
        """Forget this rank's slice of the summed gradient; in stage 1, the whole row."""
        for held in (self.gradient, self.own):
            if held is not None:
                held.zero_()

    # --- the parameters' values -------------------------------------------------------------------

    def open(self) -> None:
        """Take memory for the whole row and put this rank's slice in its place."""
        self.full.untyped_storage().resize_(len(self.full) * self.full.element_size())
        self.full[slice(*self.bounds)] = self.slice
        for parameter, view in zip(self.parameters, self._views, strict=True):
            parameter.data = view

    def close(self) -> None:
        """Give the whole row's memory back; this rank's slice stays.

        What autograd has saved refers to the same memory, and finds it filled after `open`.
        """
        for parameter, nothing in zip(self.parameters, self._closed, strict=True):
            parameter.data = nothing
        self.full.untyped_storage().resize_(0)

    def load(self, number: int, value: Tensor) -> None:
        """A parameter is being given a value: note it as exactly as the optimizer keeps it.

        number: of the parameter in the row. The row itself is written by whoever gives the value.
        """
        if self.master is None or self.master.dtype == self.full.dtype:
            return
        first = sum(p.numel() for p in self.parameters[:number])
        start, stop = (max(first, min(edge, first + value.numel())) for edge in self.bounds)
        part = value.detach().reshape(-1)[start - first : stop - first]
        self.master.detach()[start - self.bounds[0] :][: stop - start] = part

    def collect(self, comm: Comm) -> list[Tensor]:
        """Every parameter's whole value, in the optimizer's type, on every rank."""
        own = self.slice if self.master is None else self.master.detach()
        row = own.new_empty(len(self.full))
        row[slice(*self.bounds)] = own
        return self.shaped(all_gather_ring(comm, row))

    # --- their gradients --------------------------------------------------------------------------

    def show_gradients(self) -> None:
        """Stage 1: make every `.grad` a view of the row of gradients, which autograd adds to."""
        for parameter, view in zip(self.parameters, self._gradients, strict=True):
            parameter.grad = view

    def collect_gradients(self) -> None:
        """Stage 1: bring into the row what somebody has put in the place of a `.grad`.

        The model's own `zero_grad()` puts None there, `backward(create_graph=True)` new tensors.
        """
        for parameter, view in zip(self.parameters, self._gradients, strict=True):
            if parameter.grad is None:
                view.zero_()
            else:
                given = _dense(parameter.grad)
                if given.data_ptr() != view.data_ptr():
                    view.copy_(given)
            parameter.grad = view

    def summed(self, comm: Comm, weight: float) -> Tensor:
        """Stage 1: this rank's slice of the sum of all ranks' rows times their weights.

        The rows stay as they are, so that the next backward adds to them where nobody has called
        `zero_grad`: unlike `reduce_scatter_ring` this one passes copies of the chunks on.
        """
        assert self.gradient is not None
        chunks = [self.gradient[slice(*b)] for b in chunk_bounds(len(self.gradient), comm.size)]
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        partial, scratch = chunks[left] * weight, torch.empty_like(chunks[left])
        for step in range(1, comm.size):
            sending = comm.isend(partial, right)
            received = comm.recv(left, into=scratch)
            sending.wait()
            torch.add(received, chunks[(comm.rank - step - 1) % comm.size] * weight, out=partial)
        return partial

    def take(self, number: int, weight: float, again: bool) -> None:
        """Move a parameter's `.grad`, times `weight`, into the row, which is made if need be.

        number: of the parameter in the row. again: add to what is there already. Raises
        RuntimeError where the gradient has a graph of its own, which would be lost.
        """
        if self.gradient is None:
            self.gradient = self.full.new_zeros(len(self.full))
            self._gradients = self.shaped(self.gradient)
        parameter, view = self.parameters[number], self._gradients[number]
        assert parameter.grad is not None
        if parameter.grad.requires_grad:
            raise RuntimeError(
                "backward(create_graph=True): from stage 2 on a gradient is summed and given back "
                "as soon as it is made, and cannot be differentiated again. Take stage 1."
            )
        given = _dense(parameter.grad)
        if again:
            view.add_(given, alpha=weight)
        else:
            torch.mul(given, weight, out=view)
        parameter.grad = None

    def drop(self) -> None:
        """Give the whole row of gradients back."""
        self.gradient = None
        self._gradients = []


def _dense(gradient: Tensor) -> Tensor:
    """A gradient without its graph; of a sparse one, as embeddings make them, all elements."""
    plain = gradient.detach()
    return plain if plain.layout is torch.strided else plain.to_dense()
