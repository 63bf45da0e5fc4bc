"""Exercise 01.1, the memory of a training step.

The claim: exactly what a step of torch holds, tensor by tensor, in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from helpers.algorithms.devices.device_memory import step_memory as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number
from helpers.exercises.drives_devices import counts_a_step
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

ITEMS = ("parameters", "gradients", "optimizer state", "activations")


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's network with Adam, then one layer, then two; else other networks."""
    random = rng(seed, "01.1")
    shapes: list[tuple[tuple[int, ...], int, int]] = [
        ((64, 512, 512, 10), 100, 2),
        ((10, 3), 1, 0),
        ((5, 7, 2), 4, 1),
    ]
    if seed:
        shapes = []
        for layers, slots in ((3, 2), (1, 0), (2, 1), (5, 3)):
            widths = [int(w) for w in random.integers(3, 700, layers + 1)]
            if layers == 3:
                widths[2] = widths[1]
            shapes.append((tuple(widths), int(random.integers(2, 3000)), slots))
    return [_case(*shape) for shape in shapes]


def _case(widths: tuple[int, ...], batch: int, slots: int) -> Case:
    parameters = 4 * _numbers_in(widths)
    want = (parameters, parameters, slots * parameters, 4 * batch * sum(widths[:-1]))
    shape = "–".join(map(str, widths))
    name = f"For widths {shape}, {count(batch, 'row')} and {count(slots, 'slot')}"
    return Case(name, ((list(widths), batch, slots),), facts={"want": want})


def _numbers_in(widths: Sequence[int]) -> int:
    """Weights and biases of all layers."""
    return sum((inside + 1) * out for inside, out in pairwise(widths))


def _first(case: Case, seen: Observation) -> tuple[int, float] | None:
    """The first wrong item and what was given for it; raises where there are not four numbers."""
    got = [number(each) for each in seen.values[0]["given"]]
    if len(got) != 4:
        raise TypeError
    for item, (one, want) in enumerate(zip(got, case.facts["want"], strict=True)):
        if one is None:
            raise TypeError
        if one != want:
            return item, one
    return None


def claim(case: Case, seen: Observation) -> str | None:
    """All four, to the byte."""
    found = _first(case, seen)
    if found is None:
        return _changed(case, seen)
    item, got = found
    want = case.facts["want"][item]
    return f"{case.name}, you gave {got:,.10g} bytes of {ITEMS[item]}; there are {want:,}."


def _changed(case: Case, seen: Observation) -> str | None:
    """Where the list that was given is another one afterwards."""
    if seen.values[0]["widths"] == case.args[0][0]:
        return None
    now = describe(seen.values[0]["widths"])
    return (
        f"{case.name}, your function changes the list `widths` that it is given: it is {now} "
        "afterwards, and whoever called still needs it. Slice or copy."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The first wrong item, to the byte, and the list that was given."""
    found = _first(case, seen)
    return [found and [ITEMS[found[0]], f"{found[1]:.10g}"], seen.values[0]["widths"]]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The first wrong item, in words."""
    item, got = _first(case, seen) or (0, 0)
    return {"got": f"{got:,.10g} bytes of {ITEMS[item]}"}


def _not_four(case: Case, seen: Observation) -> str | None:
    value = seen.values[0]["given"]
    if type(value) in (list, tuple) and len(value) == 4:
        return None
    return (
        f"{case.name}, your function gave {describe(value)}; return four numbers of bytes: "
        "parameters, gradients, optimizer state and activations."
    )


def _not_bytes(case: Case, seen: Observation) -> str | None:
    found = _first(case, seen)
    if found is None or 4 * found[1] != case.facts["want"][found[0]]:
        return None
    what = f"{found[1]:,.10g} numbers of {ITEMS[found[0]]}"
    return f"{case.name}, you gave {what}. A float32 takes 4 bytes."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    parameters, _, state, activations = cases[0].facts["want"]
    return (
        f"Passed: {parameters / 2**20:.2f} MiB of parameters take as much for gradients, "
        f"{state / 2**20:.2f} MiB for Adam, and {activations / 2**20:.2f} MiB for "
        f"{cases[0].args[0][1]} rows of activations."
    )


def _with(item: int, size: Callable[[list[int], int, int], int]) -> Callable[..., Any]:
    """The reference with another size for one item."""

    def step_memory(widths: Any, batch: int, slots: int) -> Any:
        items = list(reference(widths, batch, slots))
        items[item] = size(widths, batch, slots)
        return items

    return step_memory


_no_bias = _with(0, lambda w, batch, slots: 4 * (_numbers_in(w) - sum(w[1:])))
_no_bias_gradient = _with(1, lambda w, batch, slots: 4 * (_numbers_in(w) - sum(w[1:])))
_no_bias_slots = _with(2, lambda w, batch, slots: 4 * slots * (_numbers_in(w) - sum(w[1:])))
_bias_a_layer = _with(0, lambda w, batch, slots: 4 * (_numbers_in(w) - sum(w[1:]) + len(w) - 1))
_input_bias = _with(0, lambda w, batch, slots: 4 * (_numbers_in(w) - sum(w[1:]) + sum(w[:-1])))
_gradient_a_row = _with(1, lambda w, batch, slots: 4 * batch * _numbers_in(w))
_one_number_a_slot = _with(2, lambda w, batch, slots: 4 * slots)
_slots_themselves = _with(2, lambda w, batch, slots: slots)
_no_slots = _with(2, lambda w, batch, slots: 4 * _numbers_in(w))
_slot_more = _with(2, lambda w, batch, slots: 4 * (slots + 1) * _numbers_in(w))
_one_row = _with(3, lambda w, batch, slots: 4 * sum(w[:-1]))
_outputs = _with(3, lambda w, batch, slots: 4 * batch * sum(w[1:]))
_output_too = _with(3, lambda w, batch, slots: 4 * batch * sum(w))
_hidden_twice = _with(3, lambda w, batch, slots: 4 * batch * (sum(w[:-1]) + sum(w[1:-1])))
_equal_once = _with(3, lambda w, batch, slots: 4 * batch * sum(set(w[:-1])))
_no_input = _with(3, lambda w, batch, slots: 4 * batch * sum(w[1:-1]))


def _double(widths: Any, batch: int, slots: int) -> Any:
    return [2 * size for size in reference(widths, batch, slots)]


def _no_bytes(widths: Any, batch: int, slots: int) -> Any:
    return [size // 4 for size in reference(widths, batch, slots)]


def _pops(widths: Any, batch: int, slots: int) -> Any:
    items = reference(widths, batch, slots)
    widths.pop()
    return items


def _sum(widths: Any, batch: int, slots: int) -> Any:
    return sum(reference(widths, batch, slots))


_BIASES_TOO = "the weights' alone. A bias is trained as well: it has a gradient, and its slots."
_A_SLOT = "`slots` is how many numbers it keeps for each parameter, not for all of them."

EXERCISE = Exercise(
    number="01.1",
    title="Memory of a step",
    stars=2,
    minutes=12,
    points=3,
    function="step_memory",
    asks=(
        "four numbers of bytes: parameters, gradients, optimizer state (`slots` numbers for each "
        "parameter) and activations (the input of every layer, for every row)."
    ),
    cases=cases,
    drive=counts_a_step,
    claim=claim,
    mistakes=(
        Mistake("not four numbers", _not_four),
        Mistake("changes its argument", _changed),
        Mistake("numbers, not bytes", _not_bytes),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("the sum", _sum, hint="return four numbers"),
        WrongAnswer("pops", _pops, hint="changes the list"),
        WrongAnswer("not bytes", _no_bytes, hint="A float32 takes 4 bytes"),
        WrongAnswer("slots alone", _one_number_a_slot, f"you gave {{got}}: {_A_SLOT}"),
        WrongAnswer("slots alone, not in bytes", _slots_themselves, f"you gave {{got}}: {_A_SLOT}"),
        WrongAnswer(
            "no bias",
            _no_bias,
            "you gave {got}: that is the weights alone. Each layer has a bias as well, a number an "
            "output.",
        ),
        WrongAnswer("no bias's gradient", _no_bias_gradient, f"you gave {{got}}: {_BIASES_TOO}"),
        WrongAnswer("no bias's slots", _no_bias_slots, f"you gave {{got}}: {_BIASES_TOO}"),
        WrongAnswer("a bias a layer", _bias_a_layer, "you gave {got}: a bias is for each output."),
        WrongAnswer("float64", _double, "you gave {got}: a float32 takes 4 bytes, not 8."),
        WrongAnswer("bias of the input", _input_bias, "you gave {got}: a bias is for an output."),
        WrongAnswer(
            "a gradient a row",
            _gradient_a_row,
            "you gave {got}: the gradient of a batch is one sum over its rows, as large as the "
            "parameters, however many rows there are.",
        ),
        WrongAnswer(
            "no slots",
            _no_slots,
            "you gave {got}: the optimizer keeps `slots` numbers for each parameter, and plain SGD "
            "keeps none.",
        ),
        WrongAnswer(
            "a slot more",
            _slot_more,
            "you gave {got}: the parameters themselves are counted above; the state is the slots "
            "alone.",
        ),
        WrongAnswer("no batch", _one_row, "you gave {got}: that is for one row of the batch."),
        WrongAnswer(
            "outputs",
            _outputs,
            "you gave {got}: these are the layers' outputs. For the gradient of its weights a "
            "layer needs its input, and nobody needs the last output.",
        ),
        WrongAnswer("output too", _output_too, "you gave {got}: nobody keeps the last output."),
        WrongAnswer(
            "hidden twice",
            _hidden_twice,
            "you gave {got}: the hidden ones are counted twice. What tanh keeps, its output, is "
            "the very tensor that the next layer keeps as its input.",
        ),
        WrongAnswer(
            "equal widths once",
            _equal_once,
            "you gave {got}: one of two inputs of equal width is missing. Each layer keeps its own "
            "input, and that is another tensor though it is as wide.",
        ),
        WrongAnswer("no input", _no_input, "you gave {got}: the first layer keeps the batch."),
    ),
    ranked=False,
)
