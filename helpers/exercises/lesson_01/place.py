"""Exercise 01.2, where an op goes.

`place(ops, devices, soft) -> {name: device or None}`. The claim, op by op: with the variable that
it uses; else on its pin where there is that device and the op has a kernel for it; else, without a
pin or with soft placement, on the first device that it has a kernel for, GPUs before CPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.compare import describe
from helpers.exercises.drives import plain_call
from helpers.exercises.lesson_01 import place_wrong as wrong
from helpers.exercises.lesson_01.place_cases import Op, cases
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Wrong = tuple[Op, Any, "str | None"]


def _first(case: Case, seen: Observation) -> Wrong | None:
    """The first op that is not where it should be, where it is, where it should be."""
    (answer,) = seen.values
    for op in case.args[0][0]:
        got, want = answer[op[0]], case.facts["want"][op[0]]
        if got != want or type(got) not in (str, type(None)):
            return op, got, want
    return None


def _named(case: Case, op: Op) -> str:
    pin = f"pinned on {op[1]}" if op[1] else "without a pin"
    uses = f", uses {op[3]}" if op[3] else ""
    return f"{case.name}, `{op[0]}` ({pin}, kernels for {' and '.join(op[2])}{uses})"


def claim(case: Case, seen: Observation) -> str | None:
    """Every op is where TensorFlow would put it."""
    answer = seen.values[0]
    if type(answer) is not dict:
        return f"{case.name}, your function gave {describe(answer)} instead of a dictionary."
    for op in case.args[0][0]:
        if op[0] not in answer:
            return f"{case.name}, `{op[0]}` is missing in the dictionary."
    found = _first(case, seen)
    if found is None:
        return None
    op, got, want = found
    return f"{_named(case, op)} goes to {describe(want)}; you gave {describe(got)}."


def _asked(ask: Callable[[Case, Op, Any, Any], str | None]) -> Any:
    """A recogniser that is asked about the first op that is wrong."""

    def look(case: Case, seen: Observation) -> str | None:
        found = _first(case, seen)
        hint = ask(case, *found) if found else None
        return f"{_named(case, found[0])}: {hint}" if hint and found else None

    return look


def _left_out(case: Case, seen: Observation) -> str | None:
    answer, want = seen.values[0], case.facts["want"]
    missing = [name for name in want if name not in answer]
    if not missing or any(want[name] is not None for name in missing):
        return None
    return (
        f"{case.name}, `{missing[0]}` is missing in the dictionary. It cannot be placed, and that "
        "is an answer too: give it the value None."
    )


@_asked
def _with_its_pin(case: Case, op: Op, got: Any, want: Any) -> str | None:
    pins = {each[0]: each[1] for each in case.args[0][0]}
    if not op[3] or got != pins[op[3]]:
        return None
    now = f"goes to {want}" if want else "is refused (None)"
    return (
        f"you gave {got}. That is what `{op[3]}` is pinned on, but `{op[3]}` itself {now}. An op "
        "follows its variable's placement, not its pin."
    )


@_asked
def _variable_refused(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if not op[3] or want is not None:
        return None
    return (
        f"you gave {describe(got)}. `{op[3]}` cannot be placed, so nothing that uses it can be: "
        "None."
    )


@_asked
def _not_with_variable(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if not op[3]:
        return None
    return (
        f"you gave {describe(got)}. An op that uses a variable's memory goes to the variable, "
        f"which is on {want}; its own pin does not count."
    )


@_asked
def _no_kernel(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if got != op[1] or got not in case.args[0][1] or got[:3] in op[2]:
        return None
    return f"there is a {got}, but this op has no kernel for it.{_instead(want)}"


@_asked
def _no_device(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if not op[1] or got != op[1] or got in case.args[0][1]:
        return None
    return f"this machine has no {got}.{_instead(want)}"


def _instead(want: str | None) -> str:
    """What to give where a pin cannot be kept."""
    if want is None:
        return " It cannot be placed: give None."
    return f" Soft placement takes the first device with a kernel, {want}."


@_asked
def _softened(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if case.args[0][2] or want is not None or not op[1] or got is None:
        return None
    return (
        f"you gave {describe(got)}. Without soft placement a pin that cannot be kept is an error: "
        "None."
    )


@_asked
def _too_hard(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if not case.args[0][2] or got is not None or want is None or not op[1]:
        return None
    return f"soft placement gives up the pin and takes the first device with a kernel, {want}."


@_asked
def _free_refused(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if op[1] or got is not None or want is None:
        return None
    return f"no pin is no error: it goes to the first device with a kernel, {want}."


@_asked
def _nowhere(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if want is not None or case.facts["preferred"][op[0]] is not None:
        return None
    return f"you gave {describe(got)}, but no device here has a kernel for it at all: None."


@_asked
def _cpu_first(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if not (type(want) is str and want.startswith("GPU") and type(got) is str):
        return None
    if not got.startswith("CPU"):
        return None
    return f"you gave {got}. Where an op has both kernels, TensorFlow prefers a GPU: {want}."


@_asked
def _not_first(case: Case, op: Op, got: Any, want: Any) -> str | None:
    if type(want) is not str or type(got) is not str or got[:3] != want[:3] or op[1] == want:
        return None
    return f"you gave {got}. Of several devices of a kind it is the one with the lowest number."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    wants = [case.facts["want"] for case in cases]
    refused = [sum(device is None for device in want.values()) for want in wants]
    return (
        f"Passed on two machines: with a GPU {refused[0]} of {len(wants[0])} ops are refused, with "
        f"soft placement {refused[1]}; without a GPU {refused[2]} and {refused[3]}."
    )


def reference(ops: Any, devices: Any, soft: bool) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.placement import place

    return place(ops, devices, soft)


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
    mistakes=(
        Mistake("refused ones left out", _left_out),
        Mistake("with the variable's pin", _with_its_pin),
        Mistake("its variable is refused", _variable_refused),
        Mistake("not with its variable", _not_with_variable),
        Mistake("no kernel there", _no_kernel),
        Mistake("no such device", _no_device),
        Mistake("no kernel anywhere", _nowhere),
        Mistake("always soft", _softened),
        Mistake("never soft", _too_hard),
        Mistake("refuses what has no pin", _free_refused),
        Mistake("CPUs before GPUs", _cpu_first),
        Mistake("not the first of a kind", _not_first),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("the pin wins", wrong.pin_wins, hint="its own pin does not count"),
        WrongAnswer("no look at kernels", wrong.no_kernels, hint="has no kernel for it"),
        WrongAnswer("no look at devices", wrong.no_devices, hint="this machine has no"),
        WrongAnswer("always soft", wrong.always_soft, hint="cannot be kept is an error"),
        WrongAnswer("never soft", wrong.never_soft, hint="gives up the pin"),
        WrongAnswer("needs a pin", wrong.needs_a_pin, hint="no pin is no error"),
        WrongAnswer("CPU first", wrong.cpu_first, hint="TensorFlow prefers a GPU"),
        WrongAnswer("the variable's pin", wrong.variables_pin, hint="not its pin"),
        WrongAnswer("goes on", wrong.without_its_variable, hint="nothing that uses it can be"),
        WrongAnswer("refused left out", wrong.refused_left_out, hint="give it the value None"),
        WrongAnswer("somewhere", wrong.somewhere, hint="for it at all"),
    ),
    ranked=False,
)
