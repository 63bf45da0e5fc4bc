"""Exercise 11.6, quantization that training can see.

`fake_quantize(x, scale, zero_point, lowest, highest)`: x's values, each the nearest one on the
grid. The claim: forward scale · (q − zero_point) with q = round(x / scale) + zero_point, clamped;
backward the gradient from above where q lay in lowest … highest before it was clamped, 0 elsewhere,
whatever was called in between; neither x nor the gradient from above is written into. Sources:
Bengio, Léonard and Courville (2013), section 2.3; Jacob et al. (2018), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import describe
from helpers.exercises.drives_quantization import there_and_back
from helpers.exercises.lesson_11 import straight_through_mistakes as look
from helpers.exercises.lesson_11 import straight_through_ways as ways
from helpers.exercises.lesson_11 import straight_through_wrong as wrong
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


def claim(case: Case, seen: Observation) -> str | None:
    """The values, the gradient, and nothing written into."""
    got, n = seen.values[0], ways.numbers(case)
    if not ways.is_output(got["out"], n):
        said = describe(got["out"])
        return f"{case.name}, you returned {said}; wanted are floats, one for each of x."
    if not ways.same(got["out"], n.values(n.codes)):
        return ways.value_at_worst(case, got["out"], n) + "."
    if not got["linked"]:
        return f"{case.name}, no way leads back from what you returned."
    if not ways.same(got["gradient"], n.back):
        return ways.gradient_at_worst(case, got["gradient"], n) + "."
    return look.writes_into_x(case, seen) or look.spoils_the_gradient(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    inside = sum(int(ways.numbers(case).inside.sum()) for case in cases)
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
        "backward, the gradient as it comes where round(x / scale) + zero_point is such a q, and "
        "0 elsewhere."
    ),
    cases=cases,
    drive=there_and_back,
    claim=claim,
    mistakes=(
        Mistake("another number of gradients", look.count_of_gradients, unfinished=True),
        Mistake("kept as a tuple", look.kept_as_a_tuple, unfinished=True),
        Mistake("no result of backward", look.no_backward, unfinished=True),
        Mistake("writes into x", look.writes_into_x),
        *(Mistake(name, look.of_values(way, text)) for name, way, text in look.VALUES),
        Mistake("no way back", look.no_way_back),
        *(Mistake(name, look.of_gradient(way, text)) for name, way, text in look.GRADIENTS),
        Mistake("writes into the gradient", look.spoils_the_gradient),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("rounds", wrong.rounds, hint="Rounding has the gradient 0"),
        WrongAnswer("detached", wrong.detached, hint="No way leads back"),
        WrongAnswer("everywhere", wrong.everywhere, hint="1 everywhere"),
        WrongAnswer("codes", wrong.gives_codes, hint="you returned the codes"),
        WrongAnswer("times scale", wrong.times_scale, hint="was multiplied by scale"),
        WrongAnswer("over scale", wrong.over_scale, hint="was divided by scale"),
        WrongAnswer("ends as values", wrong.ends_as_values, hint="are codes, and no values"),
        WrongAnswer("no clamp", wrong.no_clamp, hint="is not clamped"),
        WrongAnswer("no zero point", wrong.no_zero_point, hint="the zero point is left out"),
        WrongAnswer(
            "zero point added", wrong.zero_point_stays, hint="was added and never taken away"
        ),
        WrongAnswer("truncates", wrong.truncates, hint="cut off and not rounded"),
        WrongAnswer("by values", wrong.inside_by_values, hint="half a step farther"),
        WrongAnswer("one end", wrong.one_end, hint="at one end alone"),
        WrongAnswer("without ends", wrong.without_ends, hint="the last codes are codes as well"),
        WrongAnswer("mask without zero", wrong.mask_without_zero, hint="without the zero point"),
        WrongAnswer("mask alone", wrong.mask_alone, hint="the gradient that comes from above"),
        WrongAnswer("in place", wrong.in_place, hint="you wrote into x"),
        WrongAnswer("one gradient", wrong.one_gradient, hint="and None for"),
        WrongAnswer("saved tuple", wrong.saved_tuple, hint="ctx.saved_tensors is always a tuple"),
        WrongAnswer("last call", wrong.last_call, hint="each call has for itself"),
        WrongAnswer("spoils", wrong.spoils, hint="wrote into the gradient that it was given"),
    ),
    ranked=False,
)
