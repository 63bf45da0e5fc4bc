"""Exercise 11.1, codes for a range of values.

`quantize(values, low, high, bits=8) -> (codes, scale, zero_point)`: the range is widened to hold 0,
scale = (high − low)/(2^bits − 1), the zero point is the whole number that stands for 0, and a code
q for scale · (q − zero_point). The claim: scale and zero point are these, and each value has the
nearest of the codes −2^(bits−1) to 2^(bits−1) − 1, held as int8. Source: Jacob et al. (2018), 2.1.
What makes this file long are 34 wrong answers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.checks.compare import describe, is_array, number
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.quantization.algorithms.quantization import quantize as reference
from helpers.lessons.quantization.exercises.figures import (
    Claim,
    Found,
    other_type,
    parts,
    said,
    single,
    what,
)

_WHERE = ("both", "above", "below", "both", "both")  # a range lies, seen from 0
_BITS = (8, 8, 6, 4, 2, 8)


class Grid:
    """What is right for a range: ends with 0 between them, the step, the codes of 0 and the ends.

    codes: the nearest ones of some values.
    """

    def __init__(self, low: float, high: float, bits: int = 8) -> None:
        self.low, self.high, self.bits = min(low, 0.0), max(high, 0.0), bits
        self.lowest, self.highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        self.scale = (self.high - self.low) / (2**bits - 1)
        self.zero = self.lowest - round(self.low / self.scale)

    def codes(self, values: np.ndarray) -> np.ndarray:
        steps = np.round(values.astype(np.float64) / self.scale)
        return np.clip(steps + self.zero, self.lowest, self.highest)


def cases(seed: int) -> list[Case]:
    """Seed 0: −10 to 30, ranges above and below 0, 4 and 2 bits, a single value; else others.

    Every case has ten values in the range, its ends, 0, one far beyond either end, and no value
    half-way between two codes. One case leaves the bits to their default.
    """
    random = rng(seed, "11.1")
    ranges = [(-10.0, 30.0), (3.0, 11.0), (-9.5, -2.0), (-0.8, 2.1), (-1.0, 1.7)]
    if seed:
        pairs = zip(_WHERE, _BITS, strict=False)
        ranges = [_drawn(random, where, bits, n == 0) for n, (where, bits) in enumerate(pairs)]
    ranges.append((ranges[1][1],) * 2)  # of one value, to be widened
    made = []
    for at, ((low, high), bits) in enumerate(zip(ranges, _BITS, strict=True)):
        grid = Grid(low, high, bits)
        inside: list[float] = []
        for part in random.permutation(np.linspace(-0.46, 0.44, 10)):
            value = np.inf
            while not grid.low < value < grid.high:
                code = int(random.integers(grid.lowest, grid.highest + 1))
                value = grid.scale * (code - grid.zero + part)
            inside.append(float(value))
        below, above = random.uniform(0.2, 0.6, 2) * (grid.high - grid.low)
        drawn = [*inside, low, high, 0.0, grid.low - below, grid.high + above]
        values = random.permutation(drawn).astype(np.float32).reshape((3, 5) if at == 0 else 15)
        name = f"With the range {said(low)} to {said(high)} and {bits} bits"
        args: tuple[Any, ...] = (values, low, high) + ((bits,) if at != 1 else ())
        made.append(Case(name, (args,)))
    return made


def _drawn(random: np.random.Generator, where: str, bits: int, first: bool) -> tuple[float, float]:
    """A range whose zero point is no close call; the first one's is not its whole part either."""
    while True:
        below, above = (round(float(random.uniform(1.5, 25.0)), 1) for _ in range(2))
        far = round(below + above, 1)
        ends = {"both": (-below, above), "above": (below, far), "below": (-far, -below)}
        low, high = ends[where]
        scale = Grid(low, high, bits).scale
        if any(abs(end / scale % 1 - 0.5) < 0.1 for end in (low, high)):
            continue
        part = -low / scale % 1
        telling = 0.6 < part < 0.8 if first else part > 0.1
        if where != "both" or (telling and max(below, above) > 1.5 * min(below, above)):
            return low, high


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the grid as it should be, what was given, and the first wrong code."""
    values, *given = case.args[0]
    grid, (codes, scale, zero) = Grid(*given), parts(seen, 3)
    told = {
        "low": said(grid.low),
        "high": said(grid.high),
        "bits": grid.bits,
        "codes": 2**grid.bits,
        "steps": 2**grid.bits - 1,
        "lowest": said(grid.lowest),
        "highest": grid.highest,
        "away": said(round(-grid.low / grid.scale)),
        "exact": said(grid.lowest - grid.low / grid.scale),
        "right_zero": said(grid.zero),
        "scale": f"the scale is {said(number(scale) or 0)}",
        "zero": said(number(zero) or 0),
    }
    right = grid.codes(values)
    if is_array(codes, right.shape):
        at = int(np.argmax((codes != right).ravel()))
        value, code, nearest = (float(each.ravel()[at]) for each in (values, codes, right))
        stands, better = (said(grid.scale * (one - grid.zero)) for one in (code, nearest))
        told["value"], told["code"] = said(value), said(code)
        told["first"] = (
            f"{said(value)} got the code {said(code)}, which stands for {stands}; the code "
            f"{said(nearest)} stands for {better}, which is nearest."
        )
    return told


@Claim
def claim(case: Case, seen: Observation) -> Iterator[Found]:
    """The scale, the zero point, and the nearest code of every value."""
    values, *given = case.args[0]
    grid, (codes, scale, zero) = Grid(*given), parts(seen, 3)
    right, told = grid.codes(values), numbers(case, seen)
    if not is_array(codes, right.shape) or number(scale) is None or number(zero) is None:
        out = returned(seen.values[0])
        yield (
            f"`quantize` gave {describe(out)}: three things were asked for, codes of the shape of "
            "the values, and two numbers, the scale and the zero point.",
            what(out),
        )
    if not abs(scale - grid.scale) <= 1e-4 * grid.scale:
        yield f"{told['scale']}; it should be {said(grid.scale)}.", single(scale)
    if zero != grid.zero:
        # Another sign may give the zero point that codes from 0 on have: only the codes tell.
        steps = codes.astype(float) % 256
        from_0 = (codes >= 0).all() or np.array_equal(steps, right - grid.lowest)
        words = f"the zero point is {told['zero']}; it should be {told['right_zero']}."
        yield words, (single(zero), bool(from_0))
    if (codes != right).any():
        # As they are in int8, where that wraps around.
        yield told["first"], codes.astype(float) % 256
    if codes.dtype != np.int8:
        yield other_type(codes)
    if np.asarray(zero).dtype.kind not in "iu":
        yield (
            f"the zero point is the float {told['zero']}. It is a code, and whole: in 11.3 sums "
            "of codes are taken times it, and a float makes floats of them. Python's own `round` "
            "gives an int."
        )
    if changed(seen.values[0]) is not None:
        yield (
            "`quantize` wrote into `values`: whoever called it may need them still. Functions "
            "whose names end in `_`, and `out=`, change their tensor."
        )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    values, low, high, _ = cases[0].args[0]
    codes, scale, zero = parts(seen[0], 3)
    values = values.astype(float)
    inside = (values >= low) & (values <= high)
    off = np.abs((codes.astype(float) - zero) * scale - values)[inside].max()
    return (
        f"Passed: from {said(low)} to {said(high)}, 8 bits have steps of {said(scale)}, and 0 has "
        f"the code {said(zero)}. No value within was off by more than {off / scale:.2f} steps."
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
    0 lies at {exact}, and the zero point is {zero}, next to the right one: the fraction was cut
    off, as `int` and `floor` do, and not rounded. Take the nearest whole number, `round`.
zero point cut towards 0
    | lowest - round(low / scale) => int(lowest - low / scale)
    ! zero point cut
range not widened
    | min(low, 0.0), max(high, 0.0) => low, high
    {scale}: it covers the range as it is given, in which 0 has no code. First widen the range so
    that it holds 0: {low} to {high}.
by the number of codes
    | (2**bits - 1) => 2**bits
    {scale}: that is the width by {codes}. There are {codes} codes, and they have one step fewer
    between them: divide by {steps}.
codes cut
    | torch.round(values / scale) => values / scale
    {first} Turning to whole numbers cuts off what comes after the point: `round` first.
steps cut
    | torch.round(values / scale) => (values / scale).int()
    ! codes cut
codes rounded down
    | torch.round => torch.floor
    ! codes cut
sign of the zero point
    | - round => + round
    the zero point is {zero}: there the way from the low end to 0 is counted with the wrong sign.
    The low end, {low}, has the code {lowest}, and 0 lies {away} steps above it.
zero point negated
    | lowest - round => -lowest + round
    ! sign of the zero point
symmetric scale
    | (high - low) / (2**bits - 1) => max(-low, high) / highest
    {scale}: it comes from the largest magnitude, as on a grid that reaches as far below 0 as above.
    Here it is the width, {low} to {high}, by {steps}.
a range as far below 0 as above
    | (high - low) => 2 * max(-low, high)
    ! symmetric scale
half of the codes
    | (2**bits - 1) => highest
    {scale}: that is the width by the codes on one side of 0. The range has all {codes} codes, with
    {steps} steps between them.
the scale upside down
    | (high - low) / (2**bits - 1) => (2**bits - 1) / (high - low)
    {scale}: so many steps has a unit. A step is the width by {steps}.
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
    {scale}: it comes from the values' own smallest and largest. The range is given, `low` to
    `high`; what lies beyond it gets the first or the last code.
counts from the low end
    | values / scale) + zero_point => (values - low) / scale) + lowest
    {first} You counted from the low end, which has no code of its own once the zero point is
    rounded: count the steps from 0, value / scale, and add the zero point.
always 8 bits
    | (2**bits - 1) => 255
    {scale}: these are the steps of 8 bits; {bits} bits have {steps}.
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
scale and zero point in another order
    | codes, scale, zero_point => codes, zero_point, scale
    ! another order
codes of another type
    | .to(torch.int8) =>
    ! claim
a float for a zero point
    | lowest - round(low / scale) => float(lowest - round(low / scale))
    ! claim
the values written into
    | torch.round(values / scale) + zero_point => values.div_(scale).round_().add_(zero_point)
    ! claim
"""

EXERCISE = Exercise(
    number="11.1",
    title="Codes for a range",
    size=Size(stars=2, minutes=12, points=3),
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
    compared=claim.compared,
    wrong=wrong_answers("11.1", WRONG, plain, claim),
    ranked=False,
)
