"""Stages 2 and 3: sum a unit's gradients as soon as backward has made them; only slices stay.

Sources: Rajbhandari et al., "ZeRO" (2020), section 5.2; Zhao et al., "PyTorch FSDP" (2023), section
3.3, for summing while backward goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from torch import nn

from helpers.lessons.sharding.algorithms.sharded_unit import Unit

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request


class Summer:
    """Hooks on parameters: a gradient goes into its row, and the rows that are full are summed.

    units: the root unit first, if there is one; backward comes to them from the last on. weight:
    gives what this rank's gradients are multiplied by. changed: called when rows have come or
    gone. finished: called with a unit whose gradients backward has made.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        comm: Comm,
        weight: Callable[[], float],
        changed: Callable[[], None],
        finished: Callable[[Unit], None],
    ) -> None:
        self._order = list(reversed(units))
        self._comm, self._weight, self._changed = comm, weight, changed
        self._finished = finished
        self._next, self._passes = 0, 0
        self._requests: deque[tuple[Request, Unit]] = deque()
        for unit in self._order:
            for number, parameter in enumerate(unit.parameters):
                arrive = partial(self._arrive, unit=unit, number=number)
                parameter.register_post_accumulate_grad_hook(arrive)

    def _arrive(self, parameter: nn.Parameter, unit: Unit, number: int) -> None:
        """Backward has made a parameter's gradient."""
        if not unit.is_open:
            raise RuntimeError(
                f"Backward came to {unit.name} by a way that forward has not shown, when its "
                "parameters were freed: let the unit return what the loss needs."
            )
        if not unit.arrived:
            self._settle(keep=1 if unit.gradient is None else 0)
        unit.take(number, self._weight())
        unit.made += 1
        self._changed()
        if unit.made == len(unit.parameters):
            self._finished(unit)
        if unit.complete:
            while self._order[self._next].complete:
                self._start_next()

    def _start_next(self) -> None:
        """Sum the next unit's row: in one order on all ranks, or they would add unlike things."""
        unit = self._order[self._next]
        if unit.gradient is not None and not unit.arrived:
            self._settle()
        self._requests.append((unit.start_scatter(self._comm, self._weight()), unit))
        self._next = (self._next + 1) % len(self._order)
        self._passes += self._next == 0

    def flush(self) -> None:
        """Sum what backward has left incomplete, at least once since the last step."""
        while self._next or not self._passes or any(unit.arrived for unit in self._order):
            self._start_next()
        self._settle()

    def stepped(self) -> None:
        """What has been summed has been used."""
        self._passes = 0

    def forget(self) -> None:
        """Forget what has arrived, and what is summed but not used."""
        self._settle()
        self._next = self._passes = 0
        for unit in self._order:
            unit.arrived.clear()
            unit.drop()

    def _settle(self, keep: int = 0) -> None:
        """Wait until all sums but the last `keep` are made, and give their rows back."""
        while len(self._requests) > keep:
            request, unit = self._requests.popleft()
            request.wait()
            unit.drop()
            self._changed()
