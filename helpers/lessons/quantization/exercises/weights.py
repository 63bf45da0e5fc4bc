"""Exercise 11.2, a weight with one scale for each of its channels.

`quantize_weight(weight, bits=8) -> (codes, scale)`: channels lie along dimension 0, of a linear
layer's weight (out, in) and of a convolution's (out, in, kh, kw). A channel's scale is its largest
magnitude over 2^(bits−1) − 1, and the codes lie around 0. The claim: scales (out,) are these and
every weight has the nearest code, as int8; a channel of zeros has the codes 0 and a scale that is
finite and above 0. Source: Jacob et al. (2018), 2.1; Krishnamoorthi (2018), 3.1.2, for channels.
What makes this file long are 24 wrong answers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.common import fails_with
from helpers.checks.compare import describe, is_array
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.quantization.exercises.figures import (
    Claim,
    Found,
    other_type,
    parts,
    said,
    single,
    what,
)

_TINY = 2e-6  # with 8 bits, the scale is below what float32 tells from 1


def cases(seed: int) -> list[Case]:
    """A linear layer's weight, one with an empty channel, convolutions, 8 and 4 bits.

    The last leaves the bits to their default. Channels differ in size up to twenty times, those of
    odd number have their largest magnitude below 0, and no weight is half-way between two codes.
    The third has one that is tiny and not empty.
    """
    random = rng(seed, "11.2")
    settings: list[tuple[tuple[int, ...], int, int | None]] = [
        ((6, 10), 8, None),
        ((5, 8), 4, 2),
        ((4, 3, 3, 3), 8, None),
        ((5, 1, 3, 3), 4, None),
        ((1, 7), 8, None),
    ]
    if seed:
        more = [int(n) for n in random.integers(0, 4, 6)]
        settings = [
            ((5 + more[0], 9 + more[1]), 8, None),
            ((5 + more[2], 9 + more[3]), 4, 1 + more[2]),
            ((4 + more[4], 3, 2, 3), 8, 1),
            ((6 + more[5], 1, 3, 3), 6, None),
            ((8, 8), 8, None),
        ]
    made = []
    for at, (shape, bits, empty) in enumerate(settings):
        highest, (out, *inner) = 2 ** (bits - 1) - 1, shape
        # Codes of a bell's shape, moved by up to 0.4 steps, one of each channel at its end.
        steps = np.round(random.normal(0, highest / 3, (out, int(np.prod(inner)))))
        steps = np.clip(steps, 1 - highest, highest - 1)
        moved = np.resize(np.linspace(-0.4, 0.4, 9), steps.shape)
        steps += moved * random.choice([-1, 1], steps.shape)
        ends = random.integers(0, steps.shape[1], out)
        steps[np.arange(out), ends] = highest * (-1.0) ** np.arange(out)
        largest = 10 ** random.permutation(np.linspace(-1.3, 0, out))
        if empty is not None:
            largest[empty] = 0
        if at == 2:
            largest[-1] = _TINY
        weight = (steps * (largest / highest)[:, None]).reshape(shape)
        weight = (weight + 0.0).astype(np.float32)  # + 0: no −0
        args: tuple[Any, ...] = (weight,) if at == 4 else (weight, bits)
        made.append(Case(f"With a weight of shape {shape} and {bits} bits", (args,)))
    return made


class Exact:
    """A case in doubles: the weight, which channels are no zeros, the right scales, the weight in
    steps of these, and the right codes."""

    def __init__(self, case: Case) -> None:
        weight, *bits = case.args[0]
        self.bits = bits[0] if bits else 8
        self.highest = 2 ** (self.bits - 1) - 1
        self.weight: np.ndarray = weight.astype(np.float64)
        self.largest: np.ndarray = np.abs(self.weight.reshape(len(weight), -1)).max(1)
        self.full: np.ndarray = self.largest > 0
        self.scale: np.ndarray = self.largest / self.highest
        step = np.where(self.full, self.scale, 1.0)
        self.steps: np.ndarray = self.weight / step.reshape(-1, *[1] * (weight.ndim - 1))
        self.codes: np.ndarray = np.round(self.steps) + 0.0  # no −0

    def off(self, scale: np.ndarray) -> np.ndarray:
        """Which channels have another scale, but for single precision; one of zeros has none."""
        with np.errstate(all="ignore"):
            return ~(np.abs(scale - self.scale) <= 1e-4 * self.scale) & self.full


@Claim
def claim(case: Case, seen: Observation) -> Iterator[Found]:
    """One scale a channel, the nearest codes, and nothing odd for a channel of zeros."""
    n, (codes, scale) = Exact(case), parts(seen, 2)
    if not is_array(codes, n.codes.shape) or not is_array(scale, n.scale.shape):
        out = returned(seen.values[0])
        yield (
            f"`quantize_weight` gave {describe(out)}: return two tensors, codes of the weight's "
            "shape and a scale for each channel.",
            what(out),
        )
    told = numbers(case, seen)
    if n.off(scale).any():
        words = f"{told['scale']}; it should be {told['right']}."
        if n.largest[told["at"]] < 2 * _TINY:
            words = (
                f"{told['scale']}, where {told['right']} was asked for: its weights reach "
                f"{told['largest']}, which is small and not 0. Only a channel of zeros needs "
                "another scale; set no least one, and add nothing to all of them."
            )
        yield words, single(scale[n.full])
    for at in np.flatnonzero(~n.full):
        zeros, figure = f"channel {at} holds nothing but zeros", float(scale[at])
        if not np.isfinite(figure) or figure <= 0:
            why = "" if figure else ", and a weight by it is 0/0, not a number"
            yield (
                f"{zeros} and has the scale {said(figure)}{why}. Give such a channel a finite "
                "scale above 0, 1 for one; its codes are 0.",
                "zeros",
            )
        if (codes[at] != 0).any():
            code = said(float(codes[at].flat[0]))
            yield f"{zeros}; the code of 0 is 0, not {code}.", "zeros"
    if (codes != n.codes).any():
        # A whole number of steps may come out as a little less, and be cut to one less.
        whole = np.abs(n.steps - n.codes) < 1e-3
        yield told["first"], codes[~whole].astype(float)
    if codes.dtype != np.int8:
        yield other_type(codes)
    if changed(seen.values[0]) is not None:
        yield (
            "`quantize_weight` wrote into `weight`, which the model still computes with. Functions "
            "whose names end in `_`, and `out=`, change their tensor."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: shapes, the first channel with a wrong scale, the first wrong code."""
    n, (codes, scale) = Exact(case), parts(seen, 2)
    least = float(n.scale[n.full].min())
    told = {
        "bits": n.bits,
        "highest": n.highest,
        "one_more": n.highest + 1,
        "out": len(n.scale),
        "channel_shape": " × ".join(map(str, n.weight.shape[1:])),
        "least": said(least),
        "least_top": said(least * n.highest),
        "shape": np.shape(scale),
        "one_scale": said(float(np.ravel(scale)[0])) if np.size(scale) else "",
    }
    if is_array(scale, n.scale.shape):
        at = int(np.argmax(n.off(scale)))
        told |= {
            "at": at,
            "scale": f"channel {at} has the scale {said(float(scale[at]))}",
            "right": said(float(n.scale[at])),
            "top": said(float(n.weight[at].max())),
            "bottom": said(float(n.weight[at].min())),
            "largest": said(float(n.largest[at])),
        }
    if is_array(codes, n.codes.shape) and (codes != n.codes).any():
        place = tuple(np.argwhere(codes != n.codes)[0])
        weight, code, steps, nearest = (
            said(float(each[place])) for each in (n.weight, codes, n.steps, n.codes)
        )
        told["first"] = (
            f"the weight {weight} of channel {place[0]} got the code {code}. It is {steps} steps "
            f"from 0, so that {nearest} is nearest."
        )
    return told


_no_such_dimension = fails_with(
    "Dimension out of range",
    "a dimension was asked for that this weight has not: a linear layer's has two. "
    "`weight.flatten(1)` has one row for each channel, whatever comes behind.",
    kind="IndexError",
)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    n = Exact(cases[0])
    least, most, worst = float(n.scale.min()), float(n.scale.max()), int(np.argmin(n.scale))
    weight = n.weight[worst]
    kept, left = (len(np.unique(np.round(weight / scale))) for scale in (least, most))
    return (
        f"Passed: the scales go from {said(least)} to {said(most)}. Channel {worst} has {kept} "
        f"different codes of {weight.size}; with one scale for all, {left}."
    )


def reference(weight: Any, bits: int = 8) -> Any:
    """The course's own."""
    import torch

    scale = weight.abs().flatten(1).amax(1) / (2 ** (bits - 1) - 1)
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    codes = torch.round(weight / scale.view(-1, *[1] * (weight.dim() - 1)))
    return codes.to(torch.int8), scale


WRONG = """
for convolutions alone
    | flatten(1).amax(1) => amax((1, 2, 3))
    ? layer's has two
one scale for all
    | flatten(1).amax(1) => max().repeat(len(weight))
    there is one scale for all, {one_scale}. The smallest channel has weights up to {least_top} only
    and would need steps of {least}: take a largest magnitude for each channel.
one scale alone
    | flatten(1).amax(1) => max().view(1)
    ! one scale for all
one scale as a number
    | flatten(1).amax(1) => max().view(1)
    | int8), scale => int8), float(scale) if len(weight) > 1 else scale
    ! one scale for all
maximum without abs
    | .abs() =>
    | scale > 0 => scale != 0
    {scale}: it comes from the largest value and not from the largest magnitude. Its weights go from
    {bottom} to {top}: take `abs()` first.
divides by 2^(bits−1)
    | (2 ** (bits - 1) - 1) => 2 ** (bits - 1)
    {scale}: that is its largest magnitude by {one_more}, so that {largest} would need the code
    {one_more}, and the highest is {highest}. Divide by that.
half a code too many
    | (2 ** (bits - 1) - 1) => (2**bits - 1) * 2
    {scale}: that is twice the magnitude by all steps of {bits} bits, which reach further below 0
    than above. A grid around 0 ends at {highest}: divide by it.
all codes on one side
    | (2 ** (bits - 1) - 1) => (2**bits - 1)
    {scale}: its magnitude was divided by all codes of {bits} bits, but they lie on both sides of 0,
    {highest} on each: such a scale reaches only half as far as the weights. Divide by {highest}.
all codes on one side, and one more
    | (2 ** (bits - 1) - 1) => 2**bits
    {scale}: its magnitude was divided by all codes of {bits} bits, but they lie on both sides of 0,
    {highest} on each: such a scale reaches only half as far as the weights. Divide by {highest}.
always 8 bits
    | (2 ** (bits - 1) - 1) => 127
    {scale}: it was divided by 127 whatever the bits are. With {bits} bits the highest code is
    2^(bits−1) − 1 = {highest}.
smallest to largest
    | weight.abs().flatten(1).amax(1) => (weight.flatten(1).amax(1) - weight.flatten(1).amin(1))
    | (2 ** (bits - 1) - 1) => (2**bits - 1)
    {scale}: that is the way from the smallest to the largest weight by all steps. Around 0 it is
    the largest magnitude, {largest}, by {highest}.
the scale upside down
    | = weight.abs().flatten(1).amax(1) / => = 1 / weight.abs().flatten(1).amax(1) *
    {scale}: that is how many steps a unit has. The scale is how much a step is worth, the largest
    magnitude by {highest}, {right}.
along another dimension
    | flatten(1) => transpose(0, 1).flatten(1)
    | view(-1, *[1] * (weight.dim() - 1)) => view(1, -1, *[1] * (weight.dim() - 2))
    the scales have the shape {shape}, one for each input. Channels lie along dimension 0, of which
    there are {out}: take the largest over the others.
scales with kept dimensions
    | int8), scale => int8), scale.view(-1, *[1] * (weight.dim() - 1))
    the scales have the shape {shape}: they kept their dimensions, which helps to divide the weight
    by them. Give them back as ({out},), by `flatten()`.
largest over the inputs only
    | .flatten(1) =>
    | scale.view(-1, *[1] * (weight.dim() - 1)) => scale.unsqueeze(1)
    the scales have the shape {shape}: a channel of a convolution is {channel_shape} weights, and
    has one scale. Take the largest over all dimensions but the first.
largest over the kernel only
    | flatten(1).amax(1) => amax(tuple(range(weight.dim() // 2, weight.dim())))
    | view(-1, *[1] * (weight.dim() - 1)) => view(*scale.shape, *[1] * (weight.dim() - scale.dim()))
    ! largest over the inputs only
another order
    | codes.to(torch.int8), scale => scale, codes.to(torch.int8)
    the order is another: `codes, scale` was asked for.
a channel of zeros
    | torch.where(scale > 0, scale, torch.ones_like(scale)) => scale
    ! claim
weights instead of codes
    | codes.to(torch.int8) => codes * scale.view(-1, *[1] * (weight.dim() - 1))
    you gave what the codes stand for, code · scale, and not the codes themselves.
codes cut
    | torch.round => torch.trunc
    {first} Turning to int8 cuts off what comes after the point: `round` first.
codes rounded down
    | torch.round => torch.floor
    {first} Take `round`, where `floor` goes down always.
codes from 0 on
    | codes.to(torch.int8) => codes.int() + 2 ** (bits - 1) - 1
    {first} All codes are moved up, above 0; on a grid around 0 the zero point is 0.
a least scale
    | torch.where(scale > 0, scale, torch.ones_like(scale)) => scale.clamp(min=1.2e-7)
    ! claim
codes of another type
    | .to(torch.int8) =>
    ! claim
the weight written into
    | codes = => codes = weight[:] =
    ! claim
"""

EXERCISE = Exercise(
    number="11.2",
    title="A scale for each channel",
    size=Size(stars=2, minutes=10, points=3),
    function="quantize_weight",
    asks=(
        "codes (int8, the weight's shape) and one scale for each channel along dimension 0: its "
        "largest magnitude / (2^(bits−1) − 1). Of a channel of zeros: codes 0, a scale above 0."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(Mistake("for convolutions alone", _no_such_dimension, unfinished=True),),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=claim.compared,
    wrong=wrong_answers("11.2", WRONG, reference, claim),
    ranked=False,
)
