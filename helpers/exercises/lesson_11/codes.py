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

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_11 import codes_grid as grid
from helpers.exercises.lesson_11 import codes_mistakes as look
from helpers.exercises.lesson_11 import codes_wrong as wrong
from helpers.exercises.lesson_11.figures import Array, alike, near, said
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

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
    for number, ((low, high), bits) in enumerate(zip(ranges, _BITS, strict=True)):
        scale, zero = _grid(low, high, bits)
        values = _values(random, low, high, bits)
        if number == 0:
            values = values.reshape(3, 5)
        facts = _facts(values.astype(np.float64), low, high, bits, scale, zero)
        name = f"With the range {said(low)} to {said(high)} and {bits} bits"
        args: tuple[Any, ...] = (values, low, high) + ((bits,) if number != 1 else ())
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
    """What is right, and what answers with one thing wrong give instead."""
    steps, lowest, highest = 2**bits - 1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    ends = min(low, 0.0), max(high, 0.0)
    width, magnitude = ends[1] - ends[0], max(-ends[0], ends[1])
    own = float(values.min()), float(values.max())
    scales = {
        "one step too many": [width / 2**bits],
        "not widened": [(high - low) / steps],
        "own ends": [(max(own[1], 0) - min(own[0], 0)) / steps, (own[1] - own[0]) / steps],
        "magnitude": [magnitude / highest, magnitude / 2 ** (bits - 1), 2 * magnitude / steps],
        "8 bits": [width / 255],
        "half the steps": [width / highest, width / 2 ** (bits - 1)],
        "upside down": [steps / width],
    }
    zeros = {
        "sign": [lowest - (zero - lowest), -zero],
        "from 0 on": [zero - lowest],
        "always 0": [0],
        "lowest code": [zero + 1 if zero < highest else zero],
    }
    far = (values < ends[0]) | (values > ends[1])
    exact, want = values / scale, np.clip(np.round(values / scale) + zero, lowest, highest)
    rounded = np.round(exact)
    clamped = np.clip(rounded, lowest, highest) + zero
    codes = {
        "8-bit ends": [np.clip(rounded + zero, -128, 127)],
        "cut": [np.clip(cut, lowest, highest) for cut in _cut(exact, zero)],
        "clamped first": [(clamped + 128) % 256 - 128, np.clip(clamped, lowest, highest)],
        "from the low end": [
            np.clip(np.round((values - ends[0]) / scale) + lowest, lowest, highest)
        ],
        "no zero point": [np.clip(rounded, lowest, highest)],
        "minus": [np.clip(rounded - zero, lowest, highest)],
        "from 0 on": [want - lowest],
        "narrow": [np.clip(want, -highest, highest)],
        "times": [np.clip(np.round(values * scale) + zero, lowest, highest)],
        "own ends": [np.clip(np.round(np.clip(values, low, high) / scale) + zero, lowest, highest)],
    }
    return {
        "codes": want.astype(np.int8),
        "scale": scale,
        "zero": zero,
        "values": values,
        "ends": ends,
        "bits": bits,
        "far": far,
        "other scales": {k: [v for v in vs if not near(v, scale)] for k, vs in scales.items()},
        "other zeros": {k: [v for v in vs if v != zero] for k, vs in zeros.items()},
        "other codes": {k: [v for v in vs if not alike(v, want)] for k, vs in codes.items()},
    }


def _cut(exact: Array, zero: int) -> list[Array]:
    """Codes without rounding: what comes after the point is cut off before or after the shift."""
    return [np.trunc(exact) + zero, np.trunc(exact + zero), np.floor(exact) + zero]


def claim(case: Case, seen: Observation) -> str | None:
    """The scale, the zero point, and the nearest code of every value."""
    facts = case.facts
    codes, scale, zero = grid.parts(seen)
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
        return look.first_wrong(case, codes)
    return look.other_type(case, seen) or look.written(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    codes, scale, zero = grid.parts(seen[0])
    off = np.abs((np.asarray(codes, float) - (zero or 0)) * (scale or 0) - facts["values"])
    low, high = (said(end) for end in facts["ends"])
    return (
        f"Passed: from {low} to {high}, 8 bits have steps of {said(scale or 0)}, and 0 has the "
        f"code {said(zero or 0)}. No value within was off by more than "
        f"{off[~facts['far']].max() / facts['scale']:.2f} steps."
    )


def reference(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """The course's own."""
    import torch

    ends = min(low, 0.0), max(high, 0.0)
    lowest, steps = -(2 ** (bits - 1)), 2**bits - 1
    scale = (ends[1] - ends[0]) / steps
    zero_point = lowest - round(ends[0] / scale)
    codes = torch.round(values / scale) + zero_point
    return codes.clamp(lowest, lowest + steps).to(torch.int8), scale, zero_point


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
    mistakes=(
        Mistake("the values written into", look.written),
        Mistake("three things", grid.incomplete),
        *grid.OF_SCALE,
        Mistake("a zero point between two codes", grid.between),
        Mistake("the zero point not rounded to the nearest", grid.neighbour),
        *grid.OF_ZERO,
        *look.OF_CODES,
        Mistake("beyond the range, not clamped", look.unclamped),
        Mistake("values instead of codes", look.values_back),
        Mistake("codes of another type", look.other_type),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("zero point not rounded", wrong.between, hint="between two codes"),
        WrongAnswer("zero point cut", wrong.zero_cut, hint="next to the right one"),
        WrongAnswer("not widened", wrong.not_widened, hint="widen the range"),
        WrongAnswer("divides by 2^bits", wrong.one_step_too_many, hint="have one step fewer"),
        WrongAnswer("codes cut", wrong.cut, hint="cuts off what comes after the point"),
        WrongAnswer("not clamped", wrong.not_clamped, hint="lies beyond the range"),
        WrongAnswer("sign of the zero point", wrong.sign, hint="with the wrong sign"),
        WrongAnswer("symmetric scale", wrong.symmetric, hint="from the largest magnitude"),
        WrongAnswer("codes from 0 on", wrong.unsigned, hint="count from 0 on"),
        WrongAnswer("clamped too early", wrong.clamped_first, hint="clamped before"),
        WrongAnswer("the values' own ends", wrong.own_ends, hint="the values' own"),
        WrongAnswer(
            "counts from the low end", wrong.from_the_low_end, hint="counted from the low end"
        ),
        WrongAnswer("always 8 bits", wrong.eight_bits, hint="steps of 8 bits"),
        WrongAnswer("clamped to 8 bits", wrong.eight_bit_ends, hint="the ends of 8 bits"),
        WrongAnswer("codes as floats", wrong.floats, hint="as torch.float32"),
        WrongAnswer("clamps in place", wrong.in_place, hint="wrote into `values`"),
    ),
    ranked=False,
)
