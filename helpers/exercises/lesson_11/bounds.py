"""Exercise 11.4, a recipe for a range: the one that leaves the least error.

`LeastError(bits=8)` sees batch after batch, `see(batch)`, and names a range, `range()`: of all
that was seen, cut at −b and b for the b of the least mean squared error once values have gone
through the steps of the range. The claim: the range ends within what was seen and 0, its error over
all batches is within 5 % of the least that a dense search finds, also where it was asked for in
between, and no batch is written into. Source: Banner et al. (2019), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import describe
from helpers.exercises.drives_quantization import batch_by_batch
from helpers.exercises.lesson_11 import bounds_wrong as wrong
from helpers.exercises.lesson_11.figures import Array, said, what
from helpers.exercises.lesson_11.ranges import Named, cut, facts
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """A wild value among normal ones; a ReLU's; even, one-sided, long-tailed; a very wild one.

    They have 3 to 8 bits, 8 by default. The long-tailed ones are small. Those of 4 bits are best
    cut at other multiples of their deviation, and at other percentiles.
    """
    return list(_cases(seed))


@lru_cache
def _cases(seed: int) -> tuple[Case, ...]:
    random = rng(seed, "11.4")
    sizes = 8 * (random.integers(250, 375, 6) if seed else np.full(6, 312))
    spread = np.exp(random.uniform(-2, 2, 8)) if seed else np.array([0.6, 2, 1, 0.3, 1, 5, 3, 1])
    spread[5] *= 1e-4  # as small as weights may be: bounds have to be parts of the largest
    normal = random.normal(0, 1, sizes[0])
    normal[int(random.integers(0, sizes[0]))] = 7.5 * (random.choice([-1, 1]) if seed else 1)
    # One value in each of so many parts: chance alone would make some bound better than the top.
    even, half = ((np.arange(size) + random.random(size)) / size for size in sizes[[2, 5]])
    settings = [
        ("normal values and a wild one", normal, 4),
        ("normal values behind a ReLU", np.maximum(random.normal(0, 1, sizes[1]), 0), 4),
        ("values spread evenly", 2 * even - 1, 8),
        ("values mostly below 0", 0.3 - random.gamma(2, 1, sizes[3]), 6),
        ("values that have a code each", np.arange(-8, 8) / 7, 4),
        ("long-tailed values", random.laplace(0, 1, sizes[4]), 4),
        ("values above 0, spread evenly", half, 4),
    ]
    made = [(kind, _batches(random, values), bits) for kind, values, bits in settings]
    made.append(("normal values and one of 255 deviations", _very_wild(random), 3))
    found = []
    for at, (kind, batches, bits) in enumerate(made):
        given = [(batch * spread[at]).astype(np.float32) for batch in batches]
        args: tuple[Any, ...] = (given, bits) if at != 2 else (given,)
        name = f"With {sum(map(np.size, given))} {kind}, in four batches, and {bits} bits"
        found.append(Case(name, (args,), 1, {"again": at == 0}, facts(given, bits)))
    return tuple(found)


def _batches(random: np.random.Generator, values: Array, repeats: int = 1) -> list[Array]:
    """Four batches: the second of the largest magnitudes, the last one, of another shape, of the
    smallest: what a range is for one of them it is not for all."""
    quarters = np.split(values[np.argsort(-np.abs(values))], 4)
    mixed = [np.tile(random.permutation(part), repeats) for part in quarters]
    return [mixed[1].reshape(2, -1), mixed[0].reshape(2, -1), mixed[2].reshape(2, -1), mixed[3]]


def _very_wild(random: np.random.Generator) -> list[Array]:
    """One value as wild as a picture that nobody divided by 255.

    Among few others, to cut it off would cost more than it saves. The many repeat: they pack well.
    """
    batches = _batches(random, random.normal(0, 1, 1600), 84)
    batches[1][0, 0] = 255
    return batches


# Ways to be wrong that a range tells, whatever the candidates were.
_WAYS: dict[str, Callable[[Named], bool]] = {
    "the high end first": lambda n: n.low > n.high and n.is_good(n.high, n.low),
    "the last batch alone": lambda n: n.is_of("last"),
    "the largest of each batch's": lambda n: n.is_inside and n.is_largest_of_each(),
    "kept and not copied": lambda n: n.is_of("no copies"),
    "shared with another": lambda n: n.is_of("another's"),
    "both ends alike": lambda n: not n.is_inside and n.low == -n.high < 0 and n.bound <= n.top,
    "beyond what was seen": lambda n: n.low < n.high and not n.is_inside,
    "another end": lambda n: n.is_good(*cut(n.values, n.bound)),
    "bounds of a fixed size": lambda n: n.top <= 0.01 and n.bound >= n.top * (1 - 1e-5),
    "too far out": lambda n: n.bound > 5 * n.best,
    "nothing is ever cut": lambda n: n.bound >= n.top * (1 - 1e-5),
    "the largest value, not magnitude": lambda n: n.ends_early(),
    "the largest magnitude is no candidate": lambda n: (
        0.965 * n.top < n.bound < n.best and n.is_good(*cut(n.values, n.top))
    ),
    "a fixed number of standard deviations": lambda n: n.deviations() >= 1,
    "a fixed percentile": lambda n: n.is_quantile(),
    "what is cut off costs nothing": lambda n: n.bound < 0.5 * n.best and n.beyond() >= 0.4,
    "steps on both sides of 0": lambda n: n.is_least("both sides"),
    "always 8 bits": lambda n: n.bits != 8 and n.is_least("8 bits"),
    "least absolute error": lambda n: n.is_least("absolute"),
    "least largest error": lambda n: n.is_least("largest"),
    "near the best": lambda n: n.best / 2 < n.bound < 2 * n.best,
}


def _family(name: str, words: str) -> Mistake:
    is_so = _WAYS[name]

    def look(case: Case, seen: Observation) -> str | None:
        n = Named(case, seen)
        told = n.is_pair and is_so(n)
        return f"{case.name}, {words.format(**numbers(case, seen))}" if told else None

    return Mistake(name, look)


def claim(case: Case, seen: Observation) -> str | None:
    """A range within what was seen, whose squared error is nearly the least; nothing changed."""
    n = Named(case, seen)
    if not n.is_pair:
        return f"{case.name}, `range` gave {describe(n.value)}; two numbers were asked for."
    ends = f"from {said(n.low)} to {said(n.high)}"
    if not n.is_inside:
        seen_too = f"what was seen and 0 go from {said(n.lowest)} to {said(n.highest)}"
        return f"{case.name}, the range goes {ends}, and {seen_too}."
    if not n.is_good(n.low, n.high):
        beside = numbers(case, seen)["beside"]
        return f"{case.name}, the range goes {ends}: {beside}."
    if seen.values[0]["changed"]:
        return f"{case.name}, {wrong.IN_PLACE}"
    return _asked_before(case, seen)


def _asked_before(case: Case, seen: Observation) -> str | None:
    """What is wrong with the range of a recipe that was asked for it before the end as well."""
    if not seen.values[0]["again"]:
        return None
    first, _, last = seen.values[0]["again"]
    low, high = (float(end) for end in last)
    if Named(case, seen).is_good(low, high):
        return None
    words = (wrong.KEPT if last == first else wrong.EMPTIED).format(**numbers(case, seen))
    return f"{case.name}, {words.replace('…', f'{said(low)} to {said(high)}')}"


def compared(case: Case, seen: Observation) -> Any:
    """No range, for each search has its own candidates: only whether it is right."""
    n = Named(case, seen)
    return claim(case, seen) if n.is_pair else what(n.value)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the bound beside the best one, and where it lies among the values."""
    n = Named(case, seen)
    about = said(float(f"{n.best:.2g}"))
    return {
        "value": describe(n.value),
        "bound": said(n.bound),
        "ends": " to ".join(map(said, cut(n.values, n.bound))),
        "low": said(n.low),
        "high": said(n.high),
        "bits": n.bits,
        "top": said(n.top),
        "lowest": said(n.lowest),
        "largest": said(n.highest),
        "about": about,
        "times": f"{n.bound / n.best:.2g}",
        "beside": f"it leaves a mean squared error of {said(n.left())}, where a cut at "
        f"about {about} leaves {said(n.least)}",
        "deviations": f"{n.deviations():g}",
        "within": f"{100 - 100 * n.beyond():.4g}",
        "beyond": f"{100 * n.beyond():.0f}",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    n, last = Named(cases[0], seen[0]), Named(cases[-1], seen[-1])
    return (
        f"Passed: with one value of {said(n.top)} among {n.values.size} and {n.bits} bits, cutting "
        f"at {said(n.bound)} leaves an error {n.left(n.top) / n.left(n.bound):.1f} times smaller "
        f"than cutting nothing. With one of {said(last.top)} among {last.values.size} and "
        f"{last.bits} bits, you cut at {said(last.bound)}."
    )


def reference(bits: int = 8) -> Any:
    """The course's own, which takes the steps that the lesson gives."""
    from helpers.algorithms.quantization.calibration import LeastError

    return LeastError(bits, lambda values, bits: max(map(abs, wrong.least(values, bits))))


EXERCISE = Exercise(
    number="11.4",
    title="A recipe for a range",
    stars=2,
    minutes=15,
    points=3,
    function="LeastError",
    asks=(
        "an observer: `see(batch)` looks at one more batch; `range()` names the range of all that "
        "was seen, cut at −b and b for the b whose `round_trip(values, low, high, bits)` has the "
        "least mean squared error; within 5 % of the least."
    ),
    cases=cases,
    drive=batch_by_batch,
    claim=claim,
    mistakes=tuple(_family(name, words) for name, words in wrong.WORDS.items()),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=(
        WrongAnswer("min–max", wrong.min_max, hint="Nothing is cut off"),
        WrongAnswer("a percentile", wrong.percentile, hint="no fixed percentile is"),
        WrongAnswer("rounding alone", wrong.rounding_alone, hint="lose more than all"),
        WrongAnswer("three deviations", wrong.three_deviations, hint="3 standard deviations"),
        WrongAnswer("absolute error", wrong.absolute, hint="mean absolute error"),
        WrongAnswer("largest error", wrong.largest_error, hint="largest single error"),
        WrongAnswer("steps on both sides", wrong.both_sides, hint="a single side of 0"),
        WrongAnswer("halved again and again", wrong.few_candidates, wrong.HALVED),
        WrongAnswer("every sixtieth value", wrong.every_sixtieth, hint="of the right size"),
        WrongAnswer("stops at a quarter", wrong.stops_early, hint="times as far as"),
        WrongAnswer("for 8 bits", wrong.eight_bits, hint="codes of 8 bits"),
        WrongAnswer("up to the largest value", wrong.largest_value, hint="the largest value, and"),
        WrongAnswer("without the top", wrong.without_the_top, hint="among the candidates"),
        WrongAnswer("bounds from 0.01", wrong.fixed_size, hint="as small as a weight's may be"),
        WrongAnswer("a little more than all", wrong.beyond, hint="values that do not occur"),
        WrongAnswer("from −b to b", wrong.both_alike, hint="nothing was seen there"),
        WrongAnswer("from 0 on", wrong.from_0_on, hint="another end than"),
        WrongAnswer("high, low", wrong.high_first, hint="the low end comes first"),
        WrongAnswer("the bound alone", wrong.bound_alone, wrong.BOUND_ALONE),
        WrongAnswer("the last batch alone", wrong.last_batch, hint="the last batch alone"),
        WrongAnswer("batch by batch", wrong.batch_by_batch, hint="the largest of these"),
        WrongAnswer("kept and not copied", wrong.not_copied, hint="holds the next one"),
        WrongAnswer("kept in the class", wrong.in_the_class, hint="another recipe had seen"),
        WrongAnswer("the numbers in tensors", wrong.in_tensors, wrong.IN_TENSORS),
        WrongAnswer("emptied when asked", wrong.emptied, _asked_before),
        WrongAnswer("found once and kept", wrong.found_once, _asked_before),
        WrongAnswer("a batch written into", wrong.in_place, wrong.IN_PLACE),
    ),
    ranked=False,
)
