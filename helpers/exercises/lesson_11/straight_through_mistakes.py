"""The mistakes of exercise 11.6, by the values there and the gradient on the way back."""

from __future__ import annotations

import numpy as np

from helpers.exercises.compare import is_array
from helpers.exercises.lesson_11 import straight_through_ways as ways
from helpers.exercises.lesson_11.straight_through_ways import (
    Way,
    gradient_at_worst,
    is_output,
    numbers,
    same,
    value_at_worst,
)
from helpers.exercises.spec import Case, Look, Observation

# --- what the values tell -------------------------------------------------------------------------

VALUES: tuple[tuple[str, Way, str], ...] = (
    (
        "codes",
        ways.codes,
        "you returned the codes, or steps; training goes on with values, scale · (q − zero_point).",
    ),
    (
        "not clamped",
        ways.no_clamp,
        "q is not clamped: beyond lowest and highest there are no codes.",
    ),
    (
        "ends taken for values",
        ways.ends_as_values,
        "lowest and highest are codes, and no values: clamp round(x / scale) + zero_point.",
    ),
    (
        "no zero point",
        ways.no_zero_point,
        "the zero point is left out, and the grid lies elsewhere: add it before you clamp, and "
        "take it away again afterwards.",
    ),
    (
        "zero point stays",
        ways.zero_point_stays,
        "the zero point was added and never taken away: scale · (q − zero_point).",
    ),
    (
        "zero point only taken away",
        ways.zero_point_leaves,
        "the zero point has the other sign, or was never added: q = round(x / scale) + zero_point.",
    ),
    (
        "cut off",
        ways.cut_off,
        "the fraction was cut off and not rounded: up to a whole step is lost, where `torch.round` "
        "loses half a step at most.",
    ),
    ("not rounded", ways.not_at_all, "x was not rounded: only whole codes q are there."),
)
"""What may come out instead, and what is said to it."""


def of_values(way: Way, text: str) -> Look:
    """Recognises values that came out in one of the ways, of whatever type."""

    def look(case: Case, seen: Observation) -> str | None:
        n, out = numbers(case), seen.values[0]["out"]
        if not is_array(out, n.x.shape) or (is_output(out, n) and same(out, n.values(n.codes))):
            return None
        if not any(same(out, each) for each in way(n)):
            return None
        return f"{value_at_worst(case, out, n)}: {text}"

    return look


# --- what the gradient tells ----------------------------------------------------------------------

GRADIENTS: tuple[tuple[str, Way, str], ...] = (
    (
        "rounding's own gradient",
        ways.nothing,
        "nothing comes back at all. Rounding has the gradient 0, and so nothing would be learnt: "
        "say what backward does, in an `autograd.Function`, or by x + (rounded − x).detach() "
        "where x may learn.",
    ),
    (
        "everywhere",
        ways.everywhere,
        "the gradient is 1 everywhere. A value beyond the grid is cut off: moving it a little "
        "changes nothing, so its gradient is 0. Which ones these are, codes tell before they are "
        "clamped.",
    ),
    (
        "times scale",
        ways.times_scale,
        "it was multiplied by scale. Forward divides by scale and multiplies by it again, so that "
        "the two cancel.",
    ),
    (
        "over scale",
        ways.over_scale,
        "it was divided by scale. Forward divides by scale and multiplies by it again, so that the "
        "two cancel.",
    ),
    (
        "inside by values",
        ways.by_values,
        "what counts is the code: the last one is the nearest still half a step farther than its "
        "value. Compare round(x / scale) + zero_point with lowest and highest.",
    ),
    (
        "one end",
        ways.one_end,
        "values were cut off at one end alone: the code has to be at least lowest and at most "
        "highest.",
    ),
    (
        "without the ends",
        ways.without_ends,
        "the last codes are codes as well: lowest ≤ q ≤ highest, with both ends.",
    ),
    (
        "inside without the zero point",
        ways.without_zero,
        "round(x / scale) was compared with lowest and highest without the zero point.",
    ),
    (
        "x taken for codes",
        ways.x_as_codes,
        "x itself was compared with lowest and highest, which are codes: compare "
        "round(x / scale) + zero_point.",
    ),
    (
        "turned round",
        ways.turned_round,
        "it came back where values were cut off, and nowhere else: the other way round.",
    ),
    (
        "the mask alone",
        ways.mask_alone,
        "backward returned 1 and 0: multiply the gradient that comes from above by them, which is "
        "backward's argument.",
    ),
    (
        "the last call's",
        ways.of_the_last_call,
        "`fake_quantize` was called once more before backward, as in a model with two layers, and "
        "backward used what the later call had left. Keep it in `ctx`, by `save_for_backward`, "
        "which each call has for itself.",
    ),
)
"""What may come back instead, and what is said to it."""


def of_gradient(way: Way, text: str) -> Look:
    """Recognises gradients that came back in another way, where the values are right."""

    def look(case: Case, seen: Observation) -> str | None:
        n, got = numbers(case), seen.values[0]
        gradient = np.zeros_like(n.above) if got["gradient"] is None else got["gradient"]
        if not same(got["out"], n.values(n.codes)) or same(gradient, n.back):
            return None
        if not any(same(gradient, each) for each in way(n)):
            return None
        return f"{gradient_at_worst(case, gradient, n)}: {text}"

    return look


# --- how it went ----------------------------------------------------------------------------------


def no_way_back(case: Case, seen: Observation) -> str | None:
    """Cut off from x."""
    got = seen.values[0]
    if got["linked"]:
        return None
    return (
        f"{case.name}, the values are right, but what you returned has no `grad_fn`. No way leads "
        "back to x: that is what `detach`, `no_grad`, and a conversion to whole numbers do. Take "
        "x's own way round the rounding."
    )


def count_of_gradients(case: Case, seen: Observation) -> str | None:
    """backward returned too few values."""
    if seen.trouble != "failed" or "incorrect number of gradients" not in seen.text:
        return None
    return (
        f"{case.name}, backward returned another number of values than forward takes arguments: "
        "give the gradient for x, and None for scale, zero_point, lowest and highest."
    )


def kept_as_a_tuple(case: Case, seen: Observation) -> str | None:
    """backward computed with ctx.saved_tensors as if it were the tensor."""
    # A tuple takes a tensor times itself for so many repeats, and asks it for a whole number.
    both = "'Tensor' and 'tuple'", "'tuple' and 'Tensor'", "can be converted to an index"
    if seen.trouble != "failed" or not any(words in seen.text for words in both):
        return None
    return (
        f"{case.name}, a tuple was taken for a tensor. ctx.saved_tensors is always "
        "a tuple, however few were kept: `(inside,) = ctx.saved_tensors` takes one out."
    )


def no_backward(case: Case, seen: Observation) -> str | None:
    """A Function of which only forward was written."""
    if seen.trouble != "failed" or "implement" not in seen.text or "backward" not in seen.text:
        return None
    return (
        f"{case.name}, your Function has no backward: write `backward(ctx, gradient)`, which "
        "returns a value for each argument of forward."
    )


def writes_into_x(case: Case, seen: Observation) -> str | None:
    """x is not as it was."""
    if not seen.values[0]["changed"]:
        return None
    return (
        f"{case.name}, you wrote into x, which other layers may use and autograd may have kept: "
        "work on a new tensor, without `_` at the end of a method's name."
    )


def spoils_the_gradient(case: Case, seen: Observation) -> str | None:
    """The gradient from above is not as it was."""
    if not seen.values[0]["spoiled"]:
        return None
    return (
        f"{case.name}, your backward wrote into the gradient that it was given, which another "
        "branch of the model may be given too: make a new one, such as gradient * inside."
    )
