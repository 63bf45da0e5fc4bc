"""What may be done to a sharded model past `Sharded`: made right here, or refused in a sentence.

The model that was given to `Sharded` is still in its owner's hands. Its own `zero_grad` and
`load_state_dict` do what they do to any model; to freeze a parameter, or to thaw one, is too late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from helpers.lessons.sharding.algorithms.sharded_unit import Unit

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


def guard_zero_grad(model: nn.Module, zero_grad: Callable[[], None]) -> None:
    """From stage 2 on gradients lie elsewhere, where the model's own `zero_grad` finds none."""

    def whole(set_to_none: bool = True) -> None:
        zero_grad()

    def part(set_to_none: bool = True) -> None:
        raise RuntimeError(
            "The gradients of a part of a sharded model cannot be forgotten alone from stage 2 "
            "on: call zero_grad() of the whole model."
        )

    for module in model.modules():
        module.zero_grad = whole if module is model else part  # type: ignore[method-assign]


def guard_loading(model: nn.Module, units: Sequence[Unit], comm: Comm) -> None:
    """Let `load_state_dict`, of the model or of a part of it, reach slices and exact copies."""
    of: dict[nn.Parameter, Unit] = {p: u for u in units for f in u.flats for p in f.parameters}
    opened: list[Unit] = []

    def before(
        module: nn.Module, state: Mapping[str, Any], prefix: str, local: Mapping[str, Any], *_: Any
    ) -> None:
        if local.get("assign_to_params_buffers"):
            raise RuntimeError(
                "load_state_dict(assign=True) would put other parameters in the place of the "
                "sharded ones: leave assign out."
            )
        for name, parameter in module.named_parameters(recurse=False):
            unit = of[parameter]
            if unit.closed:
                unit.open()
                opened.append(unit)
            unit.gather(comm)  # where one is under way
            value = state.get(prefix + name)
            if isinstance(value, Tensor) and value.shape == parameter.shape:
                unit.load(parameter, value)

    def after(module: nn.Module, _: Any) -> None:
        loaded = {of[p] for p in module.parameters(recurse=False)}
        for unit in loaded.union(opened):
            unit.keep()
        while opened:
            opened.pop().free(comm)

    for module in model.modules():
        module.register_load_state_dict_pre_hook(before)
        module.register_load_state_dict_post_hook(after)


def check_frozen(model: nn.Module, units: Sequence[Unit]) -> None:
    """Raise RuntimeError where a parameter was frozen, or thawed, after it was sharded."""
    for flat in (flat for unit in units for flat in unit.flats):
        for parameter in flat.parameters:
            if parameter.requires_grad != flat.trainable:
                name = next(n for n, p in model.named_parameters() if p is parameter)
                done = "frozen" if flat.trainable else "made trainable"
                raise RuntimeError(
                    f"{name} was {done} after the model was sharded, when the row that it lies in "
                    "was laid out. Set requires_grad first, and shard the model then."
                )
