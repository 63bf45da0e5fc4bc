"""The mistakes of exercise 11.1 in the grid: the scale first, then the zero point."""

from __future__ import annotations

from typing import Any

from helpers.exercises.compare import describe, is_array, number
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_11.figures import alike, near, rows_of, said
from helpers.exercises.spec import Case, Mistake, Observation

_NAMES = ("codes", "scale", "zero_point")


def parts(seen: Observation) -> tuple[Any, float | None, float | None]:
    """Codes, scale and zero point, whatever stands for the first; None for what is no number."""
    items = rows_of(returned(seen.values[0]), 3)
    if items is None:
        return None, None, None
    return items[0], number(items[1]), number(items[2])


def incomplete(case: Case, seen: Observation) -> str | None:
    """Something else than codes, scale and zero point in this order."""
    value = returned(seen.values[0])
    items = rows_of(value, 3)
    if items is None:
        return (
            f"{case.name}, `quantize` gave {describe(value)}: return three things, "
            "`codes, scale, zero_point`."
        )
    wanted = case.facts["codes"].shape
    if is_array(items[0], wanted) and None not in (number(items[1]), number(items[2])):
        return None
    if number(items[0]) is not None and any(is_array(item, wanted) for item in items[1:]):
        return f"{case.name}, the order is another: `codes, scale, zero_point` was asked for."
    for name, item in zip(_NAMES[1:], items[1:], strict=True):
        if number(item) is None:
            return f"{case.name}, `{name}` is {describe(item)}: one number was asked for."
    return (
        f"{case.name}, `codes` is {describe(items[0])}: there is a code for each value, so it has "
        "the shape of `values`."
    )


def _scale(name: str, words: str, title: str) -> Mistake:
    """A scale by another rule."""

    def look(case: Case, seen: Observation) -> str | None:
        got, facts = parts(seen)[1], case.facts
        if got is None or not any(near(got, other) for other in facts["other scales"][name]):
            return None
        bits, (low, high) = facts["bits"], facts["ends"]
        told = words.format(
            low=said(low), high=said(high), bits=bits, codes=2**bits, steps=2**bits - 1
        )
        return f"{case.name}, the scale is {said(got)}: {told}"

    return Mistake(title, look)


OF_SCALE = (
    _scale(
        "one step too many",
        "that is the width by {codes}. There are {codes} codes, and they have one step fewer "
        "between them: divide by {steps}.",
        "divides by the number of codes",
    ),
    _scale(
        "not widened",
        "it covers the range as it is given, in which 0 has no code. First widen the range so that "
        "it holds 0: {low} to {high}.",
        "range not widened",
    ),
    _scale(
        "own ends",
        "it comes from the values' own smallest and largest. The range is given, `low` to `high`; "
        "what lies beyond it gets the first or the last code.",
        "the values' own ends",
    ),
    _scale(
        "8 bits",
        "these are the steps of 8 bits. With {bits} bits there are {steps}: the width by "
        "`2**bits - 1`.",
        "always 8 bits",
    ),
    _scale(
        "magnitude",
        "it comes from the largest magnitude, as on a grid that reaches as far below 0 as above. "
        "This grid has a zero point and needs no more than the width, {low} to {high}: divide that "
        "by {steps}.",
        "symmetric scale",
    ),
    _scale(
        "half the steps",
        "that is the width by the codes on one side of 0. The range has all {codes} codes, with "
        "{steps} steps between them.",
        "half of the codes",
    ),
    _scale(
        "upside down",
        "that is how many steps a unit has. The scale is how much a step is worth, the width by "
        "{steps}.",
        "the scale upside down",
    ),
)


def right_scale(case: Case, seen: Observation) -> bool:
    """Whether there are a code for each value, two numbers, and the right scale."""
    codes, scale, zero = parts(seen)
    if not is_array(codes, case.facts["codes"].shape) or scale is None or zero is None:
        return False
    return near(scale, case.facts["scale"])


def between(case: Case, seen: Observation) -> str | None:
    """A zero point that is no whole number."""
    zero = parts(seen)[2]
    if not right_scale(case, seen) or zero is None or zero == round(zero):
        return None
    return (
        f"{case.name}, the zero point is {said(zero)}, so that 0 lies between two codes and comes "
        "back as something else. Round it to a whole number."
    )


def _zero(name: str, words: str, title: str) -> Mistake:
    """A zero point by another rule."""

    def look(case: Case, seen: Observation) -> str | None:
        codes, _, zero = parts(seen)
        facts = case.facts
        if not right_scale(case, seen) or zero not in facts["other zeros"][name]:
            return None
        bits, low = facts["bits"], facts["ends"][0]
        lowest = -(2 ** (bits - 1))
        # The two coincide where 0 lies a quarter up the range.
        if name == "from 0 on" and not (
            (codes >= 0).all() or alike(codes.astype(float) % 256, facts["codes"] - float(lowest))
        ):
            return None
        told = words.format(
            low=said(low),
            lowest=said(lowest),
            last=2**bits - 1,
            away=said(round(-low / facts["scale"])),
        )
        return f"{case.name}, the zero point is {said(zero or 0)}: {told}"

    return Mistake(title, look)


OF_ZERO = (
    _zero(
        "from 0 on",
        "so the codes count from 0 on, up to {last}, which int8 does not hold. The lowest code "
        "is {lowest}: shift all of them by that.",
        "codes from 0 on",
    ),
    _zero(
        "sign",
        "there the way from the low end to 0 is counted with the wrong sign. The low end, {low}, "
        "has the code {lowest}, and 0 lies {away} steps above it.",
        "sign of the zero point",
    ),
    _zero(
        "always 0",
        "the code 0 stands for the value 0 only on a symmetric grid. Here the low end has the code "
        "{lowest}, and 0 lies {away} steps above it.",
        "no zero point",
    ),
    _zero(
        "lowest code",
        "that is one too many: the lowest code is {lowest}, one further from 0 than the highest.",
        "a lowest code too high",
    ),
)


def neighbour(case: Case, seen: Observation) -> str | None:
    """The zero point's other neighbour: cut or rounded up."""
    zero, facts = parts(seen)[2], case.facts
    if not right_scale(case, seen) or zero is None:
        return None
    exact = -(2 ** (facts["bits"] - 1)) - facts["ends"][0] / facts["scale"]
    if zero == facts["zero"] or abs(zero - exact) >= 1:
        return None
    return (
        f"{case.name}, 0 lies at {said(exact)}, and the zero point is {said(zero)}, next to the "
        "right one: take the nearest whole number, `round`, where `int` only cuts."
    )
