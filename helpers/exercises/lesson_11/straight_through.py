"""Exercise 11.6, quantization that training can see.

`fake_quantize(x, scale, zero_point, lowest, highest)`: x's values, each the nearest one on the
grid. The claim: forward scale · (q − zero_point) with q = round(x / scale) + zero_point, clamped;
backward the gradient from above where q lay in lowest … highest before it was clamped, 0 elsewhere,
whatever was called in between; neither x nor the gradient from above is written into; and it is
not torch's own, which a learner's check sees and a grader does not. Sources:
Bengio, Léonard and Courville (2013), section 2.3; Jacob et al. (2018), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.quantization.fake_quantization import fake_quantize as reference
from helpers.exercises.common import fails_with, rng
from helpers.exercises.compare import close, describe, is_array
from helpers.exercises.drives_quantization import there_and_back
from helpers.exercises.lesson_11 import straight_through_wrong as wrong
from helpers.exercises.lesson_11.figures import Array, said, said_apart, single, what
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 4 bits, then 8 bits with and without a sign, a symmetric grid, a grid from 0 on.

    Each has values within the grid, at its ends, a little beyond them where the last code still is
    the nearest one, beyond that, and so far out that the value is beyond the numbers of the codes.
    """
    random, made = rng(seed, "11.6"), []
    some = random.integers(-1, 3, 5) if seed else [0] * 5
    settings = [
        ("With the codes −8 to 7", -8, 7, 2, (5, 6)),
        ("With the codes −128 to 127", -128, 127, -31, (4, 3, 5)),
        ("With the codes 0 to 255", 0, 255, 87, (60,)),
        ("With the symmetric codes −7 to 7", -7, 7, 0, (2, 2, 3, 5)),
        ("With the codes 0 to 15", 0, 15, 0, (3, 20)),
    ]
    for (name, lowest, highest, zero, shape), more in zip(settings, some, strict=True):
        zero = zero + int(more) if zero else 0
        scale = round(float(random.uniform(0.12, 0.45)), 4)
        codes = _codes(random, lowest, highest, zero, scale, int(np.prod(shape)))
        x = (scale * (codes - zero)).reshape(shape).astype(np.float32)
        gradient = random.choice([-1.0, 1.0], shape) * random.uniform(0.5, 2.0, shape)
        args = (x, scale, zero, lowest, highest, gradient.astype(np.float32))
        name = f"{name}, zero point {zero} and scale {scale:g}"
        made.append(Case(name, (args,)))
    return made


def _codes(
    random: np.random.Generator, lowest: int, highest: int, zero: int, scale: float, count: int
) -> np.ndarray:
    """Codes with a fraction: none of them half-way between two, and none near that."""
    far = int(max(abs(lowest), abs(highest)) / scale) + abs(zero) + 30.2
    told = [zero, zero - far, zero + far, zero - 0.7, zero + 0.7]
    told += [lowest + beside for beside in (-3.2, -0.8, -0.3, -0.12, 0.02, 0.3)]
    told += [highest - beside for beside in (-2.7, -0.8, -0.3, -0.12, 0.02, 0.3)]
    told += [2 * zero - lowest - 0.1, 2 * zero - highest + 0.1]  # the ends, seen from −x
    below, above = lowest - 6, highest + 7
    whole = random.integers(below, above, count - len(told))
    codes = np.concatenate([told, whole + random.uniform(-0.4, 0.4, len(whole))])
    return np.asarray(random.permutation(codes))


class Exact:
    """A case in doubles: x, the gradient from above, what should come out, and what come back."""

    def __init__(self, case: Case) -> None:
        x, scale, zero, lowest, highest, above = case.args[0]
        self.name = case.name
        self.x: Array = x.astype(np.float64)
        self.above: Array = above.astype(np.float64)
        codes = np.round(self.x / scale) + zero
        self.out: Array = (np.clip(codes, lowest, highest) - zero) * scale
        self.inside: Array = (codes >= lowest) & (codes <= highest)
        self.back: Array = np.where(self.inside, self.above, 0.0)

    def value_at_worst(self, out: Array) -> str:
        """The value that is farthest off, in words."""
        place = _farthest(out, self.out)
        got, right = said_apart(float(out.flat[place]), float(self.out.flat[place]))
        return f"{self.name}, {said(float(self.x.flat[place]))} became {got} and should be {right}"

    def gradient_at_worst(self, gradient: Any) -> str:
        """The gradient that is farthest off, in words."""
        if not is_array(gradient, self.back.shape):
            return f"{self.name}, x's gradient is {describe(gradient)}"
        place = _farthest(gradient, self.back)
        x, above, *pair = (  # no −0
            float(each.flat[place]) + 0.0 for each in (self.x, self.above, gradient, self.back)
        )
        got, right = said_apart(*pair)
        gave = f"the gradient {said(above)} came back as {got}, not as {right}"
        return f"{self.name}, where x is {said(x)} {gave}"


def _farthest(got: Array, want: Array) -> int:
    with np.errstate(all="ignore"):
        return int(np.argmax(np.nan_to_num(np.abs(got - want), nan=np.inf)))


def claim(case: Case, seen: Observation) -> str | None:
    """The values, the gradient, and nothing written into."""
    got, n = seen.values[0], Exact(case)
    out = got["out"]
    if not is_array(out, n.x.shape) or out.dtype.kind != "f":
        return f"{case.name}, you returned {describe(out)}; wanted are floats, one for each of x."
    if not close(out, n.out):
        return n.value_at_worst(out) + "."
    if not got["linked"]:
        return f"{case.name}, no way leads back from what you returned."
    if not close(got["gradient"], n.back):
        return n.gradient_at_worst(got["gradient"]) + "."
    if got["changed"]:
        return f"{case.name}, {wrong.IN_PLACE}"
    if got["spoiled"]:
        return f"{case.name}, {wrong.SPOILS}"
    return f"{case.name}, {wrong.BY_TORCH}" if got["torch"] else None


def _gradient(case: Case, seen: Observation) -> Any:
    """What came back to x; zeros where nothing did."""
    gradient = seen.values[0]["gradient"]
    return np.zeros(case.args[0][0].shape) if gradient is None else gradient


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first, in the order of the claim: what follows from it says nothing more."""
    got, gradient, n = seen.values[0], _gradient(case, seen), Exact(case)
    out = got["out"]
    if not is_array(out, n.x.shape):
        return what(out)
    if out.dtype.kind != "f" or not close(out, n.out):
        return {"values": single(out)}
    if not got["linked"]:
        return "no way back"
    if not close(gradient, n.back):
        return {"gradient": single(gradient) if is_array(gradient) else what(gradient)}
    return {key: got[key] for key in ("changed", "spoiled", "torch")}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the value and the gradient that are farthest off."""
    if seen.trouble or not is_array(seen.values[0]["out"], case.args[0][0].shape):
        return {}
    n = Exact(case)
    return {
        "value": n.value_at_worst(seen.values[0]["out"]),
        "gradient": n.gradient_at_worst(_gradient(case, seen)),
    }


_count_of_gradients = fails_with(
    "incorrect number of gradients",
    "backward returned another number of values than forward takes arguments: give the "
    "gradient for x, and None for scale, zero_point, lowest and highest.",
)


def _kept_as_a_tuple(case: Case, seen: Observation) -> str | None:
    """Backward computed with ctx.saved_tensors as if it were the tensor."""
    # A tuple takes a tensor times itself for so many repeats, and asks it for a whole number.
    both = "'Tensor' and 'tuple'", "'tuple' and 'Tensor'", "can be converted to an index"
    if seen.trouble != "failed" or not any(words in seen.text for words in both):
        return None
    return (
        f"{case.name}, a tuple was taken for a tensor. ctx.saved_tensors is always "
        "a tuple, however few were kept: `(inside,) = ctx.saved_tensors` takes one out."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    inside = sum(int(Exact(case).inside.sum()) for case in cases)
    count = sum(case.args[0][0].size for case in cases)
    return (
        f"Passed on {len(cases)} grids: all {count} values are the nearest ones that there are, "
        f"and the gradient came back to the {inside} that were not clipped, and to no other."
    )


EXERCISE = Exercise(
    number="11.6",
    title="Straight through",
    stars=3,
    minutes=15,
    points=4,
    function="fake_quantize",
    asks=(
        "the nearest values on the grid, scale · (q − zero_point) with q from lowest to highest; "
        "backward, the gradient where round(x / scale) + zero_point is such a q, and 0 elsewhere."
    ),
    cases=cases,
    drive=there_and_back,
    claim=claim,
    mistakes=(
        Mistake("another number of gradients", _count_of_gradients, unfinished=True),
        Mistake("kept as a tuple", _kept_as_a_tuple, unfinished=True),
    ),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=(
        WrongAnswer("codes", wrong.gives_codes, wrong.GIVES_CODES),
        WrongAnswer("codes, not clamped", wrong.gives_all_codes, wrong.GIVES_CODES),
        WrongAnswer("steps", wrong.gives_steps, wrong.GIVES_CODES),
        WrongAnswer("not clamped", wrong.no_clamp, wrong.NO_CLAMP),
        WrongAnswer("ends taken for values", wrong.ends_as_values, wrong.ENDS_AS_VALUES),
        WrongAnswer("ends taken for values late", wrong.ends_as_values_late, wrong.ENDS_AS_VALUES),
        WrongAnswer("no zero point", wrong.no_zero_point, wrong.NO_ZERO_POINT),
        WrongAnswer("zero point stays", wrong.zero_point_stays, wrong.ZERO_POINT_STAYS),
        WrongAnswer("zero point only taken away", wrong.zero_point_leaves, wrong.ZERO_POINT_LEAVES),
        WrongAnswer("zero point negated", wrong.zero_point_negated, wrong.ZERO_POINT_LEAVES),
        WrongAnswer("cut off", wrong.truncates, wrong.TRUNCATES),
        WrongAnswer("cut off, with the zero point", wrong.cuts_codes, wrong.TRUNCATES),
        WrongAnswer("rounded down", wrong.rounds_down, wrong.TRUNCATES),
        WrongAnswer("rounded up", wrong.rounds_up, wrong.TRUNCATES),
        WrongAnswer("not rounded", wrong.not_rounded, wrong.NOT_ROUNDED),
        WrongAnswer("clamped and not rounded", wrong.only_clamped, wrong.NOT_ROUNDED),
        WrongAnswer("no way back", wrong.detached, wrong.DETACHED),
        WrongAnswer("rounding's own gradient", wrong.rounds, wrong.ROUNDS),
        WrongAnswer("everywhere", wrong.everywhere, wrong.EVERYWHERE),
        WrongAnswer("times scale", wrong.times_scale, wrong.TIMES_SCALE),
        WrongAnswer("times scale, everywhere", wrong.times_scale_everywhere, wrong.TIMES_SCALE),
        WrongAnswer("over scale", wrong.over_scale, wrong.OVER_SCALE),
        WrongAnswer("over scale, everywhere", wrong.over_scale_everywhere, wrong.OVER_SCALE),
        WrongAnswer("inside by values", wrong.inside_by_values, wrong.INSIDE_BY_VALUES),
        WrongAnswer("one end", wrong.one_end, wrong.ONE_END),
        WrongAnswer("the other end", wrong.other_end, wrong.ONE_END),
        WrongAnswer("without the ends", wrong.without_ends, wrong.WITHOUT_ENDS),
        WrongAnswer("without the upper end", wrong.without_upper_end, wrong.WITHOUT_ENDS),
        WrongAnswer("without the lower end", wrong.without_lower_end, wrong.WITHOUT_ENDS),
        WrongAnswer("inside, without zero point", wrong.mask_without_zero, wrong.MASK_WITHOUT_ZERO),
        WrongAnswer("x taken for codes", wrong.x_as_codes, wrong.X_AS_CODES),
        WrongAnswer("turned round", wrong.turned_round, wrong.TURNED_ROUND),
        WrongAnswer("the mask alone", wrong.mask_alone, wrong.MASK_ALONE),
        WrongAnswer("ones", wrong.ones, wrong.MASK_ALONE),
        WrongAnswer("the last call's", wrong.last_call, wrong.LAST_CALL),
        WrongAnswer("writes into x", wrong.in_place, wrong.IN_PLACE),
        WrongAnswer("writes into the gradient", wrong.spoils, wrong.SPOILS),
        WrongAnswer("torch's own", wrong.by_torch, wrong.BY_TORCH),
        WrongAnswer("no backward", wrong.no_backward, wrong.NO_BACKWARD),
        WrongAnswer("one gradient", wrong.one_gradient, hint="and None for"),
        WrongAnswer("saved tuple", wrong.saved_tuple, hint="ctx.saved_tensors is always a tuple"),
    ),
    ranked=False,
    unseen={"torch": "whether the way back is torch's own"},
)
