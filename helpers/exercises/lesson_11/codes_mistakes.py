"""The mistakes of exercise 11.1 in the codes, where scale and zero point are right."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.drives_split import changed
from helpers.exercises.lesson_11.codes_grid import parts, right_scale
from helpers.exercises.lesson_11.figures import alike, kind, said
from helpers.exercises.spec import Case, Mistake, Observation


def _right_grid(case: Case, seen: Observation) -> bool:
    return right_scale(case, seen) and parts(seen)[2] == case.facts["zero"]


def first_wrong(case: Case, codes: Any) -> str:
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


def _codes(name: str, words: str, title: str) -> Mistake:
    """Codes by another rule."""

    def look(case: Case, seen: Observation) -> str | None:
        codes, facts = parts(seen)[0], case.facts
        known = facts["other codes"][name]
        if not _right_grid(case, seen) or not any(alike(codes, other) for other in known):
            return None
        ends = -(2 ** (facts["bits"] - 1)), 2 ** (facts["bits"] - 1) - 1
        told = words.format(
            zero=said(facts["zero"]),
            lowest=said(ends[0]),
            highest=ends[1],
            bits=facts["bits"],
        )
        return f"{first_wrong(case, codes)} {told}"

    return Mistake(title, look)


OF_CODES = (
    _codes(
        "8-bit ends",
        "−128 and 127 are the ends of 8 bits; with {bits} bits, codes end at {lowest} and "
        "{highest}.",
        "the ends of 8 bits",
    ),
    _codes(
        "from 0 on",
        "All your codes count from 0 on, and the zero point does not: subtract 2^(bits−1).",
        "codes from 0 on, the zero point not",
    ),
    _codes(
        "no zero point",
        "These are steps from the value 0: add the zero point, {zero}, to have codes.",
        "zero point not added",
    ),
    _codes(
        "minus",
        "The zero point was subtracted: values are scale · (code − zero_point), so it is added "
        "here.",
        "zero point subtracted",
    ),
    _codes(
        "clamped first",
        "The steps were clamped before the zero point was added: add it first, for {lowest} and "
        "{highest} are the ends of the codes.",
        "clamped too early",
    ),
    _codes(
        "cut",
        "Turning to whole numbers cuts off what comes after the point: `round` first.",
        "codes cut",
    ),
    _codes(
        "from the low end",
        "You counted from the low end, which has no code of its own once the zero point is "
        "rounded: count the steps from 0, value / scale, and add the zero point.",
        "counts from the low end",
    ),
    _codes(
        "narrow",
        "The code {lowest} is in use too: it is left out on a symmetric grid alone.",
        "lowest code left out",
    ),
    _codes(
        "own ends",
        "Values between the range and 0 have codes too, now that the range is widened: clamp codes "
        "and not values.",
        "clamped to the range as given",
    ),
    _codes(
        "times",
        "You multiplied by the scale: a value has as many steps as it has scales in it, value / "
        "scale.",
        "times the scale",
    ),
)


def unclamped(case: Case, seen: Observation) -> str | None:
    """Right within the range, and wrong beyond it."""
    codes, facts = parts(seen)[0], case.facts
    if not _right_grid(case, seen) or codes.dtype.kind == "b":
        return None
    off = codes != facts["codes"]
    if not off.any() or (off & ~facts["far"]).any():
        return None
    at = int(np.argmax(off.ravel()))
    value, got = float(facts["values"].ravel()[at]), float(codes.ravel()[at])
    ends = -(2 ** (facts["bits"] - 1)), 2 ** (facts["bits"] - 1) - 1
    return (
        f"{case.name}, {said(value)} lies beyond the range and got the code {said(got)}. Clamp to "
        f"{said(ends[0])} … {ends[1]} before the codes become int8, which wraps around."
    )


def values_back(case: Case, seen: Observation) -> str | None:
    """What the codes stand for, instead of the codes."""
    codes, facts = parts(seen)[0], case.facts
    if not _right_grid(case, seen):
        return None
    stand_for = (facts["codes"] - float(facts["zero"])) * facts["scale"]
    if not np.allclose(codes, stand_for, atol=1e-3 * facts["scale"]):
        return None
    return (
        f"{case.name}, you gave the values that the codes stand for: give the codes themselves, "
        "before scale and zero point are taken out again."
    )


def other_type(case: Case, seen: Observation) -> str | None:
    """The right codes, not held as int8."""
    codes = parts(seen)[0]
    if not _right_grid(case, seen) or codes.dtype == np.int8:
        return None
    if not alike(codes, case.facts["codes"]):
        return None
    return (
        f"{case.name}, the codes are right and stand there as {kind(codes)}, {codes.itemsize} B "
        "each: `.to(torch.int8)` once they are whole and clamped."
    )


def written(case: Case, seen: Observation) -> str | None:
    """The argument was changed."""
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, `quantize` wrote into `values`: whoever called it may need them still. "
        "Functions whose names end in `_`, and `out=`, change their tensor."
    )
