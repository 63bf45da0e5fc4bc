"""Stage 3's part around a unit: gather its parameters before they are used, free them after.

Sources: Rajbhandari et al., "ZeRO" (2020), section 5.3; Zhao et al., "PyTorch FSDP" (2023),
sections 3.1 and 3.3, for fetching the next unit while this one computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.sharding.algorithms.sharded_unit import Unit


class Gatherer:
    """Hooks on units' modules: forward and backward find the parameters whole.

    Backward is met at a unit's outputs.

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

    def _before(self, number: int, _: nn.Module, inputs: Any) -> None:
        """Forward comes to a unit, or backward computes its forward once more."""
        if not self.units[number].backward:
            self._need(self.units[number], number + 1)

    def _after(self, number: int, _: nn.Module, inputs: Any, outputs: Any) -> None:
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
        """Backward has come to one of a unit's outputs."""
        unit = self.units[number]
        if not unit.backward:
            unit.backward, unit.made = True, 0
            earlier = (n for n in range(number - 1, -1, -1) if self.units[n].used)
            self._need(unit, next(earlier, len(self.units)))

    def free(self, unit: Unit) -> None:
        """Free a unit's parameters."""
        if unit.is_open:
            unit.free(self.comm)
            self._changed()

    def _need(self, unit: Unit, following: int) -> None:
        unit.gather(self.comm)
        if self._prefetch and following < len(self.units):
            self.units[following].start_gather(self.comm)
        self._changed()


def _with_gradients(value: Any) -> Iterator[Tensor]:
    """The tensors in a value that backward comes to, also inside dicts, lists and tuples."""
    if isinstance(value, Tensor):
        if value.requires_grad:
            yield value
        return
    inside = value.values() if isinstance(value, Mapping) else value
    for each in inside if isinstance(inside, list | tuple) or inside is not value else ():
        yield from _with_gradients(each)
