"""Exercise 01.1, the memory of a training step.

`step_memory(widths, batch, slots) -> (parameters, gradients, optimizer, activations)` in bytes.
The claim: exactly what a step of torch holds, tensor by tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number
from helpers.exercises.drives_devices import counts_a_step
from helpers.exercises.lesson_01 import step_wrong as wrong
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
            widths = tuple(int(w) for w in random.integers(3, 700, layers + 1))
            shapes.append((widths, int(random.integers(2, 3000)), slots))
    return [_case(*shape) for shape in shapes]


def _case(widths: tuple[int, ...], batch: int, slots: int) -> Case:
    """A case with what is wanted, and what some mistakes would give for one of the items."""
    pairs = list(pairwise(widths))
    weights = 4 * sum(a * b for a, b in pairs)
    all_numbers = weights + 4 * sum(widths[1:])
    kept = 4 * batch * sum(widths[:-1])
    want = (all_numbers, all_numbers, slots * all_numbers, kept)
    hidden = 4 * batch * sum(widths[1:-1])
    others = {
        "no bias": (weights, weights, slots * weights, None),
        "bias of the input": (weights + 4 * sum(widths[:-1]), None, None, None),
        "a gradient a row": (None, batch * all_numbers, None, None),
        "no slots": (None, None, all_numbers, None),
        "a slot more": (None, None, (slots + 1) * all_numbers, None),
        "no batch": (None, None, None, kept // batch),
        "outputs": (None, None, None, 4 * batch * sum(widths[1:])),
        "output too": (None, None, None, 4 * batch * sum(widths)),
        "hidden twice": (None, None, None, kept + hidden),
        "no input": (None, None, None, hidden),
    }
    shape = "–".join(map(str, widths))
    name = f"For widths {shape}, {count(batch, 'row')} and {count(slots, 'slot')}"
    return Case(name, ((list(widths), batch, slots),), facts={"want": want, "others": others})


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
    return f"{case.name}, the {ITEMS[item]} take {want:,} bytes; you gave {got:,.10g}."


def _changed(case: Case, seen: Observation) -> str | None:
    """Where the list that was given is another one afterwards."""
    if seen.values[0]["widths"] == case.args[0][0]:
        return None
    now = describe(seen.values[0]["widths"])
    return (
        f"{case.name}, your function changes the list `widths` that it is given: it is {now} "
        "afterwards, and whoever called still needs it. Slice or copy."
    )


def _not_four(case: Case, seen: Observation) -> str | None:
    value = seen.values[0]["given"]
    if type(value) in (list, tuple) and len(value) == 4:
        return None
    return (
        f"{case.name}, your function gave {describe(value)}; return four numbers of bytes: "
        "parameters, gradients, optimizer state and activations."
    )


def _slots_alone(case: Case, seen: Observation) -> str | None:
    found = _first(case, seen)
    if found is None or found[0] != 2 or found[1] not in (4 * case.args[0][2], case.args[0][2]):
        return None
    return (
        f"{case.name}, you gave {found[1]:,.10g} bytes of optimizer state: `slots` is how many "
        "numbers it keeps for each parameter, not for all of them."
    )


def _numbers(case: Case, seen: Observation) -> str | None:
    found = _first(case, seen)
    if found is None or 4 * found[1] != case.facts["want"][found[0]]:
        return None
    return (
        f"{case.name}, {found[1]:,.10g} is how many numbers the {ITEMS[found[0]]} are. A float32 "
        "takes 4 bytes."
    )


def _like(name: str, words: str) -> Callable[[Case, Observation], str | None]:
    """A recogniser for an item that some mistake makes, and what to say to it."""

    def look(case: Case, seen: Observation) -> str | None:
        found = _first(case, seen)
        if found is None or found[1] != case.facts["others"][name][found[0]]:
            return None
        return f"{case.name}, you gave {found[1]:,.10g} bytes of {ITEMS[found[0]]}: {words}"

    return look


MISTAKES = {
    "no bias": "that is the weights alone. Each layer has a bias as well, a number an output.",
    "bias of the input": "a layer has a bias for each of its outputs, not for each input.",
    "a gradient a row": (
        "the gradient of a batch is one sum over its rows, as large as the parameters, however "
        "many rows there are."
    ),
    "no slots": "the optimizer keeps `slots` numbers for each parameter, and plain SGD keeps none.",
    "a slot more": "the parameters themselves are counted above; the state is the slots alone.",
    "no batch": "that is for one row. Every row of the batch has activations of its own.",
    "outputs": (
        "these are the layers' outputs. For the gradient of its weights a layer needs its input, "
        "and nobody needs the last output."
    ),
    "output too": "the last layer's output is in it, which nobody keeps: leave out the last width.",
    "hidden twice": (
        "the hidden ones are counted twice. What tanh keeps, its output, is the very tensor that "
        "the next layer keeps as its input."
    ),
    "no input": "the first layer keeps its input too, the batch itself.",
}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    parameters, _, state, activations = cases[0].facts["want"]
    return (
        f"Passed: {parameters / 2**20:.2f} MiB of parameters take as much for gradients, "
        f"{state / 2**20:.2f} MiB for Adam, and {activations / 2**20:.2f} MiB for "
        f"{cases[0].args[0][1]} rows of activations."
    )


def reference(widths: Any, batch: int, slots: int) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.device_memory import step_memory

    return step_memory(widths, batch, slots)


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
        Mistake("slots alone", _slots_alone),
        Mistake("numbers, not bytes", _numbers),
        *(Mistake(name, _like(name, words)) for name, words in MISTAKES.items()),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("not bytes", wrong.not_bytes, hint="A float32 takes 4 bytes"),
        WrongAnswer("slots alone", wrong.slots_alone, hint="for each parameter, not for all"),
        WrongAnswer("pops", wrong.takes_the_last, hint="changes the list"),
        WrongAnswer("no bias", wrong.without_bias, hint="that is the weights alone"),
        WrongAnswer("a gradient a row", wrong.gradient_a_row, hint="one sum over its rows"),
        WrongAnswer("no slots", wrong.no_slots, hint="and plain SGD keeps none"),
        WrongAnswer("with the parameters", wrong.with_parameters, hint="are counted above"),
        WrongAnswer("one row", wrong.one_row, hint="that is for one row"),
        WrongAnswer("outputs", wrong.outputs, hint="these are the layers' outputs"),
        WrongAnswer("output too", wrong.output_too, hint="leave out the last"),
        WrongAnswer("hidden twice", wrong.hidden_twice, hint="are counted twice"),
        WrongAnswer("the sum", wrong.in_total, hint="return four numbers"),
    ),
    ranked=False,
)
