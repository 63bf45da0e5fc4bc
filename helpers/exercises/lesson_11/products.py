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

from helpers.exercises.common import rng
from helpers.exercises.compare import describe
from helpers.exercises.drives_quantization import multiplied
from helpers.exercises.lesson_11 import products_mistakes as look
from helpers.exercises.lesson_11 import products_ways as ways
from helpers.exercises.lesson_11 import products_wrong as wrong
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


def claim(case: Case, seen: Observation) -> str | None:
    """The values, that no floats were multiplied, nothing written into."""
    got, n = ways.given(seen), ways.numbers(case)
    out = got["out"]
    if not ways.is_output(out, n):
        shape = f"({len(n.x)}, {len(n.weight)})"
        return f"{case.name}, you returned {describe(out)}; the output is floats, {shape}."
    if not ways.agrees(out, ways.right(n), n):
        return ways.at_worst(case, out, n) + "."
    if got["floats"]:
        return f"{case.name}, matrices were multiplied in {got['floats'][0]}."
    return look.written_into(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    n = max(map(ways.numbers, cases), key=lambda n: n.x.shape[1])
    return (
        f"Passed: whole numbers were multiplied, up to {n.x.shape[1]} of them in a sum, and "
        f"sums as large as {np.abs(n.sums).max():,} came out to the step."
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
        *(Mistake(name, look.looks(way, text)) for name, way, text in look.WAYS),
        Mistake("left as whole numbers", look.left_whole),
        Mistake("values multiplied", look.values_multiplied),
        Mistake("codes multiplied as floats", look.codes_as_floats),
        Mistake("corrected in floats", look.corrected_in_floats),
        Mistake("writes into what it is given", look.written_into),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no zero point", wrong.no_zero_point, hint="the zero point is left out"),
        WrongAnswer("added", wrong.added, hint="is taken away, not added"),
        WrongAnswer("other sums", wrong.other_sums, hint="each input's weights"),
        WrongAnswer(
            "sums of x", wrong.sums_of_codes, hint="the inputs' codes in place of the weights'"
        ),
        WrongAnswer("zero once", wrong.zero_once, hint="taken away once"),
        WrongAnswer("no bias", wrong.no_bias, hint="the bias is missing"),
        WrongAnswer("bias scaled", wrong.bias_scaled, hint="The bias is a value already"),
        WrongAnswer("bias cut", wrong.bias_cut, hint="cut off instead of rounded"),
        WrongAnswer(
            "scales by row", wrong.scales_by_row, hint="one for each output, and so a column"
        ),
        WrongAnswer("no x_scale", wrong.no_x_scale, hint="`x_scale` is left out"),
        WrongAnswer("w_scale twice", wrong.w_scale_twice, hint="times `w_scale` twice"),
        WrongAnswer("mean scale", wrong.mean_scale, hint="one scale for all outputs"),
        WrongAnswer("scaled apart", wrong.correction_unscaled, hint="is counted in steps too"),
        WrongAnswer("wraps", wrong.wraps, hint="wrapped round in int8"),
        WrongAnswer("cuts codes off", wrong.cuts_codes_off, hint="cut off at the ends of int8"),
        WrongAnswer("in 8 bits", wrong.in_8_bits, hint="only 8 bits were kept"),
        WrongAnswer("in 16 bits", wrong.in_16_bits, hint="only 16 bits were kept"),
        WrongAnswer(
            "weights in 8 bits", wrong.weights_in_8_bits, hint="the sum of the weights' codes"
        ),
        WrongAnswer("transposed", wrong.transposed, hint="rows and outputs have changed places"),
        WrongAnswer("whole", wrong.left_whole, hint="are still steps"),
        WrongAnswer("dequantized", wrong.dequantized, hint="turned into values first"),
        WrongAnswer("float32", wrong.in_float32, hint="up to 2^24 only"),
        WrongAnswer("float16", wrong.in_float16, hint="up to 2^11 only"),
        WrongAnswer("float64", wrong.in_float64, hint="eight bytes where a code has one"),
        WrongAnswer("late", wrong.corrected_in_floats, hint="while both are whole"),
        WrongAnswer("in place", wrong.in_place, hint="you wrote into `w_scale`"),
    ),
    ranked=False,
    unseen={
        "floats": "whether matrices are multiplied as floating-point numbers",
        "whole": "whether these are whole",
    },
)
