"""The mistakes of exercise 11.3, by the numbers that come out and by what was multiplied."""

from __future__ import annotations

import numpy as np

from helpers.exercises.compare import is_array
from helpers.exercises.drives_split import changed
from helpers.exercises.lesson_11 import products_ways as ways
from helpers.exercises.lesson_11.products_ways import (
    Way,
    agrees,
    at_worst,
    given,
    is_output,
    numbers,
    right,
)
from helpers.exercises.spec import Case, Look, Observation

ARGUMENTS = ("x", "x_scale", "x_zero", "weight", "w_scale", "bias")


def _narrow(bits: int) -> str:
    return (
        f"only {bits} bits were kept of the sums, and they wrapped round. A product of two codes "
        "takes 15 bits and a sign, a sum of many takes more: sum up in 32, as `int_matmul` does."
    )


WAYS: tuple[tuple[str, Way, str], ...] = (
    (
        "no zero point",
        ways.no_zero_point,
        "the zero point is left out. A code stands for x_scale · (q − x_zero), so "
        "x_zero · Σ q_w is to be taken away from each sum.",
    ),
    (
        "correction added",
        ways.added,
        "x_zero · Σ q_w is taken away, not added: Σ q_w (q_x − x_zero).",
    ),
    (
        "weights summed along the outputs",
        ways.other_sums,
        "you summed each input's weights. The correction has one number for each output: sum "
        "each row of `weight`, along dimension 1.",
    ),
    (
        "codes of the inputs summed",
        ways.sums_of_codes,
        "you summed the inputs' codes in place of the weights': the weights' zero point is 0, so "
        "Σ q_x is not needed; x's zero point goes with Σ q_w.",
    ),
    (
        "correction along the rows",
        ways.weights_by_row,
        "x_zero · Σ q_w was taken away row by row; it has one number for each output, which is "
        "a column.",
    ),
    (
        "zero point taken away once",
        ways.zero_once,
        "x_zero was taken away once, without the weights. It is in every product of the sum: "
        "q_w (q_x − x_zero) summed up is Σ q_w q_x − x_zero · Σ q_w.",
    ),
    ("no bias", ways.no_bias, "the bias is missing."),
    (
        "bias multiplied by scales",
        ways.bias_scaled,
        "the bias was multiplied by a scale. The bias is a value already: add it behind the "
        "scales, or divide it by x_scale · w_scale first.",
    ),
    (
        "bias cut off",
        ways.bias_cut,
        "the bias in steps was cut off instead of rounded, which is up to a whole step off: "
        "use `torch.round` in front of the conversion.",
    ),
    (
        "scales along the rows",
        ways.scales_by_row,
        "a scale or a bias was used row by row. There is one for each output, and so a column: "
        "`w_scale` and `bias` fit the last dimension as they are.",
    ),
    ("no x_scale", ways.no_x_scale, "`x_scale` is left out: a step is x_scale · w_scale."),
    ("no w_scale", ways.no_w_scale, "`w_scale` is left out: a step is x_scale · w_scale."),
    ("no scales", ways.no_scales, "both scales are left out: a step is x_scale · w_scale."),
    (
        "w_scale twice",
        ways.w_scale_twice,
        "the sums were taken times `w_scale` twice: a step is x_scale · w_scale.",
    ),
    (
        "one scale for all",
        ways.one_scale,
        "you used one scale for all outputs, such as the mean; each output has its own.",
    ),
    (
        "correction not scaled",
        ways.correction_unscaled,
        "x_zero · Σ q_w is counted in steps too: take it away from the sums in front of the "
        "scales.",
    ),
    (
        "codes wrapped round",
        ways.wraps,
        "x − x_zero has nine bits and wrapped round in int8: take x_zero · Σ q_w away from the "
        "sums instead.",
    ),
    (
        "codes cut off",
        ways.cut_to_codes,
        "x − x_zero has nine bits and was cut off at the ends of int8: take x_zero · Σ q_w away "
        "from the sums instead.",
    ),
    ("sums in 8 bits", ways.in_bits(8), _narrow(8)),
    ("sums in 16 bits", ways.in_bits(16), _narrow(16)),
    (
        "weights summed in few bits",
        ways.weights_in_8_bits,
        "the sum of the weights' codes, or x_zero times it, wrapped round: it is no code and "
        "takes 32 bits. Try `weight.sum(1, dtype=torch.int32)`.",
    ),
    (
        "transposed",
        ways.transposed,
        "rows and outputs have changed places: x is (rows, in) and weight (out, in), so the "
        "product is x times `weight.t()`.",
    ),
    (
        "weight not transposed",
        ways.other_weight,
        "the weight was used as if it were (in, out): take `weight.t()` as the second matrix.",
    ),
)
"""Each mistake's name, what comes out of it, and what is said to it."""


def looks(way: Way, text: str) -> Look:
    """Recognises answers that came out in one of the ways."""

    def look(case: Case, seen: Observation) -> str | None:
        n, out = numbers(case), given(seen)["out"]
        if not is_output(out, n) or agrees(out, right(n), n):
            return None
        if not any(agrees(out, each, n) for each in way(n)):
            return None
        return f"{at_worst(case, out, n)}: {text}"

    return look


def left_whole(case: Case, seen: Observation) -> str | None:
    """Steps, and no values."""
    n, out = numbers(case), given(seen)["out"]
    if not is_array(out, (len(n.x), len(n.weight))) or out.dtype.kind == "f":
        return None
    return (
        f"{case.name}, you returned whole numbers ({out.dtype}). These are still steps, or values "
        "cut off: times x_scale · w_scale they become values, which are floats."
    )


# --- how it was multiplied ------------------------------------------------------------------------

# Up to which power of two whole numbers are exact, and the largest number, where it is small.
_EXACT = {
    "float32": (24, ""),
    "float16": (11, ", and 65504 is the largest number"),
    "bfloat16": (8, ""),
}


def values_multiplied(case: Case, seen: Observation) -> str | None:
    """Dequantized first."""
    got = given(seen)
    if not got["floats"] or got["whole"]:
        return None
    return (
        f"{case.name}, codes were turned into values first, and these multiplied in "
        f"{got['floats'][0]}: a layer as it always was, and nothing is gained. Multiply the codes "
        "with `int_matmul`, and put the scales behind the sums."
    )


def codes_as_floats(case: Case, seen: Observation) -> str | None:
    """Codes, as floats."""
    got = given(seen)
    if not got["floats"]:
        return None
    kind = got["floats"][0]
    if kind not in _EXACT:
        return (
            f"{case.name}, codes were multiplied in {kind}. That is exact, and takes eight bytes "
            "where a code has one, and none of the instructions for bytes: multiply them with "
            "`int_matmul`."
        )
    bits, end = _EXACT[kind]
    many = f"{2 ** (bits - 14)} products can reach that" if bits > 14 else "one product can be more"
    return (
        f"{case.name}, codes were multiplied in {kind}, where whole numbers are exact up to "
        f"2^{bits} only{end}; {many}. Multiply them with `int_matmul`, which sums up in 32 bits."
    )


def corrected_in_floats(case: Case, seen: Observation) -> str | None:
    """Large sums that were rounded before the correction left a small difference."""
    got, n = given(seen), numbers(case)
    out, most = got["out"], int(np.abs(n.sums).max())
    if got["floats"] or not is_output(out, n) or most < 2**24:
        return None
    off = float((np.abs(out - right(n)) / n.step).max())
    if not 0.5 < off <= most / 2**20:
        return None
    return (
        f"{at_worst(case, out, n)}, which is {off:.2g} steps off: the sums reach {most:,}, where "
        "float32 has no room for every whole number, and nearly all of it is taken away again. "
        "Take x_zero · Σ q_w away from Σ q_w q_x while both are whole, and multiply by the scales "
        "afterwards."
    )


def written_into(case: Case, seen: Observation) -> str | None:
    """An argument is not as it was."""
    place = changed(seen.values[0])
    if place is None:
        return None
    return (
        f"{case.name}, you wrote into `{ARGUMENTS[place]}`, which is not yours: whoever holds it "
        "uses it again. Work on a new tensor."
    )
