"""The cases of exercise 01.2: ops on machines with a GPU and without, and where each goes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.spec import Case

Op = tuple[str, str, list[str], str]
BOTH = ["CPU", "GPU"]
# What the lesson shows, and TensorFlow is asked as well.
SHOWN: tuple[Op, ...] = (
    ("free", "", BOTH, ""),
    ("pinned", "CPU:1", BOTH, ""),
    ("weight", "CPU:1", BOTH, ""),
    ("read", "CPU:0", BOTH, "weight"),
    ("text", "", ["CPU"], ""),
    ("text_on_gpu", "GPU:0", ["CPU"], ""),
    ("on_gpu", "GPU:0", BOTH, ""),
    ("far", "CPU:7", BOTH, ""),
    ("cudnn", "CPU:0", ["GPU"], ""),
    ("cudnn_free", "", ["GPU"], ""),
    ("lost", "GPU:0", BOTH, ""),
    ("use_lost", "CPU:1", BOTH, "lost"),
)
MACHINES = (["CPU:0", "CPU:1", "GPU:0"], ["CPU:0", "CPU:1", "CPU:2"])


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's ops, on a machine with a GPU and without; else other ops as well."""
    random = rng(seed, "01.2")
    made = []
    for devices in MACHINES:
        for soft in (False, True):
            ops = list(SHOWN)
            if seed:
                ops = _others(random, devices) + [ops[i] for i in random.permutation([0, 1, 4, 5])]
                ops += [SHOWN[i] for i in (6, 7, 8, 9, 2, 3, 10, 11)]
            made.append(_case(ops, devices, soft))
    return made


def _others(random: np.random.Generator, devices: list[str]) -> list[Op]:
    """Ops of all kinds, some with a variable among those before them."""
    pins = [*devices, "", "GPU:0", "GPU:3", "CPU:5"]
    ops: list[Op] = [("w0", devices[int(random.integers(len(devices)))], BOTH, "")]
    for number in range(8):
        pin = pins[int(random.integers(len(pins)))]
        kernels = [BOTH, ["CPU"], ["GPU"]][int(random.integers(3))]
        ops.append((f"op{number}", pin, kernels, ""))
    ops.append(("use0", pins[int(random.integers(len(pins)))], BOTH, "w0"))
    return ops


def _case(ops: list[Op], devices: list[str], soft: bool) -> Case:
    words = "with" if soft else "without"
    name = f"On {', '.join(devices)} {words} soft placement"
    facts = {
        "want": placements(ops, devices, soft),
        "preferred": {op[0]: _first_of(op, devices) for op in ops},
    }
    return Case(name, ((ops, devices, soft),), facts=facts)


def placements(ops: Sequence[Op], devices: Sequence[str], soft: bool) -> dict[str, str | None]:
    """The rules, written so that they can be told apart."""
    found: dict[str, str | None] = {}
    for op in ops:
        first = _first_of(op, devices)
        if op[3]:
            found[op[0]] = found[op[3]]
        elif _fits(op, devices):
            found[op[0]] = op[1]
        elif op[1] and not soft:
            found[op[0]] = None
        else:
            found[op[0]] = first
    return found


def _fits(op: Op, devices: Sequence[str]) -> bool:
    """Whether an op's pin is a device that there is and that it has a kernel for."""
    return op[1] in devices and op[1][:3] in op[2]


def _first_of(op: Op, devices: Sequence[str]) -> str | None:
    """The device that TensorFlow prefers for an op, where there is one at all."""
    for kind in ("GPU", "CPU"):
        for device in devices:
            if kind in op[2] and device.startswith(kind):
                return device
    return None
