"""Exercise 11.7, a scale for each block: MXFP4, as the Open Compute Project's standard has it.

`mxfp4(x) -> (exponents, elements)`: x (blocks, 32); of each block the exponent of its scale,
⌊log2 of the largest magnitude⌋ − 2, and each number over 2^exponent as the nearest of 0, ±0.5, ±1,
±1.5, ±2, ±3, ±4, ±6, ties to the even mantissa, cut at 6. The claim: both, exactly. Source: OCP
Microscaling Formats Specification 1.0 (2023), sections 5.3.3 and 6.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.quantization.mxfp4 import mxfp4 as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array, listing
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11 import blocks_wrong as wrong
from helpers.exercises.lesson_11.figures import Array, items, said
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

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


def claim(case: Case, seen: Observation) -> str | None:
    """The exponent of every block, and every element."""
    both = parts(seen, case)
    if both is None:
        return (
            f"{case.name}, x is {shaped(case)}, and `mxfp4` gave "
            f"{describe(returned(seen.values[0]))}: return two things, an exponent for each block "
            "and elements of the shape of x."
        )
    told = numbers(case, seen)
    if not np.array_equal(both[0], case.facts["exponents"]):
        return f"{case.name}, {told['whose']} has the exponent {told['got']}{_instead(told)}."
    if not np.array_equal(both[1], case.facts["elements"]):
        return (
            f"{case.name}, {told['number']} of {told['block']} is {told['element']}; the nearest "
            f"element is {told['right']}."
        )
    return f"{case.name}, {wrong.IN_PLACE}" if changed(seen.values[0]) is not None else None


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
    wrong=(
        WrongAnswer("the top exponent not taken off", wrong.without_top, wrong.WITHOUT_TOP),
        WrongAnswer("frexp as it is", wrong.as_frexp_has_it, wrong.AS_FREXP_HAS_IT),
        WrongAnswer("log2 rounded", wrong.rounded_log, wrong.ROUNDED_LOG),
        WrongAnswer("log2 rounded up", wrong.rounded_up, wrong.ROUNDED_UP),
        WrongAnswer("the largest fits", wrong.that_fits, wrong.THAT_FITS),
        WrongAnswer("over 6, rounded", wrong.over_six_rounded, wrong.OVER_SIX),
        WrongAnswer("over 6, rounded down", wrong.over_six, wrong.OVER_SIX),
        WrongAnswer("not rounded", wrong.not_rounded, wrong.NOT_ROUNDED),
        WrongAnswer("natural logarithm", wrong.natural, wrong.NATURAL),
        WrongAnswer("log2 in float32", wrong.log_in_float32, wrong.LOG_IN_FLOAT32),
        WrongAnswer("the mean", wrong.of_the_mean, wrong.OF_THE_MEAN),
        WrongAnswer("one scale for all", wrong.for_all, wrong.FOR_ALL),
        WrongAnswer("the largest with its sign", wrong.signed_largest, wrong.SIGNED_LARGEST),
        WrongAnswer("zeros", wrong.no_zero, wrong.NO_ZERO),
        WrongAnswer("codes for exponents", wrong.biased, wrong.BIASED),
        WrongAnswer("a column", wrong.column, wrong.COLUMN),
        WrongAnswer("scales for exponents", wrong.scales, wrong.SCALES),
        WrongAnswer("elements times the scale", wrong.products, wrong.PRODUCTS),
        WrongAnswer("times the scale", wrong.times, wrong.TIMES),
        WrongAnswer("codes for elements", wrong.codes, wrong.CODES),
        WrongAnswer("the lower of two", wrong.lower_tie, wrong.TIE),
        WrongAnswer("the larger of two", wrong.larger_tie, wrong.TIE),
        WrongAnswer("towards 0", wrong.down, wrong.DOWN),
        WrongAnswer("whole numbers", wrong.whole_steps, wrong.WHOLE_STEPS),
        WrongAnswer("halves everywhere", wrong.half_steps, wrong.HALF_STEPS),
        WrongAnswer("not cut", wrong.not_cut, wrong.NOT_CUT),
        WrongAnswer("no 0.5", wrong.no_half, wrong.NO_HALF),
        WrongAnswer("no sign", wrong.no_sign, wrong.NO_SIGN),
        WrongAnswer("written into", wrong.in_place, wrong.IN_PLACE),
        WrongAnswer("the other order", wrong.other_order, wrong.OTHER_ORDER),
    ),
    ranked=False,
)
