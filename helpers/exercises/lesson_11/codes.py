"""Exercise 11.1, codes for a range of values.

`quantize(values, low, high, bits=8) -> (codes, scale, zero_point)`: the range is widened to hold 0,
scale = (high − low)/(2^bits − 1), the zero point is the whole number that stands for 0, and a code
q for scale · (q − zero_point). The claim: scale and zero point are these, and each value has the
nearest of the codes −2^(bits−1) to 2^(bits−1) − 1, held as int8. Source: Jacob et al. (2018), 2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.quantization.quantization import quantize as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array, number
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11 import codes_wrong as wrong
from helpers.exercises.lesson_11.figures import (
    Array,
    alike,
    items,
    near,
    other_type,
    said,
    single,
    what,
)
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

_SEVERAL = ("both", "above", "below", "both", "both")  # where a range lies, seen from 0
_BITS = (8, 8, 6, 4, 2)


def cases(seed: int) -> list[Case]:
    """Seed 0: −10 to 30, ranges above and below 0, then 4 and 2 bits; else other ranges.

    Every case has values beyond both ends, the ends themselves, 0, and no value half-way between
    two codes. One case leaves the bits to their default.
    """
    random = rng(seed, "11.1")
    ranges = [(-10.0, 30.0), (3.0, 11.0), (-9.5, -2.0), (-0.8, 2.1), (-1.0, 1.7)]
    if seed:
        pairs = zip(_SEVERAL, _BITS, strict=True)
        ranges = [_drawn(random, where, bits, n == 0) for n, (where, bits) in enumerate(pairs)]
    made = []
    for at, ((low, high), bits) in enumerate(zip(ranges, _BITS, strict=True)):
        scale, zero = _grid(low, high, bits)
        values = _values(random, low, high, bits)
        if at == 0:
            values = values.reshape(3, 5)
        facts = _facts(values.astype(np.float64), low, high, bits, scale, zero)
        name = f"With the range {said(low)} to {said(high)} and {bits} bits"
        args: tuple[Any, ...] = (values, low, high) + ((bits,) if at != 1 else ())
        made.append(Case(name, (args,), facts=facts))
    return made


def _grid(low: float, high: float, bits: int) -> tuple[float, int]:
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (2**bits - 1)
    return scale, -(2 ** (bits - 1)) - round(low / scale)


def _drawn(random: np.random.Generator, where: str, bits: int, first: bool) -> tuple[float, float]:
    """A range whose zero point is no close call; the first one's is not its whole part either."""
    while True:
        below, above = (round(float(random.uniform(1.5, 25.0)), 1) for _ in range(2))
        low, high = -below, above
        if where != "both":
            low, high = below, round(below + above, 1)
            if where == "below":
                low, high = -high, -low
        scale, _ = _grid(low, high, bits)
        close = any(abs(end / scale % 1 - 0.5) < 0.1 for end in (low, high))
        part = -low / scale % 1
        if where != "both" and not close:
            return low, high
        telling = 0.6 < part < 0.8 if first else part > 0.1
        if telling and not close and max(below, above) > 1.5 * min(below, above):
            return low, high


def _values(random: np.random.Generator, low: float, high: float, bits: int) -> Array:
    """15 values, float32: ten in the range, its ends, 0, and one far beyond either end."""
    scale, zero = _grid(low, high, bits)
    lowest, width = -(2 ** (bits - 1)), max(high, 0.0) - min(low, 0.0)
    inside: list[float] = []
    for part in random.permutation(np.linspace(-0.46, 0.44, 10)):
        value = np.inf
        while not min(low, 0.0) < value < max(high, 0.0):
            value = scale * (int(random.integers(lowest, -lowest)) - zero + part)
        inside.append(float(value))
    beyond = [min(low, 0) - random.uniform(0.2, 0.6) * width]
    beyond.append(max(high, 0) + random.uniform(0.2, 0.6) * width)
    values = random.permutation([*inside, low, high, 0.0, *beyond])
    return values.astype(np.float32)


def _facts(
    values: Array, low: float, high: float, bits: int, scale: float, zero: int
) -> dict[str, Any]:
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    ends = min(low, 0.0), max(high, 0.0)
    return {
        "codes": np.clip(np.round(values / scale) + zero, lowest, highest).astype(np.int8),
        "scale": scale,
        "zero": zero,
        "values": values,
        "ends": ends,
        "bits": bits,
        "far": (values < ends[0]) | (values > ends[1]),
    }


def parts(seen: Observation) -> tuple[Any, float | None, float | None]:
    """Codes, scale and zero point, whatever stands for the first; None for what is no number."""
    given = items(returned(seen.values[0]), 3)
    return (given[0], number(given[1]), number(given[2])) if given else (None, None, None)


def claim(case: Case, seen: Observation) -> str | None:
    """The scale, the zero point, and the nearest code of every value."""
    facts = case.facts
    codes, scale, zero = parts(seen)
    if not is_array(codes, facts["codes"].shape) or scale is None or zero is None:
        return (
            f"{case.name}, `quantize` gave {describe(returned(seen.values[0]))}: return three "
            "things, codes of the shape of the values, the scale and the zero point."
        )
    if not near(scale, facts["scale"]):
        return f"{case.name}, the scale is {said(scale)}; it should be {said(facts['scale'])}."
    if zero != facts["zero"]:
        return f"{case.name}, the zero point is {said(zero)}; it should be {said(facts['zero'])}."
    if not alike(codes, facts["codes"]):
        return _first_wrong(case, codes)
    if codes.dtype != np.int8:
        return other_type(case, seen)
    if not _is_whole(seen):
        return f"{case.name}, {wrong.FLOAT_ZERO.format(**numbers(case, seen))}"
    return f"{case.name}, {wrong.IN_PLACE}" if changed(seen.values[0]) is not None else None


def _is_whole(seen: Observation) -> bool:
    """Whether the zero point is of a type of whole numbers."""
    return np.asarray(returned(seen.values[0])[2]).dtype.kind in "iu"


def _first_wrong(case: Case, codes: Any) -> str:
    """The first value with another code than the nearest one."""
    facts = case.facts
    at = int(np.argmax((codes != facts["codes"]).ravel()))
    got, want = float(codes.ravel()[at]), int(facts["codes"].ravel()[at])
    value, scale, zero = float(facts["values"].ravel()[at]), facts["scale"], facts["zero"]
    return (
        f"{case.name}, {said(value)} got the code {said(got)}, which stands for "
        f"{said(scale * (got - zero))}; the code {said(want)} stands for "
        f"{said(scale * (want - zero))}, which is nearest."
    )


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first, in the order of the claim: what follows from it says nothing more."""
    facts = case.facts
    codes, scale, zero = parts(seen)
    if not is_array(codes, facts["codes"].shape) or scale is None or zero is None:
        return what(returned(seen.values[0]))
    if not near(scale, facts["scale"]):
        return {"scale": single(scale)}
    lowest = -(2.0 ** (facts["bits"] - 1))
    if zero != facts["zero"]:
        # Another sign may give the zero point that codes from 0 on have: only the codes tell.
        from_0 = alike(codes.astype(float) % 256, facts["codes"] - lowest) or (codes >= 0).all()
        return {"zero point": single(zero), "codes from 0 on": bool(from_0)}
    if not alike(codes, facts["codes"]):
        return {"codes": codes.astype(float) % 256}  # as they are in int8, where that wraps around
    written = changed(seen.values[0]) is not None
    return {"type": codes.dtype.name, "whole": _is_whole(seen), "changed": written}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the grid as it should be, what was given, and the first wrong code."""
    facts = case.facts
    bits, (low, high), scale = facts["bits"], facts["ends"], facts["scale"]
    codes, got_scale, got_zero = parts(seen)
    lowest = -(2 ** (bits - 1))
    told = {
        "low": said(low),
        "high": said(high),
        "bits": bits,
        "codes": 2**bits,
        "steps": 2**bits - 1,
        "lowest": said(lowest),
        "highest": -lowest - 1,
        "away": said(round(-low / scale)),
        "exact": said(lowest - low / scale),
        "right_zero": said(facts["zero"]),
        "scale": said(got_scale or 0),
        "zero": said(got_zero or 0),
    }
    if is_array(codes, facts["codes"].shape):
        at = int(np.argmax((codes != facts["codes"]).ravel()))
        told["first"] = _first_wrong(case, codes)
        told["value"] = said(float(facts["values"].ravel()[at]))
        told["code"] = said(float(codes.ravel()[at]))
    return told


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    codes, scale, zero = parts(seen[0])
    off = np.abs((np.asarray(codes, float) - (zero or 0)) * (scale or 0) - facts["values"])
    low, high = (said(end) for end in facts["ends"])
    return (
        f"Passed: from {low} to {high}, 8 bits have steps of {said(scale or 0)}, and 0 has the "
        f"code {said(zero or 0)}. No value within was off by more than "
        f"{off[~facts['far']].max() / facts['scale']:.2f} steps."
    )


EXERCISE = Exercise(
    number="11.1",
    title="Codes for a range",
    stars=2,
    minutes=12,
    points=3,
    function="quantize",
    asks=(
        "codes, scale and zero point: the range widened to hold 0, scale = (high − low) / "
        "(2^bits − 1), the zero point the whole code of 0, and for each value the nearest code "
        "from −2^(bits−1) to 2^(bits−1) − 1, as int8."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=(
        WrongAnswer("zero point not rounded", wrong.between, wrong.BETWEEN),
        WrongAnswer("zero point cut", wrong.zero_cut, wrong.NEIGHBOUR),
        WrongAnswer("zero point cut towards 0", wrong.zero_cut_towards_0, wrong.NEIGHBOUR),
        WrongAnswer("range not widened", wrong.not_widened, wrong.NOT_WIDENED),
        WrongAnswer("by the number of codes", wrong.one_step_too_many, wrong.ONE_STEP_TOO_MANY),
        WrongAnswer("codes cut", wrong.cut, wrong.CUT),
        WrongAnswer("steps cut", wrong.steps_cut, wrong.CUT),
        WrongAnswer("codes rounded down", wrong.rounded_down, wrong.CUT),
        WrongAnswer("sign of the zero point", wrong.sign, wrong.SIGN),
        WrongAnswer("zero point negated", wrong.negated, wrong.SIGN),
        WrongAnswer("symmetric scale", wrong.symmetric, wrong.MAGNITUDE),
        WrongAnswer("a range as far below 0 as above", wrong.symmetric_range, wrong.MAGNITUDE),
        WrongAnswer("half of the codes", wrong.half_of_the_codes, wrong.HALF_OF_THE_CODES),
        WrongAnswer("the scale upside down", wrong.upside_down, wrong.UPSIDE_DOWN),
        WrongAnswer("codes from 0 on", wrong.unsigned, wrong.UNSIGNED),
        WrongAnswer("no zero point", wrong.around_0, wrong.AROUND_0),
        WrongAnswer("a lowest code too high", wrong.lowest_too_high, wrong.LOWEST_TOO_HIGH),
        WrongAnswer("clamped too early", wrong.clamped_first, wrong.CLAMPED_FIRST),
        WrongAnswer("the values' own ends", wrong.own_ends, wrong.OWN_ENDS),
        WrongAnswer("counts from the low end", wrong.from_the_low_end, wrong.FROM_THE_LOW_END),
        WrongAnswer("always 8 bits", wrong.eight_bits, wrong.EIGHT_BITS),
        WrongAnswer("the ends of 8 bits", wrong.eight_bit_ends, wrong.EIGHT_BIT_ENDS),
        WrongAnswer("beyond the range, not clamped", wrong.not_clamped, wrong.NOT_CLAMPED),
        WrongAnswer("codes from 0 on, the zero point not", wrong.codes_from_0, wrong.CODES_FROM_0),
        WrongAnswer("zero point not added", wrong.not_added, wrong.NOT_ADDED),
        WrongAnswer("zero point subtracted", wrong.subtracted, wrong.SUBTRACTED),
        WrongAnswer("lowest code left out", wrong.narrow, wrong.NARROW),
        WrongAnswer("clamped to the given range", wrong.clamped_as_given, wrong.CLAMPED_AS_GIVEN),
        WrongAnswer("times the scale", wrong.times_scale, wrong.TIMES_SCALE),
        WrongAnswer("values instead of codes", wrong.values_back, wrong.VALUES_BACK),
        WrongAnswer("another order", wrong.codes_last, wrong.CODES_LAST),
        WrongAnswer("codes of another type", wrong.floats, other_type),
        WrongAnswer("a float for a zero point", wrong.float_zero, wrong.FLOAT_ZERO),
        WrongAnswer("the values written into", wrong.in_place, wrong.IN_PLACE),
    ),
    ranked=False,
)
