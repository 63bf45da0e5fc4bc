"""Where TensorFlow's placer puts an op: by what it uses, its pin, its kernels and the devices."""

from __future__ import annotations

from collections.abc import Sequence

Op = tuple[str, str, list[str], str]


def place(ops: Sequence[Op], devices: Sequence[str], soft: bool) -> dict[str, str | None]:
    """The device of each op, by name; None where it cannot be placed.

    ops: (name, pin, kernels, variable): the device that it is pinned on or "", the kinds of devices
    that it has a kernel for, and the variable that it uses or "", which is an op before it.
    devices: such as ["CPU:0", "CPU:1", "GPU:0"], each kind in order.
    soft: whether soft placement is on.
    """
    placed: dict[str, str | None] = {}
    for name, pin, kernels, variable in ops:
        usable = [device for device in devices if device[:3] in kernels]
        usable.sort(key=lambda device: device[:3] != "GPU")
        if variable:
            placed[name] = placed[variable]
        elif pin in usable:
            placed[name] = pin
        else:
            placed[name] = usable[0] if usable and (soft or not pin) else None
    return placed
