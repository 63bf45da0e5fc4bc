"""Exercise 01.2, where an op goes.

`place(ops, devices, soft) -> {name: device or None}`. The claim, op by op: with the variable that
it uses; else on its pin where there is that device and the op has a kernel for it; else, without a
pin or with soft placement, on the first device that it has a kernel for, GPUs before CPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.devices.placement import place as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

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
# Its variable's pin is a device that is there and that the variable cannot be on, but the op can.
_USES_TEXT: Op = ("use_text", "CPU:0", BOTH, "text_on_gpu")
MACHINES = (["CPU:0", "CPU:1", "GPU:0"], ["CPU:0", "CPU:1", "CPU:2"])


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's ops, on a machine with a GPU and without; else other ops as well."""
    random = rng(seed, "01.2")
    made = []
    for devices in MACHINES:
        for soft in (False, True):
            gpu = [_USES_TEXT] if "GPU:0" in devices else []
            ops = [*SHOWN, *gpu]
            if seed:
                ops = _others(random, devices) + [ops[i] for i in random.permutation([0, 1, 4, 5])]
                ops += [SHOWN[i] for i in (6, 7, 8, 9, 2, 3, 10, 11)] + gpu
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
    name = f"On {', '.join(devices)} {'with' if soft else 'without'} soft placement"
    return Case(name, ((ops, devices, soft),), facts={"want": _placed(ops, devices, soft)})


def _first(case: Case, seen: Observation) -> tuple[Op, Any, str | None] | None:
    """The first op that is not where it should be, where it is, where it should be."""
    (answer,) = seen.values
    for op in case.args[0][0]:
        got, want = answer[op[0]], case.facts["want"][op[0]]
        if got != want or type(got) not in (str, type(None)):
            return op, got, want
    return None


def _named(op: Op) -> str:
    pin = f"pinned on {op[1]}" if op[1] else "without a pin"
    uses = f", uses {op[3]}" if op[3] else ""
    return f"`{op[0]}` ({pin}, kernels for {' and '.join(op[2])}{uses})"


def claim(case: Case, seen: Observation) -> str | None:
    """Every op is where TensorFlow would put it."""
    answer = seen.values[0]
    if type(answer) is not dict:
        return f"{case.name}, your function gave {describe(answer)} instead of a dictionary."
    for op in case.args[0][0]:
        if op[0] not in answer:
            return f"`{op[0]}` is missing in the dictionary."
    if more := _not_asked(case, seen):
        return more
    found = _first(case, seen)
    if found is None:
        return None
    op, got, want = found
    told = describe(got) or "an empty text"
    return f"{case.name}, {_named(op)} goes to {describe(want)}; you gave {told}."


def _not_asked(case: Case, seen: Observation) -> str | None:
    more = sorted(set(seen.values[0]) - {op[0] for op in case.args[0][0]})
    if not more:
        return None
    return (
        f"{case.name}, the dictionary has `{more[0]}`, which is no op of this call: make it anew."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The first op that is missing, or else not where it should be, and where that is."""
    missing = [op[0] for op in case.args[0][0] if op[0] not in seen.values[0]]
    found = None if missing else _first(case, seen)
    return missing[:1] or (found and [found[0][0], found[1]])


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The same in words, and what its variable is pinned on."""
    ops, want = case.args[0][0], case.facts["want"]
    first = compared(case, seen)
    if len(first) == 1:
        return {"missing": first[0]}
    name, got = first
    op, device = next(op for op in ops if op[0] == name), want[name]
    soft = f"Soft placement takes the first device with a kernel, {device}."
    return {
        "op": _named(op),
        "got": describe(got),
        "want": device,
        "variable": op[3],
        "goes": f"goes to {device}" if device else "is refused (None)",
        "instead": soft if device else "It cannot be placed: give None.",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    wants = [case.facts["want"] for case in cases]
    refused = [sum(device is None for device in want.values()) for want in wants]
    return (
        f"Passed on two machines: with a GPU {refused[0]} of {len(wants[0])} ops are refused, soft "
        f"placement {refused[1]}; without one {refused[2]} and {refused[3]} of {len(wants[2])}."
    )


def _placed(ops: Any, devices: Any, soft: bool, wrong: str = "") -> dict[str, Any]:
    """Where each op goes by the rules. wrong: the one that is another one."""
    found: dict[str, Any] = {}
    pins = {op[0]: op[1] for op in ops}
    soft = (soft or wrong == "always soft") and wrong != "never soft"
    order = ("CPU", "GPU") if wrong == "CPUs first" else ("GPU", "CPU")
    there = devices[::-1] if wrong == "last of a kind" else devices
    for name, pin, kernels, variable in ops:
        usable = [d for kind in order for d in there if d[:3] == kind and kind in kernels]
        usable = usable or (devices if wrong == "any kernel" else [])
        if wrong == "its kind":
            usable.sort(key=lambda device: device[:3] != pin[:3])
        exists = pin in devices or wrong == "any device"
        fits = pin[:3] in kernels or wrong == "no kernel"
        alone = wrong == "goes on" and variable and found[variable] is None
        if variable and wrong != "pin wins" and not alone:
            found[name] = pins[variable] if wrong == "its pin" else found[variable]
        elif pin and exists and fits:
            found[name] = pin
        else:
            free = soft if pin else wrong != "needs a pin"
            found[name] = usable[0] if usable and free else None
    return found


def _by(wrong: str) -> Callable[..., Any]:
    def place(ops: Any, devices: Any, soft: bool) -> Any:
        return _placed(ops, devices, soft, wrong)

    return place


_pin_wins = _by("pin wins")
_variables_pin = _by("its pin")
_without_its_variable = _by("goes on")
_no_kernels = _by("no kernel")
_no_devices = _by("any device")
_somewhere = _by("any kernel")
_always_soft = _by("always soft")
_never_soft = _by("never soft")
_needs_a_pin = _by("needs a pin")
_cpu_first = _by("CPUs first")
_last_of_a_kind = _by("last of a kind")
_keeps_the_kind = _by("its kind")


def _refused_left_out(ops: Any, devices: Any, soft: bool) -> Any:
    return {name: device for name, device in _placed(ops, devices, soft).items() if device}


_FOUND: dict[str, Any] = {}


def _one_dictionary(ops: Any, devices: Any, soft: bool) -> Any:
    _FOUND.update(_placed(ops, devices, soft))
    return _FOUND


EXERCISE = Exercise(
    number="01.2",
    title="Where does it go?",
    stars=2,
    minutes=15,
    points=3,
    function="place",
    asks=(
        "for each op its device: the variable's that it uses; else its pin, where that device is "
        "there and has a kernel; else, without a pin or with soft placement, the first with a "
        "kernel, GPUs before CPUs; else None."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(Mistake("one dictionary for all calls", _not_asked),),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "refused ones left out",
            _refused_left_out,
            "`{missing}` is missing in the dictionary. It cannot be placed, and that is an answer "
            "too: give it the value None.",
        ),
        WrongAnswer("one dictionary", _one_dictionary, hint="which is no op of this call"),
        WrongAnswer(
            "with the variable's pin",
            _variables_pin,
            "{op}: you gave {got}. That is what `{variable}` is pinned on, but `{variable}` itself "
            "{goes}. An op follows its variable's placement, not its pin.",
        ),
        WrongAnswer(
            "its variable is refused",
            _without_its_variable,
            "{op}: you gave {got}. `{variable}` cannot be placed, so nothing that uses it can be: "
            "None.",
        ),
        WrongAnswer(
            "not with its variable",
            _pin_wins,
            "{op}: you gave {got}. An op that uses a variable's memory goes to the variable, which "
            "is on {want}; its own pin does not count.",
        ),
        WrongAnswer(
            "no kernel there",
            _no_kernels,
            "{op}: there is a {got}, but this op has no kernel for it. {instead}",
        ),
        WrongAnswer("no such device", _no_devices, "{op}: this machine has no {got}. {instead}"),
        WrongAnswer(
            "no kernel anywhere",
            _somewhere,
            "{op}: you gave {got}, but no device here has a kernel for it at all: None.",
        ),
        WrongAnswer(
            "always soft",
            _always_soft,
            "{op}: you gave {got}. Without soft placement a pin that cannot be kept is an error: "
            "None.",
        ),
        WrongAnswer(
            "never soft",
            _never_soft,
            "{op}: soft placement gives up the pin and takes the first device with a kernel, "
            "{want}.",
        ),
        WrongAnswer(
            "refuses what has no pin",
            _needs_a_pin,
            "{op}: no pin is no error: it goes to the first device with a kernel, {want}.",
        ),
        WrongAnswer(
            "CPUs before GPUs",
            _cpu_first,
            "{op}: you gave {got}. Where an op has both kernels, TensorFlow prefers a GPU: {want}.",
        ),
        WrongAnswer(
            "keeps the pin's kind",
            _keeps_the_kind,
            "{op}: you gave {got}, of the kind that the pin names. A pin that cannot be kept is "
            "given up whole, its kind too: the first device with a kernel is {want}.",
        ),
        WrongAnswer(
            "not the first of a kind",
            _last_of_a_kind,
            "{op}: you gave {got}. Of several devices of a kind it is the one with the lowest "
            "number.",
        ),
    ),
    ranked=False,
)
