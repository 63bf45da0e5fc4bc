"""Exercise 11.4, the bound that leaves the least error.

`best_bound(values, bits=8) -> float`: where to cut, so that values that go through the codes of a
symmetric grid from −bound to bound and back have the least mean squared error. The claim: a bound
above 0, at most the largest magnitude, whose error is within 5 % of the least that a dense search
finds. Source: Banner et al. (2019), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_11 import bounds_mistakes as look
from helpers.exercises.lesson_11 import bounds_wrong as wrong
from helpers.exercises.lesson_11.bounds_mistakes import ERRORS, errors_of
from helpers.exercises.lesson_11.figures import Array, said
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """A wild value among normal ones, normal, even, one-sided, few and long-tailed values.

    They have 4, 6 and 8 bits, once by default. The long-tailed ones are small. Those of 4 bits are
    best cut at other multiples of their deviation, and at other percentiles.
    """
    return list(_cases(seed))


@lru_cache
def _cases(seed: int) -> tuple[Case, ...]:
    random = rng(seed, "11.4")
    sizes = random.integers(2000, 3000, 6) if seed else np.full(6, 2500)
    spread = np.exp(random.uniform(-2, 2, 7)) if seed else np.array([0.6, 2, 1, 0.3, 1, 5, 3])
    spread[5] *= 1e-4  # as small as weights may be: bounds have to be parts of the largest
    normal = random.normal(0, 1, sizes[0])
    normal[int(random.integers(0, sizes[0]))] = 7.5 * (random.choice([-1, 1]) if seed else 1)
    # One value in each of so many parts: chance alone would make some bound better than the top.
    even, more = (
        2 * random.permutation(np.arange(size) + random.random(size)) / size - 1
        for size in sizes[[2, 5]]
    )
    ends = np.array([7, -7, 3, -2, 0, 1, -5, 6, 4])
    settings = [
        ("normal values and a wild one", normal, 4),
        ("normal values", random.normal(0, 1, (2, sizes[1] // 2)), 8),
        ("values spread evenly", even, 8),
        ("values mostly below 0", 0.3 - random.gamma(2, 1, sizes[3]), 6),
        ("values that have a code each", random.permutation(ends) / 7, 4),
        ("long-tailed values", random.laplace(0, 1, sizes[4]), 4),
        ("values spread evenly", more, 4),
    ]
    made = []
    for number, (what, values, bits) in enumerate(settings):
        given = (values * spread[number]).astype(np.float32)
        name = f"With {given.size} {what}, {bits} bits"
        args: tuple[Any, ...] = (given, bits) if number != 2 else (given,)
        made.append(Case(name, (args,), facts=_facts(given.astype(np.float64), bits)))
    return tuple(made)


def _facts(values: Array, bits: int) -> dict[str, Any]:
    """The least errors of several kinds that a dense search finds, and its best bound."""
    top = float(np.abs(values).max())
    best = _search(values, bits, top)
    return {
        "top": top,
        "bits": bits,
        "best": best["squared"][0],
        "bests": {kind: bound for kind, (bound, _) in best.items()},
        "least": {kind: least for kind, (_, least) in best.items()},
        "of 8 bits": _search(values, 8, top)["squared"],
    }


def _search(values: Array, bits: int, top: float) -> dict[str, tuple[float, float]]:
    """For each kind of error the best bound and its error: by steps of top/300, then finer ones."""
    found = {}
    coarse = top * np.arange(1, 301) / 300
    table = [errors_of(values, bound, bits) for bound in coarse]
    for kind in ERRORS:
        bound = float(coarse[int(np.argmin([each[kind] for each in table]))])
        near = [b for b in bound + top / 300 * np.linspace(-0.95, 0.95, 39) if 0 < b <= top]
        best = min([bound, *map(float, near)], key=lambda b: errors_of(values, b, bits)[kind])
        found[kind] = best, errors_of(values, best, bits)[kind]
    return found


def claim(case: Case, seen: Observation) -> str | None:
    """A bound within the values whose squared error is nearly the least."""
    bound, facts = look.bound_of(seen), case.facts
    if bound is None:
        given = describe(returned(seen.values[0]))
        return f"{case.name}, `best_bound` gave {given}; one number was asked for."
    if not 0 < bound <= facts["top"] * (1 + 1e-6):
        return (
            f"{case.name}, the bound is {said(bound)}; it lies above 0 and is at most the largest "
            f"magnitude, {said(facts['top'])}."
        )
    error = look.error_of(case, bound)
    if error <= look.limit(case):
        return look.written(case, seen)
    return (
        f"{case.name}, the bound {said(bound)} leaves a mean squared error of {said(error)}; the "
        f"best one leaves {said(facts['least']['squared'])}."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, bound, top = cases[0], look.bound_of(seen[0]) or 1.0, cases[0].facts["top"]
    times = look.error_of(case, top) / look.error_of(case, bound)
    return (
        f"Passed: with one value of {said(top)} among {case.args[0][0].size} and "
        f"{count(case.facts['bits'], 'bit')}, cutting at {said(bound)} leaves an error {times:.1f} "
        "times smaller than cutting nothing. With 8 bits and values spread evenly, there is "
        "nothing to cut."
    )


def reference(values: Any, bits: int = 8) -> float:
    """The course's own."""
    top, highest = float(values.abs().max()), 2 ** (bits - 1) - 1

    def error(bound: float) -> float:
        step = bound / highest
        left = (values / step).round().clamp(-highest, highest) * step
        return float((left - values).double().square().mean())

    return min((top * 0.98**k for k in range(500)), key=error)


EXERCISE = Exercise(
    number="11.4",
    title="Where to cut",
    stars=2,
    minutes=12,
    points=3,
    function="best_bound",
    asks=(
        "the bound, above 0 and at most the largest magnitude, with the least mean squared "
        "difference of values and `round_trip(values, bound, bits)`; within 5 % of the least."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("the values written into", look.written),
        Mistake("no number", look.no_number),
        Mistake("a bound in codes", look.in_codes),
        Mistake("a candidate's place", look.place),
        Mistake("the error instead of the bound", look.least_error),
        Mistake("bounds of a fixed size", look.fixed_size),
        Mistake("nothing is ever cut", look.always_all),
        Mistake("the largest value, not magnitude", look.largest_value),
        Mistake("the scale instead of the bound", look.scale),
        Mistake("the largest magnitude is no candidate", look.without_the_top),
        Mistake("a fixed number of standard deviations", look.deviations),
        Mistake("a fixed percentile", look.percentile),
        Mistake("what is cut off costs nothing", look.cut_is_free),
        Mistake("always 8 bits", look.eight_bits),
        Mistake("least absolute error", look.absolute),
        Mistake("least largest error", look.largest_error),
        Mistake("beyond the largest magnitude", look.beyond),
        Mistake("candidates far apart", look.coarse),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("always the maximum", wrong.always_all, hint="Nothing is cut off"),
        WrongAnswer("a percentile", wrong.percentile, hint="% of the magnitudes lie"),
        WrongAnswer("rounding alone", wrong.rounding_alone, hint="lose more than all"),
        WrongAnswer("three deviations", wrong.three_deviations, hint="3 standard deviations"),
        WrongAnswer("absolute error", wrong.absolute, hint="mean absolute error"),
        WrongAnswer("largest error", wrong.largest_error, hint="largest single error"),
        WrongAnswer("few candidates", wrong.few_candidates, hint="too far apart"),
        WrongAnswer("the scale", wrong.scale, hint="that is a scale"),
        WrongAnswer("in codes", wrong.in_codes, hint="that is the highest code"),
        WrongAnswer("the place", wrong.place, hint="the place of a candidate"),
        WrongAnswer("the error", wrong.least_error, hint="that is the error itself"),
        WrongAnswer("always 8 bits", wrong.eight_bits, hint="codes of 8 bits"),
        WrongAnswer("up to the largest value", wrong.largest_value, hint="the largest value, and"),
        WrongAnswer("without the top", wrong.without_the_top, hint="among the candidates"),
        WrongAnswer("bounds from 0.01", wrong.fixed_size, hint="as small as a weight's may be"),
        WrongAnswer("clamps in place", wrong.in_place, hint="wrote into `values`"),
    ),
    ranked=False,
)
