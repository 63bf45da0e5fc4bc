"""Exercise 11.7, a scale for each block: MXFP4, as the Open Compute Project's standard has it.

`mxfp4(x) -> (exponents, elements)`: x (blocks, 32); of each block the exponent of its scale, ⌊log2
of the largest magnitude⌋ − 2, and each number over 2^exponent as the nearest of 0, ±0.5, ±1, ±1.5,
±2, ±3, ±4, ±6, ties to the even mantissa, cut at 6. The claim: both, exactly. Source: OCP
Microscaling Formats Specification 1.0 (2023), sections 5.3.3 and 6.3. What makes this file long are
30 wrong answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.quantization.mxfp4 import mxfp4 as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array, listing
from helpers.exercises.drives.arguments import call_with_tensors, changed, returned
from helpers.exercises.lesson_11.figures import Array, items, said
from helpers.exercises.spec import Case, Exercise, Observation
from helpers.exercises.table import wrong_answers

VALUES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
BLOCK = 32
BEYOND = 2**99  # what a float can hold of somebody's whole number, and more than any exponent


def cases(seed: int) -> list[Case]:
    """Seed 0 and others: blocks of different sizes, in the middle between elements, an outlier and
    a block of zeros, tiny and huge ones, of which one is just below a power of two."""
    random = rng(seed, "11.7")
    powers = 2.0 ** random.integers(-9, 9, 4)
    several = powers[:, None] * random.uniform(-0.99, 0.99, (4, BLOCK))
    several[3] /= 10  # most are far below the largest
    # The largest magnitudes tell ⌊log2⌋ from what rounds otherwise; the first is negative.
    several[:, 5] = powers * np.array([-1.2, 1.94, 1.45, 1.0])
    middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    ties = random.choice(middles, (2, BLOCK)) * random.choice([-1.0, 1.0], (2, BLOCK))
    ties[:, 0], ties[0, 1:8] = 4.5, middles
    ties[1] *= 2.0 ** int(random.integers(-4, 5))
    outlier = random.uniform(-1, 1, (3, BLOCK))
    outlier[0, 7], outlier[1] = 300.0, 0.0
    extreme = random.uniform(-0.99, 0.99, (2, BLOCK)) * np.array([[2.0**-60], [2.0**60]])
    extreme[1, 9] = (1 - 2.0**-24) * 2.0**60  # float32's last number before it
    return [
        _case("With blocks of several sizes", several),
        _case("With numbers in the middle of two elements", ties),
        _case("With an outlier and a block of zeros", outlier),
        _case("With tiny and huge numbers", extreme),
    ]


def _case(name: str, x: Array) -> Case:
    values = x.astype(np.float32)
    exponents = np.array([_exponent(block) for block in values])
    over = values.astype(float) / 2.0 ** exponents[:, None]
    near = np.abs(np.abs(over)[..., None] - VALUES)
    best = near == near.min(-1, keepdims=True)
    even = best & (np.arange(8) % 2 == 0)  # of two neighbours one has an even code
    at = np.where(even.any(-1), even.argmax(-1), best.argmax(-1))
    elements = np.copysign(VALUES[at], over)
    return Case(
        name, ((values,),), facts={"exponents": exponents, "elements": elements, "x": values}
    )


def _exponent(block: Array) -> int:
    largest = float(np.abs(block).max())
    return int(np.frexp(largest)[1]) - 3 if largest else -127


def parts(seen: Observation, case: Case) -> tuple[Array, Array] | None:
    """Exponents and elements in float64, of whatever held them; None where they are not that."""
    given = items(returned(seen.values[0]), 2)
    shape = case.facts["elements"].shape
    if given is None:
        return None
    exponents, elements = _array(given[0], shape[:1]), _array(given[1], shape)
    return None if exponents is None or elements is None else (exponents, elements)


def _array(value: Any, shape: tuple[int, ...]) -> Array | None:
    """Real numbers of this shape, from an array, or from lists and tuples of such."""
    if type(value) in (list, tuple) and shape and len(value) == shape[0]:
        rows = [_array(item, shape[1:]) for item in value]
        return None if any(row is None for row in rows) else np.array(rows, float)
    if type(value) in (int, float) and not shape:
        small = type(value) is float or abs(value) < BEYOND
        return np.array(value if small else BEYOND, float)
    real = is_array(value, shape) and value.dtype.kind in "iuf"
    return np.array(value, float) if real else None


IN_PLACE = "`mxfp4` wrote into `x`: whoever called it may need it still."


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The exponent of every block, and every element."""
    both, told = parts(seen, case), numbers(case, seen)
    if both is None:
        yield (
            f"x is {shaped(case)}, and `mxfp4` gave {describe(returned(seen.values[0]))}: return "
            "two things, an exponent for each block and elements of the shape of x."
        )
        return
    if not np.array_equal(both[0], case.facts["exponents"]):
        yield f"{told['whose']} has the exponent {told['got']}{_instead(told)}."
    if not np.array_equal(both[1], case.facts["elements"]):
        yield (
            f"{told['number']} of {told['block']} is {told['element']}; the nearest element is "
            f"{told['right']}."
        )
    if changed(seen.values[0]) is not None:
        yield IN_PLACE


def _instead(told: dict[str, Any]) -> str:
    if told["largest"] == "0":
        return f"; {told['want']} was asked for"
    return f"; ⌊log2⌋ of that, less 2, is {told['want']}"


def shaped(case: Case) -> str:
    """The shape of x."""
    return "({}, {})".format(*case.facts["x"].shape)


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first, in the order of the claim."""
    both = parts(seen, case)
    if both is None:
        return describe(returned(seen.values[0]))
    if not np.array_equal(both[0], case.facts["exponents"]):
        return {"exponents": both[0]}
    if not np.array_equal(both[1], case.facts["elements"]):
        return {"elements": both[1]}
    return {"changed": changed(seen.values[0]) is not None}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first block and the first number that are not right."""
    both, facts = parts(seen, case), case.facts
    if both is None:
        return {"rows": len(facts["x"])}
    off = both[0] != facts["exponents"]
    block = (
        int(np.argmax(off)) if off.any() else int(np.argmax((both[1] != facts["elements"]).any(1)))
    )
    at = int(np.argmax(both[1][block] != facts["elements"][block]))
    largest = said(float(np.abs(facts["x"][block]).max()))
    whose = f", whose largest magnitude is {largest}," if largest != "0" else " of zeros"
    scaled = float(facts["x"][block, at]) / 2.0 ** int(facts["exponents"][block])
    return {
        "block": f"block {block}",
        "whose": f"block {block}{whose}",
        "largest": largest,
        "got": said(both[0][block]),
        "want": said(float(facts["exponents"][block])),
        "number": f"number {at}, {said(scaled)} over the scale,",
        "element": said(both[1][block, at] + 0.0),
        "right": said(facts["elements"][block, at] + 0.0),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    x = cases[2].facts["x"]
    exponents = listing(said(float(e)) for e in cases[2].facts["exponents"])
    return (
        f"Passed: beside an outlier of {np.abs(x).max():g} the other blocks keep scales of their "
        f"own: their exponents are {exponents}."
    )


WRONG = """
the top exponent not taken off
    | power - TOP => power
    {block} has the exponent {got}: that is ⌊log2⌋ of its largest magnitude. The largest element, 6,
    has an exponent of its own, 2: take it off, {want}.
frexp as it is
    | .exponent - 1 => .exponent
    {block} has the exponent {got}, one too many: `torch.frexp` gives mantissas below 1, so that its
    exponent is ⌊log2⌋ + 1. It is {want}.
log2 rounded
    | torch.frexp(largest).exponent - 1 => torch.round(largest.log2()).int()
    {block} has the exponent {got}: log2 was rounded to the nearest whole number. It is rounded
    down, so that the largest magnitude over the scale is 4 or more: {want}.
log2 rounded up
    | torch.frexp(largest).exponent - 1 => torch.ceil(largest.log2()).int()
    {block} has the exponent {got}: log2 was rounded up. Rounded down it is {want}, and nothing is
    lost but what is cut at 6.
the largest fits
    | power - TOP => torch.ceil((largest / 6).log2()).int()
    {block} has the exponent {got}: the smallest with which its largest magnitude is 6 at most. The
    standard takes ⌊log2⌋ − 2, {want}, and cuts what is beyond 6.
over 6, rounded
    | power - TOP => torch.round((largest / 6).log2()).int()
    ! over_six
over 6, rounded down
    | power - TOP => torch.floor((largest / 6).log2()).int()
    ! over_six
not rounded
    | torch.frexp(largest).exponent - 1 => largest.log2()
    {block} has the exponent {got}: a scale is a power of two, and of log2 only the whole part
    counts, rounded down: {want}.
natural logarithm
    | torch.frexp(largest).exponent - 1 => torch.floor(largest.log()).int()
    {block} has the exponent {got}: that is of the natural logarithm. Take the one to the base 2:
    {want}.
log2 in float32
    | torch.frexp(largest).exponent - 1 => torch.floor(largest.log2()).int()
    {block} has the exponent {got}: its largest magnitude lies just below a power of two, and
    float32 rounded the logarithm up to a whole number before you rounded it down. `torch.frexp`
    takes the number itself apart: {want}.
the mean
    | amax(1) => mean(1)
    {block} has the exponent {got}: that is of the mean magnitude. The largest decides, or all that
    is far above the mean is cut: {want}.
one scale for all
    | amax(1) => amax().expand(len(x))
    {block} has the exponent {got}, as all blocks do: that of the largest magnitude of all. Each
    block has a scale of its own: {want}.
the largest with its sign
    | .abs().amax => .amax
    {block} has the exponent {got}: its largest number decided, and a negative one is larger in
    magnitude. Take `abs` first: {want}.
zeros
    | torch.where(largest > 0, power - TOP, LEAST) => (power - TOP)
    {block} holds zeros alone, and has the exponent {got}. log2 of 0 says nothing: take the
    smallest, −127, as was asked for.
codes for exponents
    | return exponents, => return exponents + 127,
    {block} has the exponent {got}: that is the code that it is held as, 127 more. Give the exponent
    itself, {want}.
a column
    | return exponents, => return exponents[:, None],
    the exponents came as a column, ({rows}, 1): give one number a block, ({rows},).
scales for exponents
    | return exponents, => return torch.ldexp(torch.ones(len(x)), exponents),
    you gave scales: give their exponents, whole numbers, which is what a block holds.
elements times the scale
    | / step) * step, over) => / step) * step, over).ldexp(exponents[:, None])
    {number} of {block} is {element} instead of {right}: these are the elements times the scale.
    Give the elements alone, between −6 and 6.
times the scale
    | -exponents[:, None] => exponents[:, None]
    {number} of {block} is {element} instead of {right}: it was multiplied by the scale. Divide by
    2^exponent: `torch.ldexp(x, -exponents[:, None])`.
codes for elements
    | torch.copysign(torch.round(magnitude / step) * step, over)
        => (torch.round(magnitude / step) + 2 * (magnitude >= 2) + 2 * (magnitude >= 4)
            + 8 * torch.signbit(over))
    {number} of {block} is {element} instead of {right}: these are codes of 4 bits. Give the numbers
    that they stand for.
the lower of two
    | torch.round(magnitude / step) => torch.ceil(magnitude / step - 0.5)
    ! tie
the larger of two
    | torch.round(magnitude / step) => torch.floor(magnitude / step + 0.5)
    ! tie
towards 0
    | torch.round => torch.floor
    {number} of {block} is {element} instead of {right}: it was rounded towards 0. Take the nearest
    element.
whole numbers
    | 0.5 + 0.5 * (magnitude >= 2) + (magnitude >= 4) => 1
    {number} of {block} is {element} instead of {right}: you rounded to whole numbers. Elements are
    0, 0.5, 1, 1.5, 2, 3, 4 and 6: steps of 0.5 up to 2, of 1 up to 4, then of 2.
halves everywhere
    | + 0.5 * (magnitude >= 2) + (magnitude >= 4) =>
    {number} of {block} is {element} instead of {right}: there is no such element. Steps are 0.5 up
    to 2, then 1 up to 4, then 2: two bits of exponent and one of mantissa.
not cut
    | .clamp(max=6.0) =>
    {number} of {block} is {element} instead of {right}: beyond 6 there is no element, and what is
    beyond becomes 6.
no 0.5
    | torch.round(magnitude / step) => torch.round(magnitude / step) * (magnitude >= 0.75)
    {number} of {block} is {element} instead of {right}: below 1 there is one element more, 0.5,
    which has no leading 1 in its mantissa.
no sign
    | torch.copysign(torch.round(magnitude / step) * step, over)
        => (torch.round(magnitude / step) * step)
    {number} of {block} is {element} instead of {right}: the sign is gone.
written into
    | torch.ldexp(x.detach().double(), -exponents[:, None])
        => x.ldexp_(-exponents[:, None]).double()
    ! in_place
the other order
    | return exponents, torch.copysign => return torch.copysign
    | .to(x.dtype) => .to(x.dtype), exponents
    the order is another: `exponents, elements` was asked for.
"""

EXERCISE = Exercise(
    number="11.7",
    title="A scale for each block",
    stars=2,
    minutes=15,
    points=3,
    function="mxfp4",
    asks=(
        "exponents and elements: for each block ⌊log2 of its largest magnitude⌋ − 2, −127 for "
        "zeros alone; for each number over 2^exponent the nearest of 0, 0.5, 1, 1.5, 2, 3, 4 and 6 "
        "with its sign, of two equally near ones that with the even mantissa (0, 1, 2, 4), and 6 "
        "for what is beyond."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=wrong_answers(
        "11.7",
        WRONG,
        reference,
        over_six="{block} has the exponent {got}: 6 was divided by before the logarithm was "
        "rounded. The exponent of 6, which is 2, is taken off afterwards: {want}.",
        tie="{number} of {block} is {element} instead of {right}: over the scale it lies in the "
        "middle between two elements. Of these the one with an even mantissa counts: 0, 1, 2 and "
        "4.",
        in_place=IN_PLACE,
    ),
    ranked=False,
)
