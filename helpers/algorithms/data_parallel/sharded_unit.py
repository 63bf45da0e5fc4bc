"""A unit of a sharded model: its parameters in a row, cut into as many slices as ranks.

A row is padded with zeros until the ranks divide it, so that every rank's slice is as long as the
others'. Sources: Rajbhandari, Rasley, Ruwase and He, "ZeRO: Memory Optimizations Toward Training
Trillion Parameter Models" (2020), section 5; Zhao et al., "PyTorch FSDP" (2023), section 4.2, for
the padded row and for freeing its memory under the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers.algorithms.messages.collectives import (
    all_gather_ring,
    chunk_bounds,
    reduce_scatter_ring,
)

if TYPE_CHECKING:
    from helpers.engines.comm import Comm, Request


class Flat:
    """Some parameters of one type, all trainable or all frozen, in a row.

    full: the whole row, padded. Where `whole` is not set its memory is there only between `open`
    and `close`, and a closed parameter reads as NaN, so that a use at the wrong time shows.
    slice: this rank's part of the row, in the type that is computed with.
    master: what the optimizer updates: the slice itself, or in mixed precision a copy of it in
    the model's own type. None for frozen parameters.
    gradient: of the whole row, None where there is none now. own: this rank's slice of the sum.
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
        self._gradients: list[Tensor] = []  # its parts, in the parameters' shapes
        if not self.trainable:
            return
        start, stop = self.bounds
        self.master = nn.Parameter(exact[start:stop].clone() if mixed else self.slice)
        if stage == 1:
            self.gradient = torch.zeros_like(self.full)
            self.own = self.gradient[start:stop]
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

    def collect(self, comm: Comm) -> list[Tensor]:
        """Every parameter's whole value, in the optimizer's type, on every rank."""
        own = self.slice if self.master is None else self.master.detach()
        row = own.new_empty(len(self.full))
        row[slice(*self.bounds)] = own
        return self.shaped(all_gather_ring(comm, row))

    # --- their gradients --------------------------------------------------------------------------

    def show_gradients(self) -> None:
        """Make every `.grad` a view of the row of gradients, which autograd then adds to."""
        assert self.gradient is not None
        for parameter, view in zip(self.parameters, self.shaped(self.gradient), strict=True):
            parameter.grad = view

    def take(self, number: int, weight: float, again: bool) -> None:
        """Move a parameter's `.grad`, times `weight`, into the row, which is made if need be.

        number: of the parameter in the row. again: add to what is there already.
        """
        if self.gradient is None:
            self.gradient = self.full.new_zeros(len(self.full))
            self._gradients = self.shaped(self.gradient)
        parameter, view = self.parameters[number], self._gradients[number]
        if again:
            view.add_(parameter.grad, alpha=weight)  # type: ignore[arg-type]
        else:
            torch.mul(parameter.grad, weight, out=view)  # type: ignore[arg-type]
        parameter.grad = None

    def drop(self) -> None:
        """Give the whole row of gradients back."""
        self.gradient = None
        self._gradients = []


class Unit:
    """A module's parameters: gathered, used and freed together, and their gradients scattered.

    flats: a row of trainable and one of frozen parameters, for each type that there is.
    arrived: parameters whose gradients backward has made. is_open: whether the parameters can be
    used. used: whether backward will come by. backward: whether it is here. finished: whether it
    has made the unit's own gradients. entered, left: how many inputs have a gradient, and how many
    of these backward has made.
    """

    def __init__(
        self, name: str, parameters: Sequence[nn.Parameter], comm: Comm, stage: int, mixed: bool
    ) -> None:
        kinds: dict[tuple[bool, torch.dtype], list[nn.Parameter]] = {}
        for parameter in parameters:
            if not parameter.dtype.is_floating_point:
                raise TypeError(f"A parameter of {name} is {parameter.dtype}: floats are sharded.")
            kinds.setdefault((parameter.requires_grad, parameter.dtype), []).append(parameter)
        self.name = name
        self.flats = [Flat(group, comm, stage, mixed) for group in kinds.values()]
        self.trained = [flat for flat in self.flats if flat.trainable]
        self.arrived: set[nn.Parameter] = set()
        self.is_open = stage < 3
        self.used = self.backward = self.finished = False
        self.entered = self.left = 0
        self._gathering: Request | None = None

    @property
    def complete(self) -> bool:
        """Whether backward has made every gradient of the unit."""
        return len(self.arrived) == sum(len(flat.parameters) for flat in self.trained)

    @property
    def summing(self) -> bool:
        """Whether a row of gradients is there, of this backward or of one before."""
        return self.trained[0].gradient is not None

    @property
    def closed(self) -> bool:
        """Whether only slices of the parameters are here."""
        return not self.is_open and self._gathering is None

    def start_gather(self, comm: Comm) -> None:
        """Begin to gather the parameters on the communication thread, unless that is done."""
        if self.closed:
            for flat in self.flats:
                flat.open()
            self._gathering = comm.background(_gather, [flat.full for flat in self.flats])

    def gather(self, comm: Comm) -> None:
        """Return once the parameters are whole."""
        self.start_gather(comm)
        if self._gathering is not None:
            self._gathering.wait()
        self._gathering, self.is_open = None, True

    def free(self, comm: Comm) -> None:
        """Keep this rank's slices of the parameters only; waits for a gather under way."""
        if not self.closed:
            self.gather(comm)
            for flat in self.flats:
                flat.close()
        self.is_open = self.backward = False

    def start_scatter(self, comm: Comm, weight: float) -> Request:
        """Begin to sum the gradients and to add this rank's slices of the sums to `own`.

        A parameter that has no gradient counts as zero.
        """
        rows = []
        for flat in self.trained:
            for number, parameter in enumerate(flat.parameters):
                if parameter.grad is not None:
                    flat.take(number, weight, parameter in self.arrived)
            if flat.gradient is None:
                flat.gradient = flat.full.new_zeros(len(flat.full))
            rows.append((flat.gradient, flat.own))
        self.arrived.clear()
        return comm.background(_scatter, rows)


def _gather(comm: Comm, rows: list[Tensor]) -> None:
    """On the communication thread: fill whole rows of which each rank has its slice.

    The ring works on another tensor of the same memory: one that is ever seen through numpy, as
    some ranks' messages are, can no longer give its memory back.
    """
    for row in rows:
        all_gather_ring(comm, torch.from_dlpack(row))


def _scatter(comm: Comm, rows: list[tuple[Tensor, Tensor]]) -> None:
    """On the communication thread: sum rows of gradients and add this rank's slices to its own."""
    for row, own in rows:
        own += reduce_scatter_ring(comm, row)


LISTS = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
"""Modules that hold others, or parameters, and are never called themselves."""


def modules_of_units(model: nn.Module, units: Sequence[nn.Module] | None) -> Sequence[nn.Module]:
    """The modules to gather as one each: those given, or else all that the model calls itself.

    Raises ValueError for one that nobody calls, so that its parameters would never be gathered, and
    for one that lies in another or is named twice.
    """
    modules = list(_called(model)) if units is None else units
    for place, module in enumerate(modules):
        if isinstance(module, LISTS):
            raise ValueError(
                f"Unit {place} is a {type(module).__name__}, which nobody calls, so that its "
                "parameters would never be gathered: give the modules in it."
            )
        if any(module in set(other.modules()) for other in modules if other is not module):
            raise ValueError("One unit lies in another: give each module to one unit.")
    if len(set(modules)) < len(modules):
        raise ValueError("A module is named as a unit twice.")
    return modules


def _called(model: nn.Module) -> Iterator[nn.Module]:
    """A model's children; in place of a list or dict of them, which nobody calls, what is in it."""
    for child in model.children():
        if isinstance(child, nn.ModuleList | nn.ModuleDict):
            yield from _called(child)
        elif not isinstance(child, LISTS):
            yield child
