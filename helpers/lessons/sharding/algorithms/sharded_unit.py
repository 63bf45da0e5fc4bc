"""A unit of a sharded model: a module's parameters, gathered, used and freed together.

Source: Zhao et al., "PyTorch FSDP" (2023), section 3.2.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers.lessons.messages.algorithms.collectives import all_gather_ring, reduce_scatter_ring
from helpers.lessons.sharding.algorithms.sharded_row import Flat

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request


class Unit:
    """A module's parameters: gathered, used and freed together, and their gradients scattered.

    flats: a row of trainable and one of frozen parameters, for each type that there is. trained:
    those of them that are. arrived: parameters whose gradients backward has made. is_open: whether
    the rows have memory, which a gather may be filling yet. used: whether backward will come by.
    backward: whether it is here.
    """

    def __init__(
        self, parameters: Sequence[nn.Parameter], comm: Comm, stage: int, mixed: bool
    ) -> None:
        kinds: dict[tuple[bool, torch.dtype], list[nn.Parameter]] = {}
        for parameter in parameters:
            kinds.setdefault((parameter.requires_grad, parameter.dtype), []).append(parameter)
        self.flats = [Flat(group, comm, stage, mixed) for group in kinds.values()]
        self.trained = [flat for flat in self.flats if flat.trainable]
        self.arrived: set[nn.Parameter] = set()
        self.is_open = stage < 3
        self.used = self.backward = False
        self._gathering: Request | None = None

    @property
    def complete(self) -> bool:
        """Whether backward has made every gradient of the unit."""
        return len(self.arrived) == sum(len(flat.parameters) for flat in self.trained)

    @property
    def summing(self) -> bool:
        """Whether a row of gradients is there, of this backward or of one before."""
        return self.trained[0].gradient is not None

    def start_gather(self, comm: Comm) -> None:
        """Begin to gather the parameters on the communication thread, unless that is done."""
        if not self.is_open:
            for flat in self.flats:
                flat.open()
            self.is_open = True
            self._gathering = comm.background(_gather, [flat.full for flat in self.flats])

    def gather(self, comm: Comm) -> None:
        """Return once the parameters are whole."""
        self.start_gather(comm)
        if self._gathering is not None:
            self._gathering.wait()
        self._gathering = None

    def free(self, comm: Comm) -> None:
        """Keep this rank's slices of the parameters only; waits for a gather under way."""
        if self.is_open:
            self.gather(comm)
            for flat in self.flats:
                flat.close()
        self.is_open = self.backward = False

    def start_scatter(self, comm: Comm, weight: float) -> Request:
        """Begin to sum the gradients and to add this rank's slices of the sums to `own`.

        A parameter that has no gradient counts as zero.
        """
        for flat in self.trained:
            flat.begin_gradients()
            for number, parameter in enumerate(flat.parameters):
                if parameter.grad is not None:
                    flat.take(number, weight)
        self.arrived.clear()
        return comm.background(_scatter, [(flat.gradient, flat.own) for flat in self.trained])


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
