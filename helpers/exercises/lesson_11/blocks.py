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

from helpers.algorithms.quantization.block_formats import mxfp4 as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11 import blocks_wrong as wrong
from helpers.exercises.lesson_11.figures import Array, items, said, what
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

VALUES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
BLOCK = 32


def cases(seed: int) -> list[Case]:
    """Seed 0 and others: blocks of different sizes, in the middle between elements, an outlier and
    a block of zeros, tiny and huge ones."""
    random = rng(seed, "11.7")
    powers = 2.0 ** random.integers(-9, 9, 3)
    several = powers[:, None] * random.uniform(-1, 1, (3, BLOCK))
    # The largest magnitudes tell ⌊log2⌋ from what rounds otherwise; the first is negative.
    several[:, 5] = powers * np.array([-1.2, 1.94, 1.45])
    middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    ties = random.choice(middles, (2, BLOCK)) * random.choice([-1.0, 1.0], (2, BLOCK))
    ties[:, 0], ties[0, 1:8] = 4.5, middles
    ties[1] *= 2.0 ** int(random.integers(-4, 5))
    outlier = random.uniform(-1, 1, (3, BLOCK))
    outlier[0, 7], outlier[1] = 300.0, 0.0
    extreme = random.uniform(-1, 1, (2, BLOCK)) * np.array([[2.0**-60], [2.0**60]])
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


def parts(seen: Observation, case: Case) -> tuple[Any, Any] | None:
    """Exponents and elements in float64; None where they are not that."""
    given = items(returned(seen.values[0]), 2)
    shape = case.facts["elements"].shape
    if not given or not is_array(given[0], shape[:1]) or not is_array(given[1], shape):
        return None
    return given[0].astype(float), given[1].astype(float)


def claim(case: Case, seen: Observation) -> str | None:
    """The exponent of every block, and every element."""
    both = parts(seen, case)
    if both is None:
        return (
            f"{case.name}, `mxfp4` gave {describe(returned(seen.values[0]))}: return two things, "
            "an exponent for each block and elements of the shape of x."
        )
    told = numbers(case, seen)
    if not np.array_equal(both[0], case.facts["exponents"]):
        return f"{case.name}, {told['block']} has the exponent {told['got']}; it is {told['want']}."
    if not np.array_equal(both[1], case.facts["elements"]):
        return (
            f"{case.name}, {told['number']} of {told['block']} is {told['element']}; the nearest "
            f"element is {told['right']}."
        )
    return f"{case.name}, {wrong.IN_PLACE}" if changed(seen.values[0]) is not None else None


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first, in the order of the claim."""
    both = parts(seen, case)
    if both is None:
        return what(returned(seen.values[0]))
    if not np.array_equal(both[0], case.facts["exponents"]):
        return {"exponents": both[0]}
    if not np.array_equal(both[1], case.facts["elements"]):
        return {"elements": both[1]}
    return {"changed": changed(seen.values[0]) is not None}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first block and the first number that are not right."""
    both, facts = parts(seen, case), case.facts
    if both is None:
        return dict.fromkeys(("block", "got", "want", "number", "element", "right"), "")
    off = both[0] != facts["exponents"]
    block = (
        int(np.argmax(off)) if off.any() else int(np.argmax((both[1] != facts["elements"]).any(1)))
    )
    at = int(np.argmax(both[1][block] != facts["elements"][block]))
    scaled = float(facts["x"][block, at]) / 2.0 ** int(facts["exponents"][block])
    return {
        "block": f"block {block}",
        "got": said(both[0][block]),
        "want": said(float(facts["exponents"][block])),
        "number": f"number {at}, {said(scaled)} over the scale,",
        "element": said(both[1][block, at]),
        "right": said(facts["elements"][block, at]),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    x = cases[2].facts["x"]
    exponents = ", ".join(str(int(e)) for e in cases[2].facts["exponents"])
    return (
        f"Passed: beside an outlier of {np.abs(x).max():g} the other blocks keep scales of their "
        f"own; the exponents are {exponents}."
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
        WrongAnswer("log2 rounded", wrong.rounded_log, wrong.ROUNDED_LOG),
        WrongAnswer("log2 rounded up", wrong.rounded_up, wrong.ROUNDED_UP),
        WrongAnswer("the largest fits", wrong.that_fits, wrong.THAT_FITS),
        WrongAnswer("one scale for all", wrong.for_all, wrong.FOR_ALL),
        WrongAnswer("the largest with its sign", wrong.signed_largest, wrong.SIGNED_LARGEST),
        WrongAnswer("zeros", wrong.no_zero, wrong.NO_ZERO),
        WrongAnswer("scales for exponents", wrong.scales, wrong.SCALES),
        WrongAnswer("elements times the scale", wrong.products, wrong.PRODUCTS),
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
