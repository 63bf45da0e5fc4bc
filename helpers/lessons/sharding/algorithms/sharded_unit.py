"""A unit of a sharded model: a module's parameters, gathered, used and freed together.

Source: Zhao et al., "PyTorch FSDP" (2023), section 3.2.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers.lessons.messages.algorithms.collectives import all_gather_ring, reduce_scatter_ring
from helpers.lessons.sharding.algorithms.sharded_row import Flat

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request


class Unit:
    """A module's parameters: gathered, used and freed together, and their gradients scattered.

    flats: a row of trainable and one of frozen parameters, for each type that there is.
    arrived: parameters whose gradients backward has made. is_open: whether the rows have memory,
    which a gather may be filling yet. used: whether backward will come by. backward: whether it
    is here. finished: whether it has made the unit's own gradients. entered, left: how many
    inputs have a gradient, and how many of these backward has made.
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
        return not self.is_open

    def open(self) -> None:
        """Take memory for the whole rows, in which this rank's slices alone are right as yet."""
        for flat in self.flats:
            flat.open()
        self.is_open = True

    def start_gather(self, comm: Comm) -> None:
        """Begin to gather the parameters on the communication thread, unless that is done."""
        if self.closed:
            self.open()
            self._gathering = comm.background(_gather, [flat.full for flat in self.flats])

    def gather(self, comm: Comm) -> None:
        """Return once the parameters are whole."""
        self.start_gather(comm)
        if self._gathering is not None:
            self._gathering.wait()
        self._gathering = None

    def free(self, comm: Comm) -> None:
        """Keep this rank's slices of the parameters only; waits for a gather under way."""
        if not self.closed:
            self.gather(comm)
            for flat in self.flats:
                flat.close()
        self.is_open = self.backward = False

    def load(self, parameter: nn.Parameter, value: Tensor) -> None:
        """A parameter is being given a value: note it as exactly as the optimizer keeps it."""
        for flat in self.flats:
            for number, each in enumerate(flat.parameters):
                if each is parameter:
                    flat.load(number, value)

    def keep(self) -> None:
        """What has been written into open parameters goes into this rank's slices."""
        for flat in self.flats:
            if not (flat.whole or self.closed):
                flat.slice.copy_(flat.full[slice(*flat.bounds)])

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
