"""Stage 3's part around a unit: gather its parameters before they are used, free them after.

Sources: Rajbhandari et al., "ZeRO" (2020), section 5.3; Zhao et al., "PyTorch FSDP" (2023),
sections 3.1 and 3.3, for fetching the next unit while this one computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.sharding.algorithms.sharded_unit import Unit


class Gatherer:
    """Hooks on units' modules: forward and backward find the parameters whole.

    units: in the order in which forward comes to them. prefetch: whether the next unit's gather
    starts before this one computes. changed: called when rows have come or gone.
    """

    def __init__(
        self,
        modules: Sequence[nn.Module],
        units: Sequence[Unit],
        comm: Comm,
        prefetch: bool,
        changed: Callable[[], None],
    ) -> None:
        self.units, self.comm, self._prefetch, self._changed = units, comm, prefetch, changed
        for number, module in enumerate(modules):
            module.register_forward_pre_hook(partial(self._before, number))
            module.register_forward_hook(partial(self._after, number))

    def _before(self, number: int, *_: Any) -> None:
        """Forward comes to a unit, or backward computes its forward once more."""
        if not self.units[number].backward:
            self._need(number, number + 1)

    def _after(self, number: int, module: nn.Module, inputs: Any, outputs: Any) -> None:
        """A unit's forward is done."""
        unit = self.units[number]
        if unit.backward:
            return
        made = list(_with_gradients(outputs))
        unit.used = bool(made)
        for tensor in made:
            tensor.register_hook(partial(self._enter, number))
        self.free(unit)

    def _enter(self, number: int, _: Tensor) -> None:
        """Backward has come to one of a unit's outputs, and so is done with all units after it."""
        unit = self.units[number]
        if not unit.backward:
            for later in self.units[number + 1 :]:
                if later.backward:
                    self.free(later)
            unit.backward = True
            earlier = (n for n in range(number - 1, -1, -1) if self.units[n].used)
            self._need(number, next(earlier, len(self.units)))

    def finished(self, unit: Unit) -> None:
        """Backward has made all gradients of a unit's own, and so has used its trained weights.

        A frozen one may be needed yet, for the gradients of the unit's inputs.
        """
        if all(flat.trainable for flat in unit.flats):
            self.free(unit)

    def free(self, unit: Unit) -> None:
        """Free a unit's parameters."""
        if unit.is_open:
            unit.free(self.comm)
            self._changed()

    def _need(self, number: int, following: int) -> None:
        self.units[number].gather(self.comm)
        if self._prefetch and following < len(self.units):
            self.units[following].start_gather(self.comm)
        self._changed()


def _with_gradients(value: Any) -> Iterator[Tensor]:
    """The tensors in a value that backward comes to, also inside tuples, lists and dicts."""
    if isinstance(value, Tensor):
        if value.requires_grad:
            yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _with_gradients(each)
