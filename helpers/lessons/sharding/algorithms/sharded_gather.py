"""Stage 3's part around a unit: gather its parameters before they are used, free them after.

Sources: Rajbhandari et al., "ZeRO" (2020), section 5.3; Zhao et al., "PyTorch FSDP" (2023),
sections 3.1 and 3.3, for fetching the next unit while this one computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.sharding.algorithms.sharded_unit import Unit


class Gatherer:
    """Hooks on units' modules: forward and backward find the parameters whole.

    Backward is met at a unit's outputs, and at what its modules have kept in attributes, such as a
    loss of their own.

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
            module.register_forward_pre_hook(partial(self._before, number), with_kwargs=True)
            module.register_forward_hook(partial(self._after, number))

    def _before(
        self, number: int, _: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        """Forward comes to a unit, or backward computes its forward once more."""
        unit = self.units[number]
        if unit.backward:
            return
        self._need(unit, number + 1)
        if torch.is_grad_enabled() and any(not flat.trainable for flat in unit.flats):
            for tensor in _with_gradients([inputs, options]):
                unit.entered += 1
                tensor.register_hook(partial(self._leave, unit))

    def _after(self, number: int, module: nn.Module, _: Any, outputs: Any) -> None:
        """A unit's forward is done."""
        unit = self.units[number]
        if unit.backward:
            return
        made = [*_with_gradients(outputs), *_kept(module)]
        unit.used = bool(made)
        for tensor in made:
            tensor.register_hook(partial(self._enter, number))
        self.free(unit)

    def _enter(self, number: int, _: Tensor) -> None:
        """Backward has come to one of a unit's outputs."""
        unit = self.units[number]
        if not unit.backward:
            unit.backward, unit.finished = True, not unit.trained
            earlier = (n for n in range(number - 1, -1, -1) if self.units[n].used)
            self._need(unit, next(earlier, len(self.units)))

    def _leave(self, unit: Unit, _: Tensor) -> None:
        """Backward has made the gradient of one of a unit's inputs."""
        unit.left += 1
        if unit.finished:
            self.may_free(unit)

    def may_free(self, unit: Unit) -> None:
        """Free a unit whose own gradients are made, unless its frozen weights may be needed yet.

        Whatever uses a trained weight has run when the weight's gradient is there. A frozen one
        has been used for the last time when the inputs' gradients are there.
        """
        frozen = any(not flat.trainable for flat in unit.flats)
        if not frozen or 0 < unit.entered == unit.left:
            unit.entered = unit.left = 0
            self.free(unit)

    def free(self, unit: Unit) -> None:
        """Free a unit's parameters."""
        if not unit.closed:
            unit.free(self.comm)
            self._changed()

    def _need(self, unit: Unit, following: int) -> None:
        unit.gather(self.comm)
        if self._prefetch and following < len(self.units):
            self.units[following].start_gather(self.comm)
        self._changed()


def _with_gradients(value: Any) -> Iterator[Tensor]:
    """The tensors in a value that backward comes to, also inside dataclasses, dicts and lists."""
    if isinstance(value, Tensor):
        if value.requires_grad:
            yield value
        return
    inside: Any = ()
    if isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, list | tuple | set):
        inside = value
    elif is_dataclass(value):
        inside = (getattr(value, field.name) for field in fields(value))
    for each in inside:
        yield from _with_gradients(each)


OF_EVERY_MODULE = frozenset(vars(nn.Module()))


def _kept(module: nn.Module) -> Iterator[Tensor]:
    """Tensors with a graph that a module, or one in it, has in an attribute or a list of them."""
    for each in module.modules():
        for name, value in vars(each).items():
            if name not in OF_EVERY_MODULE:
                kept = value if isinstance(value, list | tuple) else [value]
                yield from (t for t in kept if isinstance(t, Tensor) and t.grad_fn is not None)
