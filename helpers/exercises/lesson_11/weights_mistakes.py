"""The mistakes of exercise 11.2, by the shapes, then the scales, then the codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.compare import describe, is_array
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11.figures import Array, alike, kind, rows_of, said
from helpers.exercises.spec import Case, Mistake, Observation


def parts(seen: Observation) -> tuple[Any, Any]:
    """Codes and scales; None, None where the answer is no pair."""
    items = rows_of(returned(seen.values[0]), 2)
    return (None, None) if items is None else (items[0], items[1])


def close_to(scale: Array, want: Array) -> Array:
    """Which scales are the same but for single precision, and a little more."""
    with np.errstate(all="ignore"):
        return np.abs(scale - want) <= 1e-4 * np.abs(want)


def same(scale: Array, want: Array, full: Array) -> bool:
    """Whether the scales of all channels are these, leaving out channels of zeros."""
    return bool(close_to(scale, want)[full].all())


def no_pair(case: Case, seen: Observation) -> str | None:
    """Something else than codes and scales in this order."""
    codes, scale = parts(seen)
    if not is_array(codes) or not is_array(scale):
        said_of = describe(returned(seen.values[0]))
        return f"{case.name}, `quantize_weight` gave {said_of}: return two tensors, `codes, scale`."
    shape = case.facts["codes"].shape
    if codes.shape != shape and scale.shape == shape:
        return f"{case.name}, the order is another: `codes, scale` was asked for."
    return None


def for_convolutions_alone(case: Case, seen: Observation) -> str | None:
    """Dimensions that a linear layer's weight has not."""
    if seen.kind != "IndexError" or "Dimension out of range" not in seen.text:
        return None
    return (
        f"{case.name}, a dimension was asked for that this weight has not: a linear layer's has "
        "two. `weight.flatten(1)` has one row for each channel, whatever comes behind."
    )


def one_for_all(case: Case, seen: Observation) -> str | None:
    """All channels share a scale."""
    codes, scale = parts(seen)
    facts, out = case.facts, len(case.facts["scale"])
    if type(scale) is float and is_array(codes):
        scale = np.asarray(scale)
    if out == 1 or scale.dtype.kind not in "fiu":
        return None
    full = facts["full"]
    shared = scale.shape == (out,) and any(
        same(scale, other, full) for other in facts["other scales"]["one for all"]
    )
    if scale.size != 1 and not shared:
        return None
    least = float(facts["scale"][full].min())
    return (
        f"{case.name}, there is one scale for all, {said(float(scale.flat[0]))}. The smallest "
        f"channel has weights up to {said(least * (2 ** (facts['bits'] - 1) - 1))} only and would "
        f"need steps of {said(least)}: take a largest magnitude for each of the {out} channels."
    )


def kept_dimensions(case: Case, seen: Observation) -> str | None:
    """(out, 1, 1, 1)."""
    scale, out = parts(seen)[1], len(case.facts["scale"])
    if scale.ndim < 2 or scale.shape[0] != out or scale.size != out:
        return None
    return (
        f"{case.name}, the scales have the shape {scale.shape}: they kept their dimensions, which "
        f"helps to divide the weight by them. Give them back as ({out},), by `flatten()`."
    )


def some_dimensions(case: Case, seen: Observation) -> str | None:
    """A convolution's weight reduced over one dimension, or over the kernel alone."""
    codes, scale = parts(seen)
    shape = case.facts["codes"].shape
    if len(shape) < 4 or scale.size <= shape[0]:
        return None
    left = tuple(size for size in scale.shape if size != 1)
    by_channel = scale.shape[0] == shape[0] and len(left) > 1
    in_a_row = scale.ndim == 1 and scale.size in (shape[0] * shape[1], codes.size // shape[1])
    if not by_channel and not in_a_row:
        return None
    return (
        f"{case.name}, the scales have the shape {scale.shape}: a channel of a convolution is "
        f"{' × '.join(map(str, shape[1:]))} weights, and has one scale. Take the largest over all "
        "dimensions but the first."
    )


def other_dimension(case: Case, seen: Observation) -> str | None:
    """Scales for the inputs and not for the outputs."""
    scale, facts = parts(seen)[1], case.facts
    shape, out = facts["codes"].shape, len(facts["scale"])
    if scale.shape == (out,):
        others = facts["other scales"]["other dimension"]
        if not any(same(scale, other, facts["full"]) for other in others):
            return None
    elif scale.ndim == 0 or scale.shape[0] == out or not set(scale.shape) <= {1, *shape[1:]}:
        return None
    return (
        f"{case.name}, the scales have the shape {scale.shape}, one for each input. Channels lie "
        f"along dimension 0, of which there are {out}: take the largest over the others."
    )


def other_shape(case: Case, seen: Observation) -> str | None:
    """Codes, or scales, of a shape that nothing explains."""
    codes, scale = parts(seen)
    shape, out = case.facts["codes"].shape, len(case.facts["scale"])
    if scale.shape != (out,):
        return f"{case.name}, the scales have the shape {scale.shape}; it should be ({out},)."
    if codes.shape != shape:
        return f"{case.name}, the codes have the shape {codes.shape}; the weight has {shape}."
    return None


def _scale(name: str, words: str, title: str) -> Mistake:
    """Scales by another rule."""

    def look(case: Case, seen: Observation) -> str | None:
        scale, facts = parts(seen)[1], case.facts
        if not is_array(scale, facts["scale"].shape):
            return None
        known, full = facts["other scales"][name], facts["full"]
        found = next((other for other in known if same(scale, other, full)), None)
        if found is None:
            return None
        at = int(np.argmax(full & ~close_to(scale, facts["scale"])))
        highest, weight = 2 ** (facts["bits"] - 1) - 1, facts["weight"][at]
        told = words.format(
            at=at,
            highest=highest,
            one_more=highest + 1,
            bits=facts["bits"],
            want=said(float(facts["scale"][at])),
            top=said(float(weight.max())),
            largest=said(float(np.abs(weight).max())),
            bottom=said(float(weight.min())),
        )
        return f"{case.name}, channel {at} has the scale {said(float(scale[at]))}: {told}"

    return Mistake(title, look)


OF_SCALE = (
    _scale(
        "without abs",
        "it comes from the largest value and not from the largest magnitude. Its weights go from "
        "{bottom} to {top}, and {bottom} has no code then: take `abs()` first.",
        "maximum without abs",
    ),
    _scale(
        "one code too many",
        "that is its largest magnitude by {one_more}, so that {largest} would need the code "
        "{one_more}, and the highest is {highest}. Divide by that.",
        "divides by 2^(bits−1)",
    ),
    _scale(
        "half a code",
        "that is twice the magnitude by all steps of {bits} bits, which reach further below 0 than "
        "above. A grid around 0 ends at −{highest} and {highest}: divide by {highest}.",
        "half a code too many",
    ),
    _scale(
        "all codes",
        "its magnitude was divided by all codes of {bits} bits, but they lie on both sides of 0, "
        "{highest} on each: such a scale reaches only half as far as the weights. Divide by "
        "{highest}.",
        "all codes on one side",
    ),
    _scale(
        "8 bits",
        "it was divided by 127 whatever the bits are. With {bits} bits the highest code is "
        "2^(bits−1) − 1 = {highest}.",
        "always 8 bits",
    ),
    _scale(
        "from end to end",
        "that is the way from the smallest to the largest weight by all steps, which a grid with a "
        "zero point has. Around 0 it is the largest magnitude, {largest}, by {highest}.",
        "from the smallest to the largest",
    ),
    _scale(
        "upside down",
        "that is how many steps a unit has. The scale is how much a step is worth, the largest "
        "magnitude by {highest}, {want}.",
        "the scale upside down",
    ),
)


def _right_scales(case: Case, seen: Observation) -> bool:
    codes, scale = parts(seen)
    facts = case.facts
    if not is_array(codes, facts["codes"].shape) or not is_array(scale, facts["scale"].shape):
        return False
    return scale.dtype.kind in "fiu" and same(scale, facts["scale"], facts["full"])


def empty_channel(case: Case, seen: Observation) -> str | None:
    """A channel of zeros whose scale, or codes, make no sense."""
    if not _right_scales(case, seen):
        return None
    codes, scale = parts(seen)
    for at in np.flatnonzero(~case.facts["full"]):
        figure = float(scale[at])
        if not np.isfinite(figure) or figure <= 0:
            return (
                f"{case.name}, channel {at} holds nothing but zeros and has the scale "
                f"{said(figure)}: a weight by it is 0/0, not a number. Give such a channel a scale "
                "above 0, 1 for one; its codes are 0."
            )
        if (codes[at] != 0).any():
            return (
                f"{case.name}, channel {at} holds nothing but zeros; the code of 0 is 0, not "
                f"{said(float(codes[at].flat[0]))}."
            )
    return None


def weights_back(case: Case, seen: Observation) -> str | None:
    """What the codes stand for, instead of the codes."""
    if not _right_scales(case, seen):
        return None
    codes = parts(seen)[0]
    beside = case.facts["scale"].reshape(-1, *[1] * (codes.ndim - 1))
    if not np.allclose(codes, case.facts["codes"] * beside, atol=1e-6, rtol=1e-4):
        return None
    return (
        f"{case.name}, you gave the weights that the codes stand for, code · scale, and not the "
        "codes themselves."
    )


def first_wrong(case: Case, codes: Any) -> str | None:
    """The first weight with another code than the nearest one."""
    facts = case.facts
    if alike(codes, facts["codes"]):
        return None
    at = tuple(int(i) for i in np.argwhere(codes != facts["codes"])[0])
    got, want = float(codes[at]), int(facts["codes"][at])
    weight, scale = float(facts["weight"][at]), float(facts["scale"][at[0]])
    return (
        f"{case.name}, the weight {said(weight)} of channel {at[0]} got the code {said(got)}. It "
        f"is {said(weight / (scale or 1))} steps from 0, so that {said(want)} is nearest."
    )


def _codes(name: str, words: str, title: str) -> Mistake:
    """Codes by another rule."""

    def look(case: Case, seen: Observation) -> str | None:
        codes, facts = parts(seen)[0], case.facts
        if not _right_scales(case, seen) or alike(codes, facts["codes"]):
            return None
        # A whole number of steps may come out as a little less.
        open_ = facts["whole"] & (np.abs(codes - facts["codes"].astype(float)) <= 1)
        if not any((open_ | (codes == other)).all() for other in facts["other codes"][name]):
            return None
        return f"{first_wrong(case, codes)} {words}"

    return Mistake(title, look)


OF_CODES = (
    _codes(
        "cut",
        "Turning to int8 cuts off what comes after the point: `round` first.",
        "codes cut",
    ),
    _codes(
        "from 0 on",
        "All codes are moved up to be above 0; on a grid around 0 the zero point is 0, and codes "
        "have a sign.",
        "codes from 0 on",
    ),
    _codes("downwards", "Take `round`, where `floor` goes down always.", "codes rounded down"),
)


def other_type(case: Case, seen: Observation) -> str | None:
    """The right codes, not held as int8."""
    codes = parts(seen)[0]
    if not _right_scales(case, seen) or codes.dtype == np.int8:
        return None
    if not alike(codes, case.facts["codes"]):
        return None
    return (
        f"{case.name}, the codes are right and stand there as {kind(codes)}, {codes.itemsize} B "
        "each, where one is enough: `.to(torch.int8)`."
    )


def written(case: Case, seen: Observation) -> str | None:
    """The argument was changed."""
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, `quantize_weight` wrote into `weight`, which the model still computes with. "
        "Functions whose names end in `_`, and `out=`, change their tensor."
    )
