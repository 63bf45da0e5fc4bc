"""Exercise 01.1, the memory of a training step.

The claim: exactly what a step of torch holds, tensor by tensor, in bytes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.checks.compare import count, describe, is_array, number, numbers_in
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.devices.algorithms.device_memory import step_memory as reference

ITEMS = ("parameters", "gradients", "optimizer state", "activations")


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's network with Adam, then one layer, then two, then a layer whose bytes 32
    bits cannot count; else other networks."""
    random, made = rng(seed, "01.1"), []
    shapes = [([64, 512, 512, 10], 100, 2), ([10, 3], 1, 0), ([5, 7, 2], 4, 1)]
    shapes.append(([40_000, 40_000], 8, 2))
    if seed:
        shapes = []
        for layers, slots in ((3, 2), (1, 0), (2, 1), (5, 3)):
            widths = [int(w) for w in random.integers(3, 700, layers + 1)]
            if layers == 3:
                widths[2] = widths[1]
            shapes.append((widths, int(random.integers(2, 3000)), slots))
        large = [2 * int(half) + 1 for half in random.integers(20_000, 30_000, 2)]
        shapes.append((large, int(random.integers(2, 99)), 2))
    for widths, batch, slots in shapes:
        shape = "–".join(map(str, widths))
        name = f"For widths {shape}, {count(batch, 'row')} and {count(slots, 'slot')}"
        facts = {"want": reference(widths, batch, slots)}
        made.append(Case(name, ((widths, batch, slots),), facts=facts))
    return made


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


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """All four, to the byte."""
    if found := _first(case, seen):
        want = case.facts["want"][found[0]]
        yield f"you gave {numbers(case, seen)['got']}; there are {want:,}."
    yield from _changed(case, seen)


def _changed(case: Case, seen: Observation) -> Iterator[str]:
    """Where the list that was given is another one afterwards."""
    now = seen.values[0]["widths"]
    if now != case.args[0][0]:
        yield (
            f"your function changes the list `widths` that it is given: it is {describe(now)} "
            "afterwards, and whoever called still needs it. Slice or copy."
        )


def compared(case: Case, seen: Observation) -> Any:
    """The first wrong item, to the byte, and the list that was given."""
    found = _first(case, seen)
    return [found and [ITEMS[found[0]], f"{found[1]:.12g}"], seen.values[0]["widths"]]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The first wrong item, in words."""
    item, got = _first(case, seen) or (0, 0)
    return {"got": f"{got:,.12g} bytes of {ITEMS[item]}"}


def _not_four(case: Case, seen: Observation) -> Iterator[str]:
    value = seen.values[0]["given"]
    if numbers_in(value, 4) is None:
        what = "a tensor, " * is_array(value) + describe(value)
        yield (
            f"your function gave {what}; return four numbers of bytes: parameters, "
            "gradients, optimizer state and activations."
        )


def _not_bytes(case: Case, seen: Observation) -> Iterator[str]:
    item, got = _first(case, seen) or (0, 0)
    if 4 * got == case.facts["want"][item]:
        yield f"you gave {got:,.12g} numbers of {ITEMS[item]}. A float32 takes 4 bytes."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    parameters, _, state, activations = cases[0].facts["want"]
    return (
        f"Passed: {parameters / 2**20:.2f} MiB of parameters take as much for gradients, "
        f"{state / 2**20:.2f} MiB for Adam, and {activations / 2**20:.2f} MiB for "
        f"{cases[0].args[0][1]} rows of activations."
    )


def counts_a_step(fn: Function, case: Case) -> Observation:
    """Call `fn(widths, batch, slots)`; `values[0]` is {"given", "widths": as it left them}."""
    if trouble := wrong_signature(fn, 3):
        return trouble
    widths, batch, slots = case.args[0]
    mine = list(widths)
    try:
        given = plain(fn(mine, batch, slots))
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[plain({"given": given, "widths": mine})])


WRONG = """
the sum
    | parameters, parameters, slots * parameters, activations
        => 2 * parameters + slots * parameters + activations
    ? return four numbers
pops
    | return => widths.pop(); return
    ? changes the list
not bytes
    | FLOAT32 *=> 1
    ? A float32 takes 4 bytes
slots alone
    | slots * parameters => FLOAT32 * slots
    you gave {got}: `slots` is how many numbers it keeps for each parameter, not for all of them.
slots alone, not in bytes
    | slots * parameters => slots
    you gave {got}: `slots` is how many numbers it keeps for each parameter, not for all of
    them.
no bias
    | return parameters => return parameters - FLOAT32 * sum(widths[1:])
    you gave {got}: that is the weights alone. Each layer has a bias as well, a number an output.
no bias's gradient
    | return parameters, parameters => return parameters, parameters - FLOAT32 * sum(widths[1:])
    you gave {got}: the weights' alone. A bias is trained as well: it has a gradient, and its
    slots.
no bias's slots
    | slots * parameters => slots * (parameters - FLOAT32 * sum(widths[1:]))
    you gave {got}: the weights' alone. A bias is trained as well: it has a gradient, and its slots.
a bias a layer
    | return parameters => return parameters - FLOAT32 * sum(out - 1 for out in widths[1:])
    you gave {got}: a bias is for each output.
float64
    | FLOAT32 *=> 8
    you gave {got}: a float32 takes 4 bytes, not 8.
bias of the input
    | return parameters => return parameters + FLOAT32 * (widths[0] - widths[-1])
    you gave {got}: a bias is for an output.
a gradient a row
    | return parameters, parameters => return parameters, batch * parameters
    you gave {got}: the gradient of a batch is one sum over its rows, as large as the parameters,
    however many rows there are.
no slots
    | slots * parameters => parameters
    you gave {got}: the optimizer keeps `slots` numbers for each parameter, and plain SGD keeps
    none.
a slot more
    | slots * parameters => (slots + 1) * parameters
    you gave {got}: the parameters themselves are counted above; the state is the slots alone.
no batch
    | FLOAT32 * batch => FLOAT32
    you gave {got}: that is for one row of the batch.
outputs
    | widths[:-1] => widths[1:]
    you gave {got}: these are the layers' outputs. For the gradient of its weights a layer needs its
    input, and nobody needs the last output.
output too
    | widths[:-1] => widths
    you gave {got}: nobody keeps the last output.
hidden twice
    | widths[:-1] => widths[:-1] + widths[1:-1]
    you gave {got}: the hidden ones are counted twice. What tanh keeps, its output, is the very
    tensor that the next layer keeps as its input.
equal widths once
    | widths[:-1] => set(widths[:-1])
    you gave {got}: one of two inputs of equal width is missing. Each layer keeps its own input, and
    that is another tensor though it is as wide.
no input
    | widths[:-1] => widths[1:-1]
    you gave {got}: the first layer keeps the batch.
"""

EXERCISE = Exercise(
    number="01.1",
    title="Memory of a step",
    size=Size(stars=2, minutes=12, points=3),
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
    wrong=wrong_answers("01.1", WRONG, reference),
    ranked=False,
)
