"""Wrong answers to exercise 01.2, each with one rule changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def _place(
    ops: Any,
    devices: Any,
    soft: bool,
    follow: bool = True,
    kernel: bool = True,
    exists: bool = True,
    order: Sequence[str] = ("GPU", "CPU"),
    free: bool = True,
    anywhere: bool = False,
    wish: bool = False,
    go_on: bool = False,
) -> dict[str, Any]:
    """The rules, of which some can be changed."""
    placed: dict[str, Any] = {}
    pins = {op[0]: op[1] for op in ops}
    for name, pin, kernels, variable in ops:
        usable = [d for kind in order for d in devices if d[:3] == kind and kind in kernels]
        if anywhere and not usable:
            usable = list(devices)
        if variable and follow and not (go_on and placed[variable] is None):
            placed[name] = pins[variable] if wish else placed[variable]
        elif pin and (pin in devices or not exists) and (pin[:3] in kernels or not kernel):
            placed[name] = pin
        elif usable and (soft if pin else free):
            placed[name] = usable[0]
        else:
            placed[name] = None
    return placed


def pin_wins(ops: Any, devices: Any, soft: bool) -> Any:
    """A pin beats the variable."""
    return _place(ops, devices, soft, follow=False)


def no_kernels(ops: Any, devices: Any, soft: bool) -> Any:
    """Never looks at the kernels of a pinned op."""
    return _place(ops, devices, soft, kernel=False)


def no_devices(ops: Any, devices: Any, soft: bool) -> Any:
    """Never looks whether a pin's device is there."""
    return _place(ops, devices, soft, exists=False)


def always_soft(ops: Any, devices: Any, soft: bool) -> Any:
    """Nothing with a kernel is refused."""
    return _place(ops, devices, True)


def never_soft(ops: Any, devices: Any, soft: bool) -> Any:
    """A pin is a pin."""
    return _place(ops, devices, False)


def needs_a_pin(ops: Any, devices: Any, soft: bool) -> Any:
    """What has no pin is refused."""
    return _place(ops, devices, soft, free=False)


def cpu_first(ops: Any, devices: Any, soft: bool) -> Any:
    """The first device of the list."""
    return _place(ops, devices, soft, order=("CPU", "GPU"))


def somewhere(ops: Any, devices: Any, soft: bool) -> Any:
    """Kernels do not matter where there is none."""
    return _place(ops, devices, soft, anywhere=True)


def variables_pin(ops: Any, devices: Any, soft: bool) -> Any:
    """With the variable's pin, not with its placement."""
    return _place(ops, devices, soft, wish=True)


def without_its_variable(ops: Any, devices: Any, soft: bool) -> Any:
    """By the other rules, where the variable is refused."""
    return _place(ops, devices, soft, go_on=True)


def refused_left_out(ops: Any, devices: Any, soft: bool) -> Any:
    """Only what can be placed."""
    return {name: device for name, device in _place(ops, devices, soft).items() if device}
