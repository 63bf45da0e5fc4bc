"""Exercise 01.2, where an op goes.

`place(ops, devices, soft) -> {name: device or None}`. The claim, op by op: with the variable that
it uses; else on its pin where there is that device and the op has a kernel for it; else, without a
pin or with soft placement, on the first device that it has a kernel for, GPUs before CPUs. And its
lists are left as they are: the lesson asks with them again.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.compare import describe
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.devices.algorithms.placement import place as reference

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
# Kernels in the other order, which does not count.
_EITHER: Op = ("either", "", BOTH[::-1], "")
# Its variable's pin is a device that is there and that the variable cannot be on, but the op can.
_USES_TEXT: Op = ("use_text", "CPU:0", BOTH, "text_on_gpu")


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's ops, on machines with GPUs and without; else other ops as well."""
    random, made = rng(seed, "01.2"), []
    for others in (["GPU:0", "GPU:1"], ["CPU:2"]):
        devices = ["CPU:0", "CPU:1", *others]
        for soft in (False, True):
            ops = list(SHOWN)
            if seed:
                ops = _others(random, devices) + [ops[i] for i in random.permutation([0, 1, 4, 5])]
                ops += [SHOWN[i] for i in (6, 7, 8, 9, 2, 3, 10, 11)]
            ops += [_USES_TEXT] if "GPU:0" in devices else []
            ops.append(_EITHER)
            name = f"On {', '.join(devices)} {'with' if soft else 'without'} soft placement"
            facts = {"want": reference(ops, devices, soft)}
            made.append(Case(name, ((ops, devices, soft),), facts=facts))
    return made


def _others(random: np.random.Generator, devices: list[str]) -> list[Op]:
    """Ops of all kinds, some with a variable among those before them."""
    pins = [*devices, "", "GPU:0", "GPU:3", "CPU:5"]
    ops: list[Op] = [("w0", devices[int(random.integers(len(devices)))], BOTH, "")]
    for number in range(8):
        pin = pins[int(random.integers(len(pins)))]
        kernels = [BOTH, ["CPU"], ["GPU"], BOTH[::-1]][int(random.integers(4))]
        ops.append((f"op{number}", pin, kernels, ""))
    ops.append(("use0", pins[int(random.integers(len(pins)))], BOTH, "w0"))
    return ops


def _first(case: Case, seen: Observation) -> tuple[Op, Any] | None:
    """The first op that is not where it should be, and where it is."""
    for op in case.args[0][0]:
        got = returned(seen.values[0])[op[0]]
        if got != case.facts["want"][op[0]] or type(got) not in (str, type(None)):
            return op, got
    return None


def _named(op: Op) -> str:
    pin = f"pinned on {op[1]}" if op[1] else "without a pin"
    uses = f", uses {op[3]}" if op[3] else ""
    return f"`{op[0]}` ({pin}, kernels for {' and '.join(op[2])}{uses})"


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every op is where TensorFlow would put it."""
    answer = returned(seen.values[0])
    if type(answer) is not dict:
        yield f"your function gave {describe(answer)} instead of a dictionary."
    for op in case.args[0][0]:
        if op[0] not in answer:
            yield f"`{op[0]}` is missing in the dictionary."
    yield from _not_asked(case, seen)
    if found := _first(case, seen):
        op, got = found
        told = f"the text {got!r}" if got in ("", "None") else describe(got)
        yield f"{_named(op)} goes to {describe(case.facts['want'][op[0]])}; you gave {told}."
    yield _left_alone(case, seen)


def _left_alone(case: Case, seen: Observation) -> str | None:
    place = changed(seen.values[0])
    if place is None:
        return None
    return (
        f"`{('ops', 'devices')[place]}` is another list afterwards: whoever called asks with it "
        "again. Sort and take from a list of your own; `sorted(…)` makes one."
    )


def _not_asked(case: Case, seen: Observation) -> Iterator[str]:
    for name in sorted(set(returned(seen.values[0])) - {op[0] for op in case.args[0][0]}):
        yield f"the dictionary has `{name}`, which is no op of this call: make it anew."


def compared(case: Case, seen: Observation) -> Any:
    """The first op that is missing, or else not where it should be, and where that is; or else the
    argument that is another one."""
    answer = returned(seen.values[0])
    missing = [op[0] for op in case.args[0][0] if op[0] not in answer]
    found = None if missing else _first(case, seen)
    return missing[:1] or (found and [found[0][0], found[1]]) or changed(seen.values[0])


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The same in words, and what its variable is pinned on."""
    name, *rest = compared(case, seen)
    if not rest:
        return {"missing": name}
    op = next(op for op in case.args[0][0] if op[0] == name)
    device = case.facts["want"][name]
    told = {"op": _named(op), "got": describe(rest[0]), "want": device, "variable": op[3]}
    soft = f"Soft placement takes the first device with a kernel, {device}."
    told["instead"] = soft if device else "It cannot be placed: give None."
    return {**told, "goes": f"goes to {device}" if device else "is refused (None)"}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    wants = [case.facts["want"] for case in cases]
    refused = [sum(device is None for device in want.values()) for want in wants]
    return (
        f"Passed on two machines: with GPUs {refused[0]} of {len(wants[0])} ops are refused, soft "
        f"placement {refused[1]}; without any {refused[2]} and {refused[3]} of {len(wants[2])}."
    )


WRONG = """
refused ones left out
    | return placed => return {name: device for name, device in placed.items() if device}
    `{missing}` is missing in the dictionary. It cannot be placed, and that is an answer too: give
    it the value None.
one dictionary
    | soft: bool) => soft: bool, placed={})
    | placed: dict[str, str | None] = {} =>
    ? which is no op of this call
with the variable's pin
    | placed[variable] => {op[0]: op[1] for op in ops}[variable]
    {op}: you gave {got}. That is what `{variable}` is pinned on, but `{variable}` itself {goes}. An
    op follows its variable's placement, not its pin.
its variable is refused
    | if variable: => if variable and placed[variable]:
    {op}: you gave {got}. `{variable}` cannot be placed, so nothing that uses it can be: None.
not with its variable
    | if variable: => if False:
    {op}: you gave {got}. An op that uses a variable's memory goes to the variable, which is on
    {want}; its own pin does not count.
no kernel there
    | pin in usable => pin in devices
    {op}: there is a {got}, but this op has no kernel for it. {instead}
no such device
    | pin in usable => pin[:3] in kernels
    {op}: this machine has no {got}. {instead}
no kernel anywhere
    | usable[0] if usable and => (usable or devices)[0] if
    {op}: you gave {got}, but no device here has a kernel for it at all: None.
always soft
    | and (soft or not pin) =>
    {op}: you gave {got}. Without soft placement a pin that cannot be kept is an error: None.
never soft
    | soft or not pin => not pin
    {op}: soft placement gives up the pin and takes the first device with a kernel, {want}.
refuses what has no pin
    | soft or not pin => soft and pin
    {op}: no pin is no error: it goes to the first device with a kernel, {want}.
CPUs before GPUs
    | != "GPU" => == "GPU"
    {op}: you gave {got}. Where an op has both kernels, TensorFlow prefers a GPU: {want}.
keeps the pin's kind
    | != "GPU") => != "GPU"); usable.sort(key=lambda device: device[:3] != pin[:3])
    {op}: you gave {got}, of the kind that the pin names. A pin that cannot be kept is given up
    whole, its kind too: the first device with a kernel is {want}.
sorts the devices
    | usable = => devices.sort(key=lambda device: device[:3] != "GPU"); usable =
    ! _left_alone
not the first of a kind
    | for device in devices => for device in devices[::-1]
    {op}: you gave {got}. Of several devices of a kind it is the one with the lowest number.
"""

EXERCISE = Exercise(
    number="01.2",
    title="Where does it go?",
    size=Size(stars=2, minutes=15, points=3),
    function="place",
    asks=(
        "for each op its device: the variable's that it uses; else its pin, where that device is "
        "there and has a kernel; else, without a pin or with soft placement, the first with a "
        "kernel, GPUs before CPUs; else None."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(Mistake("one dictionary for all calls", _not_asked),),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("01.2", WRONG, reference, _left_alone),
    ranked=False,
)
