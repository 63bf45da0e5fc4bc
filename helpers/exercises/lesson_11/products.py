"""Exercise 11.3, a linear layer on codes.

`integer_linear(x, x_scale, x_zero, weight, w_scale, bias)`: x (rows, in) and weight (out, in) are
int8 codes, w_scale (out,) and bias (out,) floats; the output is floats, (rows, out). The claim:
x_scale · w_scale · (Σ q_w q_x − x_zero Σ q_w) + bias, exact but for the bias, which may be rounded
to whole steps; whole numbers were multiplied, and no argument was written into. Source: Jacob et
al. (2018), section 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.quantization.integer_layers import integer_linear as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array
from helpers.exercises.drives_quantization import multiplied
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11 import products_wrong as wrong
from helpers.exercises.lesson_11.figures import Array, said_apart, single, what
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: a square layer, where sums leave 16 bits; three sizes; long sums; a single row.

    A square layer is the most telling one: there a vector lies along either dimension.
    """
    random, made = rng(seed, "11.3"), []
    n, far = (8, 0) if not seed else (int(random.integers(8, 14)), int(random.integers(1, 40)))

    x = random.integers(-20, 128, (n, n))
    x[0] = random.integers(100, 128, n)
    weight = random.integers(-127, 128, (n, n))
    weight[::2] = random.integers(40, 128, weight[::2].shape)
    made.append((f"With {n} rows, {n} inputs and {n} outputs", x, -37 - far // 2, weight))

    inputs = 300 + far
    x, weight = random.integers(-128, 128, (5, inputs)), random.integers(-127, 128, (3, inputs))
    made.append((f"With 5 rows, {inputs} inputs and 3 outputs", x, 21 + far, weight))

    # What a ReLU leaves: most codes are that of 0, the lowest one. The sums of products are large
    # and nearly all of it is taken away again.
    inputs = 4096 + far
    x = np.full((4, inputs), -128)
    for row in x:
        row[random.choice(inputs, 6, replace=False)] += random.integers(1, 90, 6)
    weight = random.integers(60, 128, (6, inputs)) * np.resize([1, -1], 6)[:, None]
    name = f"With {inputs} inputs, nearly all of them the zero point −128"
    made.append((name, x, -128, weight))

    x, weight = random.integers(-128, 128, (1, 20)), random.integers(-127, 128, (4, 20))
    made.append(("With one row, and 0 as the zero point", x, 0, weight))
    return [_case(random, *each) for each in made]


def _case(random: np.random.Generator, name: str, x: Any, zero: int, weight: Any) -> Case:
    """The rest of a layer: scales, and a bias of four to twelve that never is a whole step."""
    x_scale = round(float(random.uniform(0.04, 0.08)), 6)
    w_scale = random.uniform(0.004, 0.02, len(weight)).astype(np.float32)
    step = x_scale * w_scale.astype(np.float64)
    sign = random.choice([-1.0, 1.0], len(weight))
    steps = np.floor(random.uniform(4, 12, len(weight)) / step) + 0.85
    bias = (sign * steps * step).astype(np.float32)
    codes = x.astype(np.int8), weight.astype(np.int8)
    return Case(name, ((codes[0], x_scale, zero, codes[1], w_scale, bias),))


class Exact:
    """A case in whole numbers of 64 bits and in doubles.

    step: what one whole number of the sums stands for, for each output. sums: Σ q_w q_x, and right:
    the output as it should be, both of this shape, (rows, out).
    """

    def __init__(self, case: Case) -> None:
        x, x_scale, zero, weight, w_scale, bias = case.args[0]
        x, weight = x.astype(np.int64), weight.astype(np.int64)
        self.shape = len(x), len(weight)
        self.bias: Array = bias.astype(np.float64)
        self.step: Array = x_scale * w_scale.astype(np.float64)
        self.sums: Array = x @ weight.T
        self.right: Array = self.step * (self.sums - zero * weight.sum(1)) + self.bias


def given(seen: Observation) -> Any:
    """What the driver noted of an answer, also where it wrote into its arguments."""
    return returned(seen.values[0])


def _is_right(out: Array, n: Exact) -> bool:
    """Whether values are right: half a step for a rounded bias, and what float32 rounds."""
    rounding = 1e-6 * (np.abs(n.right).max(0) + np.abs(n.bias))
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(out - n.right) <= 0.5001 * n.step + rounding))


def _at_worst(case: Case, out: Array, n: Exact) -> str:
    """The number that is farthest off, in words."""
    want = n.right
    with np.errstate(all="ignore"):
        off = np.nan_to_num(np.abs(out.astype(np.float64) - want) / n.step, nan=np.inf)
    row, column = np.unravel_index(int(off.argmax()), off.shape)
    got, wanted = said_apart(float(out[row, column]), float(want[row, column]))
    return f"{case.name}, output [{row}, {column}] is {got} and should be {wanted}"


def claim(case: Case, seen: Observation) -> str | None:
    """The values, that no floats were multiplied, nothing written into."""
    got, n, place = given(seen), Exact(case), changed(seen.values[0])
    out = got["out"]
    if not is_array(out, n.shape) or out.dtype.kind != "f":
        return f"{case.name}, you returned {describe(out)}; the output is floats, {n.shape}."
    if not _is_right(out, n):
        return _at_worst(case, out, n) + "."
    if got["floats"]:
        return f"{case.name}, matrices were multiplied in {got['floats'][0]}."
    if place is not None:
        return f"{case.name}, {wrong.IN_PLACE.format(argument=_ARGUMENTS[place])}"
    return None


def compared(case: Case, seen: Observation) -> Any:
    """The values where they are wrong, in steps: these are so many that a rounded bias hides."""
    out, n = given(seen)["out"], Exact(case)
    if not is_array(out, n.shape):
        return what(out)
    if out.dtype.kind != "f":
        return "whole numbers"
    if not _is_right(out, n):
        return {"steps": single(out / n.step)}
    return {"changed": changed(seen.values[0]) is not None}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the worst output, the type of all, what was written into."""
    out, n, place = given(seen)["out"], Exact(case), changed(seen.values[0])
    if not is_array(out, n.shape):
        return {}
    worst = _at_worst(case, out, n)
    return {"worst": worst, "type": out.dtype, "argument": _ARGUMENTS[place or 0]}


# --- how it was multiplied ------------------------------------------------------------------------

_ARGUMENTS = ("x", "x_scale", "x_zero", "weight", "w_scale", "bias")
# Up to which power of two whole numbers are exact, and the largest number, where it is small.
_EXACT = {
    "float32": (24, ""),
    "float16": (11, ", and 65504 is the largest number"),
    "bfloat16": (8, ""),
}


def _values_multiplied(case: Case, seen: Observation) -> str | None:
    got = given(seen)
    if not got["floats"] or got["whole"]:
        return None
    return f"{case.name}, {wrong.DEQUANTIZED.format(kind=got['floats'][0])}"


def _codes_as_floats(case: Case, seen: Observation) -> str | None:
    got = given(seen)
    if not got["floats"]:
        return None
    kind = got["floats"][0]
    if kind not in _EXACT:
        return f"{case.name}, {wrong.IN_FLOAT64.format(kind=kind)}"
    bits, end = _EXACT[kind]
    many = f"{2 ** (bits - 14)} products can reach that" if bits > 14 else "one product can be more"
    return f"{case.name}, {wrong.IN_FLOATS.format(kind=kind, bits=bits, end=end, many=many)}"


def _corrected_in_floats(case: Case, seen: Observation) -> str | None:
    """Large sums that were rounded before the correction left a small difference."""
    got, n = given(seen), Exact(case)
    out, most = got["out"], int(np.abs(n.sums).max())
    if got["floats"] or not is_array(out, n.shape) or out.dtype.kind != "f" or most < 2**24:
        return None
    off = float((np.abs(out - n.right) / n.step).max())
    if not 0.5 < off <= most / 2**20:
        return None
    words = wrong.CORRECTED_IN_FLOATS.format(off=f"{off:.2g}", most=f"{most:,}")
    return f"{_at_worst(case, out, n)}, {words}"


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    deepest = max(cases, key=lambda case: case.args[0][0].shape[1])
    return (
        f"Passed: whole numbers were multiplied, up to {deepest.args[0][0].shape[1]} of them in a "
        f"sum, and sums as large as {np.abs(Exact(deepest).sums).max():,} came out to the step."
    )


EXERCISE = Exercise(
    number="11.3",
    title="A layer on codes",
    stars=3,
    minutes=15,
    points=4,
    function="integer_linear",
    asks=(
        "x_scale · w_scale · (Σ q_w q_x − x_zero · Σ q_w) + bias as floats, (rows, out), with the "
        "matrices multiplied as whole numbers."
    ),
    cases=cases,
    drive=multiplied,
    claim=claim,
    mistakes=(
        Mistake("values multiplied", _values_multiplied),
        Mistake("codes multiplied as floats", _codes_as_floats),
        Mistake("corrected in floats", _corrected_in_floats),
    ),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=(
        WrongAnswer("no zero point", wrong.no_zero_point, wrong.NO_ZERO_POINT),
        WrongAnswer("correction added", wrong.added, wrong.ADDED),
        WrongAnswer("weights summed along the outputs", wrong.other_sums, wrong.OTHER_SUMS),
        WrongAnswer("codes of the inputs summed", wrong.sums_of_codes, wrong.SUMS_OF_CODES),
        WrongAnswer("codes of the inputs as a row", wrong.sums_as_a_row, wrong.SUMS_OF_CODES),
        WrongAnswer("correction along the rows", wrong.weights_by_row, wrong.WEIGHTS_BY_ROW),
        WrongAnswer("zero point taken away once", wrong.zero_once, wrong.ZERO_ONCE),
        WrongAnswer("zero point once for each input", wrong.zero_for_each_input, wrong.ZERO_ONCE),
        WrongAnswer("no bias", wrong.no_bias, wrong.NO_BIAS),
        WrongAnswer("bias multiplied by scales", wrong.bias_scaled, wrong.BIAS_SCALED),
        WrongAnswer("bias multiplied by x_scale", wrong.bias_by_x_scale, wrong.BIAS_SCALED),
        WrongAnswer("bias multiplied by w_scale", wrong.bias_by_w_scale, wrong.BIAS_SCALED),
        WrongAnswer("bias cut off", wrong.bias_cut, wrong.BIAS_CUT),
        WrongAnswer("scales along the rows", wrong.scales_by_row, wrong.SCALES_BY_ROW),
        WrongAnswer("bias along the rows", wrong.bias_by_row, wrong.SCALES_BY_ROW),
        WrongAnswer("scales and bias along the rows", wrong.both_by_row, wrong.SCALES_BY_ROW),
        WrongAnswer("no x_scale", wrong.no_x_scale, wrong.NO_X_SCALE),
        WrongAnswer("no w_scale", wrong.no_w_scale, wrong.NO_W_SCALE),
        WrongAnswer("no scales", wrong.no_scales, wrong.NO_SCALES),
        WrongAnswer("w_scale twice", wrong.w_scale_twice, wrong.W_SCALE_TWICE),
        WrongAnswer("one scale for all, the mean", wrong.mean_scale, wrong.MEAN_SCALE),
        WrongAnswer("one scale for all, the largest", wrong.largest_scale, wrong.MEAN_SCALE),
        WrongAnswer("one scale for all, the first", wrong.first_scale, wrong.MEAN_SCALE),
        WrongAnswer("correction not scaled", wrong.correction_unscaled, wrong.CORRECTION_UNSCALED),
        WrongAnswer("correction by x_scale alone", wrong.by_x_scale, wrong.CORRECTION_UNSCALED),
        WrongAnswer("correction by w_scale alone", wrong.by_w_scale, wrong.CORRECTION_UNSCALED),
        WrongAnswer("codes wrapped round", wrong.wraps, wrong.WRAPS),
        WrongAnswer("codes cut off", wrong.cuts_codes_off, wrong.CUTS_CODES_OFF),
        WrongAnswer("sums in 8 bits", wrong.in_8_bits, wrong.IN_8_BITS),
        WrongAnswer("sums in 8 bits, corrected", wrong.all_in_8_bits, wrong.IN_8_BITS),
        WrongAnswer("sums in 16 bits", wrong.in_16_bits, wrong.IN_16_BITS),
        WrongAnswer("sums in 16 bits, corrected", wrong.all_in_16_bits, wrong.IN_16_BITS),
        WrongAnswer("weights summed in few bits", wrong.weights_in_8_bits, wrong.WEIGHTS_IN_8_BITS),
        WrongAnswer("correction in few bits", wrong.correction_in_8_bits, wrong.WEIGHTS_IN_8_BITS),
        WrongAnswer("transposed", wrong.transposed, wrong.TRANSPOSED),
        WrongAnswer("transposed at the end", wrong.transposed_at_the_end, wrong.TRANSPOSED),
        WrongAnswer("weight not transposed", wrong.other_weight, wrong.OTHER_WEIGHT),
        WrongAnswer("nor its sums transposed", wrong.other_weight_and_sums, wrong.OTHER_WEIGHT),
        WrongAnswer("left as whole numbers", wrong.left_whole, wrong.LEFT_WHOLE),
        WrongAnswer("writes into what it is given", wrong.in_place, wrong.IN_PLACE),
        WrongAnswer("dequantized", wrong.dequantized, hint="turned into values first"),
        WrongAnswer("float32", wrong.in_float32, hint="up to 2^24 only"),
        WrongAnswer("float16", wrong.in_float16, hint="up to 2^11 only"),
        WrongAnswer("float64", wrong.in_float64, hint="eight bytes where a code has one"),
        WrongAnswer("late", wrong.corrected_in_floats, hint="while both are whole"),
    ),
    ranked=False,
    unseen={
        "floats": "whether matrices are multiplied as floating-point numbers",
        "whole": "whether these are whole",
    },
)
