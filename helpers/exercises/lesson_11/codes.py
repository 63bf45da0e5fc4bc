"""Exercise 11.1, codes for a range of values.

`quantize(values, low, high, bits=8) -> (codes, scale, zero_point)`: the range is widened to hold 0,
scale = (high − low)/(2^bits − 1), the zero point is the whole number that stands for 0, and a code
q for scale · (q − zero_point). The claim: scale and zero point are these, and each value has the
nearest of the codes −2^(bits−1) to 2^(bits−1) − 1, held as int8. Source: Jacob et al. (2018), 2.1.
What makes this file long are 34 wrong answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.algorithms.quantization.quantization import quantize as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array, number
from helpers.exercises.drives.arguments import call_with_tensors, changed, returned
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
from helpers.exercises.spec import Case, Exercise, Observation
from helpers.exercises.table import wrong_answers

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
        values = _values(random, low, high, bits).reshape((3, 5) if at == 0 else 15)
        facts = _facts(values.astype(np.float64), low, high, bits)
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


def _facts(values: Array, low: float, high: float, bits: int) -> dict[str, Any]:
    scale, zero = _grid(low, high, bits)
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


FLOAT_ZERO = (
    "the zero point is the float {zero}. It is a code, and whole: in 11.3 sums of codes are taken "
    "times it, and a float makes floats of them. Python's own `round` gives an int."
)
IN_PLACE = (
    "`quantize` wrote into `values`: whoever called it may need them still. Functions whose names "
    "end in `_`, and `out=`, change their tensor."
)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The scale, the zero point, and the nearest code of every value."""
    facts, (codes, scale, zero) = case.facts, parts(seen)
    if not is_array(codes, facts["codes"].shape) or scale is None or zero is None:
        yield (
            f"`quantize` gave {describe(returned(seen.values[0]))}: return three things, codes of "
            "the shape of the values, the scale and the zero point."
        )
        return
    if not near(scale, facts["scale"]):
        yield f"the scale is {said(scale)}; it should be {said(facts['scale'])}."
    if zero != facts["zero"]:
        yield f"the zero point is {said(zero)}; it should be {said(facts['zero'])}."
    if not alike(codes, facts["codes"]):
        yield _first_wrong(case, codes)
    if codes.dtype != np.int8:
        yield other_type(case, seen)
    if not _is_whole(seen):
        yield FLOAT_ZERO.format(zero=said(zero))
    if changed(seen.values[0]) is not None:
        yield IN_PLACE


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
        f"{said(value)} got the code {said(got)}, which stands for {said(scale * (got - zero))}; "
        f"the code {said(want)} stands for {said(scale * (want - zero))}, which is nearest."
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
    whole, written = _is_whole(seen), changed(seen.values[0]) is not None
    return {"type": codes.dtype.name, "whole": whole, "changed": written}


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


def plain(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """The course's own in a few lines, without a look at what it is given."""
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (2**bits - 1)
    zero_point = lowest - round(low / scale)
    codes = torch.round(values / scale) + zero_point
    codes = codes.clamp(lowest, highest).to(torch.int8)
    return codes, scale, zero_point


WRONG = """
zero point not rounded
    | round(low / scale) => low / scale
    the zero point is {zero}, and 0 lies between two codes: round it to a whole number.
zero point cut
    | - round(low / scale) => + int(-low / scale)
    ! neighbour
zero point cut towards 0
    | lowest - round(low / scale) => int(lowest - low / scale)
    ! neighbour
range not widened
    | min(low, 0.0), max(high, 0.0) => low, high
    the scale is {scale}: it covers the range as it is given, in which 0 has no code. First widen
    the range so that it holds 0: {low} to {high}.
by the number of codes
    | (2**bits - 1) => 2**bits
    the scale is {scale}: that is the width by {codes}. There are {codes} codes, and they have one
    step fewer between them: divide by {steps}.
codes cut
    | torch.round(values / scale) => values / scale
    ! cut
steps cut
    | torch.round(values / scale) => (values / scale).int()
    ! cut
codes rounded down
    | torch.round => torch.floor
    ! cut
sign of the zero point
    | - round => + round
    ! sign
zero point negated
    | lowest - round => -lowest + round
    ! sign
symmetric scale
    | (high - low) / (2**bits - 1) => max(-low, high) / highest
    ! magnitude
a range as far below 0 as above
    | (high - low) => 2 * max(-low, high)
    ! magnitude
half of the codes
    | (2**bits - 1) => highest
    the scale is {scale}: that is the width by the codes on one side of 0. The range has all {codes}
    codes, with {steps} steps between them.
the scale upside down
    | (high - low) / (2**bits - 1) => (2**bits - 1) / (high - low)
    the scale is {scale}: so many steps has a unit. A step is the width by {steps}.
codes from 0 on
    | lowest - round => -round
    | clamp(lowest, highest).to(torch.int8) => clamp(0, 2**bits - 1).to(torch.int16)
    the zero point is {zero}: so the codes count from 0 on, up to {steps}, which int8 does not hold.
    The lowest code is {lowest}: shift all of them by that.
no zero point
    | lowest - round(low / scale) => 0
    the zero point is {zero}: the code 0 stands for the value 0 only on a symmetric grid. Here the
    low end has the code {lowest}, and 0 lies {away} steps above it.
a lowest code too high
    | lowest - round => 1 + lowest - round
    the zero point is {zero}, one too many: the lowest code is {lowest}.
clamped too early
    | torch.round(values / scale) => torch.round(values / scale).clamp(lowest, highest)
    | codes.clamp(lowest, highest) => codes.int()
    {first} The steps were clamped before the zero point was added: add it first, for {lowest} and
    {highest} are the ends of the codes.
the values' own ends
    | min(low, 0.0), max(high, 0.0) => min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    the scale is {scale}: it comes from the values' own smallest and largest. The range is given,
    `low` to `high`; what lies beyond it gets the first or the last code.
counts from the low end
    | values / scale) + zero_point => (values - low) / scale) + lowest
    {first} You counted from the low end, which has no code of its own once the zero point is
    rounded: count the steps from 0, value / scale, and add the zero point.
always 8 bits
    | (2**bits - 1) => 255
    the scale is {scale}: these are the steps of 8 bits; {bits} bits have {steps}.
the ends of 8 bits
    | clamp(lowest, highest) => clamp(-128, 127)
    {first} −128 and 127 end 8 bits; {bits} bits end at {lowest} and {highest}.
beyond the range, not clamped
    | torch.round(values / scale) => torch.round(values / scale).int()
    | .clamp(lowest, highest) =>
    {value} lies beyond the range and got the code {code}. Clamp to {lowest} … {highest} before the
    codes become int8, which wraps around.
codes from 0 on, the zero point not
    | .to(torch.int8) => .int() - lowest
    {first} All codes count from 0 on, the zero point does not: subtract 2^(bits−1).
zero point not added
    | + zero_point =>
    {first} These are steps from the value 0: add the zero point, {right_zero}.
zero point subtracted
    | + zero_point => - zero_point
    {first} The zero point was subtracted: values are scale · (code − zero_point).
lowest code left out
    | clamp(lowest, => clamp(lowest + 1,
    {first} The code {lowest} is in use too: it is left out on a symmetric grid alone.
clamped to the given range
    | low, high = => values, low, high = values.clamp(low, high),
    {first} Values between the range and 0 have codes too: clamp codes.
times the scale
    | values / scale => values * scale
    {first} You multiplied by the scale: a value is so many steps, value / scale.
values instead of codes
    | .to(torch.int8) => .to(torch.int8).sub(zero_point) * scale
    you gave the values that the codes stand for: give the codes themselves.
another order
    | codes, scale, zero_point => scale, zero_point, codes
    the order is another: `codes, scale, zero_point` was asked for.
codes of another type
    | .to(torch.int8) =>
    ! other_type
a float for a zero point
    | lowest - round(low / scale) => float(lowest - round(low / scale))
    ! float_zero
the values written into
    | torch.round(values / scale) + zero_point => values.div_(scale).round_().add_(zero_point)
    ! in_place
"""

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
    wrong=wrong_answers(
        "11.1",
        WRONG,
        plain,
        other_type,
        neighbour="0 lies at {exact}, and the zero point is {zero}, next to the right one: the "
        "fraction was cut off, as `int` and `floor` do, and not rounded. Take the nearest whole "
        "number, `round`.",
        cut="{first} Turning to whole numbers cuts off what comes after the point: `round` first.",
        sign="the zero point is {zero}: there the way from the low end to 0 is counted with the "
        "wrong sign. The low end, {low}, has the code {lowest}, and 0 lies {away} steps above it.",
        magnitude="the scale is {scale}: it comes from the largest magnitude, as on a grid that "
        "reaches as far below 0 as above. Here it is the width, {low} to {high}, by {steps}.",
        float_zero=FLOAT_ZERO,
        in_place=IN_PLACE,
    ),
    ranked=False,
)
