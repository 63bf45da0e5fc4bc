"""Exercise 11.4, a recipe for a range: the one that leaves the least error.

`LeastError(bits=8)` sees batch after batch, `see(batch)`, and names a range, `range()`: of all that
was seen, cut at −b and b for the b of the least mean squared error once values have gone through
the steps of the range. The claim: the range ends within what was seen and 0, its error over all
batches is within 5 % of the least that a dense search finds, also where it was asked for in
between, and no batch is written into. Source: Banner et al. (2019), section 3. What makes this file
long are 27 wrong answers, and 21 ways in which a range may be wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import describe
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Look, Mistake, Observation, Size, rng
from helpers.checks.table import entries, wrong_answers
from helpers.lessons.quantization.exercises.figures import Claim, Found, said, what
from helpers.lessons.quantization.exercises.ranges import WAYS, Named, best_bound, cut, joined


def cases(seed: int) -> list[Case]:
    """A wild value among normal ones; a ReLU's; even, one-sided, long-tailed; a very wild one.

    They have 3 to 8 bits, 8 by default. The long-tailed ones are small. Those of 4 bits are best
    cut at other multiples of their deviation, and at other percentiles.
    """
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
    # As wild as a picture that nobody divided by 255. Among few others, to cut that off would cost
    # more than it saves; the many repeat, for then they pack well.
    wild = _batches(random, random.normal(0, 1, 1600), 84)
    wild[1][0, 0] = 255
    made.append(("normal values and one of 255 deviations", wild, 3))
    found = []
    for at, (kind, batches, bits) in enumerate(made):
        given = [(batch * spread[at]).astype(np.float32) for batch in batches]
        args: tuple[Any, ...] = (given, bits) if at != 2 else (given,)
        name = f"With {sum(map(np.size, given))} {kind}, in four batches, and {bits} bits"
        best = best_bound(joined(given), bits)
        found.append(Case(name, (args,), 1, {"again": at == 0}, {"best": best}))
    return found


def _batches(random: Any, values: np.ndarray, repeats: int = 1) -> list[np.ndarray]:
    """Four batches: the second of the largest magnitudes, the last one, of another shape, of the
    smallest: what a range is for one of them it is not for all."""
    quarters = np.split(values[np.argsort(-np.abs(values))], 4)
    mixed = [np.tile(random.permutation(part), repeats) for part in quarters]
    return [mixed[1].reshape(2, -1), mixed[0].reshape(2, -1), mixed[2].reshape(2, -1), mixed[3]]


# What a range is told that is wrong in one of these ways, in the order in which it is asked.
WORDS = """
the high end first
    it goes from {low} to {high}: the low end comes first in the pair.
the last batch alone
    the range is the one of the last batch alone. `range` is for all that `see` was given.
the largest of each batch's
    the cut at {bound} is about what is best for one batch by itself, and for each other batch less
    is best: the largest of these was kept, and {beside}. What is best for all is found with all
    values: keep them, and look for one bound at the end.
kept and not copied
    the range is the one of the last batch of each shape, as often as there were others. The tensor
    that `see` is given holds the next one afterwards, as where a layer writes into its input: keep
    a copy, `batch.clone()`.
shared with another
    the range is the one of all batches and of what another recipe had seen: what is kept belongs to
    an object, `self.seen = []` in `__init__`, and not to the class.
both ends alike
    {range}, and what was seen from {lowest} to {highest}: codes beyond that are wasted, nothing was
    seen there. Cut at −b and b, and let each end be no farther out than the values and 0 are.
beyond what was seen
    {range}, and what was seen, with 0, only from {lowest} to {highest}: codes would be wasted on
    values that do not occur.
another end
    {range}. The cut at {bound} is good, and has another end than that: what was seen, cut there,
    goes from {ends}.
bounds of a fixed size
    values are cut at {bound}, and they reach only {top}, as small as a weight's may be. Are your
    candidates of a fixed size? Make them parts of the largest magnitude.
too far out
    values are cut at {bound}, {times} times as far as is best: {beside}. They may reach a hundred
    times as far as a good range: try small parts of the largest magnitude too.
nothing is ever cut
    {range}. Nothing is cut off, and steps are coarse: {beside}.
the largest value, not magnitude
    values are cut at {bound}. They end at {highest}, which is the largest value, and they reach
    down to −{top}: a cut is made on both sides of 0. Look for it up to the largest magnitude,
    `values.abs().max()`.
the largest magnitude is no candidate
    values are cut at {bound}, and nothing is to be: {top} belongs among the candidates.
a fixed number of standard deviations
    the cut at {bound} is at {deviations} standard deviations: {beside}. What is best depends on the
    bits and on the shape of the values: try bounds and compare their errors.
a fixed percentile
    {within} % of the magnitudes lie within {bound}, where you cut: {beside}. For all values and all
    bits no fixed percentile is best: try bounds and compare their errors.
what is cut off costs nothing
    the cut at {bound} takes {beyond} % of the values. These lose more than all others gain by finer
    steps: compare with all values, before any was cut; {beside}.
steps on both sides of 0
    the cut at {bound} would be about best if steps went from −{bound} to {bound}. The values lie on
    a single side of 0, and so do all steps of the range that you name; {beside}.
always 8 bits
    the cut at {bound} is about best for codes of 8 bits: hand the {bits} `bits` on.
least absolute error
    the cut at {bound} has about the least mean absolute error, which hardly minds a few values far
    off; the squared one does: {beside}.
least largest error
    the cut at {bound} makes the largest single error about as small as can be, for one value; the
    mean over all was asked for: {beside}.
near the best
    the cut at {bound} is of the right size and not yet the best: {beside}. Was a bound near that
    among those that you tried, and compared by the mean squared error of all values?
"""


def _family(is_so: Callable[[Named], bool], words: str) -> Look:
    def look(case: Case, seen: Observation) -> str | None:
        n = Named(case, seen)
        return words.format(**numbers(case, seen)) if n.is_pair and is_so(n) else None

    return look


@Claim
def claim(case: Case, seen: Observation) -> Iterator[Found]:
    """A range within what was seen, whose squared error is nearly the least; nothing changed."""
    n, told = Named(case, seen), numbers(case, seen)
    if not n.is_pair:
        yield f"`range` gave {told['value']}; two numbers were asked for.", what(n.value)
    ends = f"{told['low']} to {told['high']}"
    if not n.is_inside:
        yield (
            f"{told['range']}, and what was seen and 0 go from {told['lowest']} to "
            f"{told['highest']}."
        )
    if not n.is_good(n.low, n.high):
        yield f"{told['range']}: {told['beside']}."
    if seen.values[0]["changed"]:
        yield (
            "`see` wrote into a batch, which the model computes with after you: work on a copy. "
            "Functions whose names end in `_`, and `out=`, change their tensor."
        )
    again = seen.values[0]["again"]
    if again and not n.is_good(*map(float, again[2])):
        last = " to ".join(said(float(end)) for end in again[2])
        if again[2] == again[0]:
            yield (
                "a recipe that was asked for its range after the first batch names the same one at "
                f"the end, {last}, where it is {ends} by then: find it anew from all that was seen."
            )
        yield (
            f"a recipe that was asked for its range after the first batches too names {last} at "
            f"the end, and one that was not, {ends}. `range` only names: leave what was seen as it "
            "is."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the bound beside the best one, and where it lies among the values."""
    n = Named(case, seen)
    figures = ("bound", "low", "high", "top", "lowest", "highest")
    return {
        **{name: said(getattr(n, name)) for name in figures},
        "value": describe(n.value),
        "ends": " to ".join(map(said, cut(n.values, n.bound))),
        "range": f"the range goes from {said(n.low)} to {said(n.high)}",
        "bits": n.bits,
        "times": f"{n.bound / n.best:.2g}",
        "beside": f"it leaves a mean squared error of {said(n.left(n.low, n.high))}, where a cut "
        f"at about {said(float(f'{n.best:.2g}'))} leaves {said(n.least)}",
        "deviations": f"{n.deviations():g}",
        "within": f"{100 - 100 * n.beyond():.4g}",
        "beyond": f"{100 * n.beyond():.0f}",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    n, last = Named(cases[0], seen[0]), Named(cases[-1], seen[-1])
    left, whole = (n.left(*cut(n.values, bound)) for bound in (n.bound, n.top))
    return (
        f"Passed: with one value of {said(n.top)} among {n.values.size} and {n.bits} bits, cutting "
        f"at {said(n.bound)} leaves an error {whole / left:.1f} times smaller "
        f"than cutting nothing. With one of {said(last.top)} among {last.values.size} and "
        f"{last.bits} bits, you cut at {said(last.bound)}."
    )


def batch_by_batch(fn: Function, case: Case) -> Observation:
    """Make `fn(bits)`, let it see one batch after the other, and ask for its range.

    The case's arguments: the batches, and the bits, or none for its own. Another one is made too,
    which sees the first batch, four times as large. Batches of one shape come in one tensor, each
    in its turn. `values[0]`: "given", what it named; "changed", whether it wrote into a batch;
    "again", where the case's options ask for it, what a third one named that sees the same batches,
    after the first, the second and the last.
    """
    batches, *bits = tensors(case.args[0])
    trouble = wrong_signature(fn, len(bits))
    if trouble:
        return trouble
    places: dict[torch.Size, Tensor] = {}
    changed, again = False, list[Any]()
    try:
        other, mine = fn(*bits), fn(*bits)
        other.see(4 * batches[0])
        for batch in batches:
            place = places.setdefault(batch.shape, torch.empty_like(batch)).copy_(batch)
            mine.see(place)
            changed = changed or not torch.equal(place, batch)
        given, third = plain(mine.range()), fn(*bits)
        for at, batch in enumerate(batches if case.options.get("again") else []):
            third.see(batch)
            if at != 2:
                again.append(plain(third.range()))
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[{"given": given, "changed": changed, "again": again}])


class Recipe:
    """The course's own in a few lines: keeps all values, and cuts them where they err least."""

    def __init__(self, bits: int = 8) -> None:
        self.bits, self.seen = bits, list[Any]()

    def see(self, batch: Any) -> None:
        """Keep one more batch."""
        self.seen.append(batch.flatten().clone())

    def range(self) -> Any:
        """The range of all that was kept."""
        values = torch.cat(self.seen)
        return cut(values, best(values, self.bits))


def best(values: Any, bits: int) -> float:
    """Of many bounds that which errs least."""
    top = float(values.abs().max())
    bounds = [top * 0.98**n for n in range(500)]
    return min(bounds, key=lambda bound: error(values, *cut(values, bound), bits))


def error(values: Any, low: float, high: float, bits: int) -> float:
    """The mean squared error that the steps of a range leave."""
    step = (high - low) / (2**bits - 1)
    left = torch.clamp(step * torch.round(values / step), low, high)
    return float((left - values).square().mean())


def reference(bits: int = 8) -> Any:
    """The course's own, which takes the steps that the lesson gives."""
    from helpers.lessons.quantization.algorithms.calibration import LeastError

    return LeastError(bits, best)


WRONG = """
min–max
    | cut(values, best(values, self.bits)) => (values.min(), values.max())
    ? Nothing is cut off
a percentile
    | best(values, self.bits) => float(torch.quantile(values.abs(), 0.999))
    ? no fixed percentile is
rounding alone
    | error(values, *cut => error(values.clamp(-bound, bound), *cut
    ? lose more than all
three deviations
    | best(values, self.bits) => 3 * float(values.std())
    ? 3 standard deviations
absolute error
    | .square() => .abs()
    ? mean absolute error
largest error
    | .square().mean() => .abs().max()
    ? largest single error
steps on both sides
    | *cut(values, bound) => -bound, bound
    ? a single side of 0
halved again and again
    | 0.98**n for n in range(500) => 0.5**n for n in range(16)
    the bound {bound} is the largest magnitude halved so and so often, and better ones lie between
    two of these: {beside}. Take candidates that are closer together.
every sixtieth value
    | best(values, self.bits) => best(values[::60], self.bits)
    ? of the right size
stops at a quarter
    | range(500) => range(70)
    ? times as far as
for 8 bits
    | (2**bits - 1) => 255
    | 0.98**n for n in range(500) => n / 300 for n in range(1, 301)
    ? codes of 8 bits
up to the largest value
    | values.abs().max() => values.max()
    ? the largest value, and
without the top
    | 0.98**n for n in range(500) => n / 300 for n in range(1, 299)
    ? among the candidates
bounds from 0.01
    | [top * 0.98**n for n in range(500)] => torch.linspace(0.01, top, 300).tolist()
    ? as small as a weight's may be
a little more than all
    | cut(values, best(values, self.bits)) => (1.1 * values.min(), 1.1 * values.max())
    ? values that do not occur
from −b to b
    | cut(values, best(values, self.bits)) => (-(bound := best(values, self.bits)), bound)
    ? nothing was seen there
from 0 on
    | return cut => return 0.0, cut
    | best(values, self.bits)) => best(values, self.bits))[1]
    ? another end than
high, low
    | best(values, self.bits)) => best(values, self.bits))[::-1]
    ? the low end comes first
the bound alone
    | cut(values, best(values, self.bits)) => best(values, self.bits)
    `range` gave {value}: it names both ends, the low and the high one.
the last batch alone
    | self.seen.append(batch.flatten().clone()) => self.seen = [batch.flatten().clone()]
    ? the last batch alone
batch by batch
    | best(values, self.bits) => max(best(batch, self.bits) for batch in self.seen)
    ? the largest of these
kept and not copied
    | .clone() =>
    ? holds the next one
kept in the class
    | bits: int = 8 => bits: int = 8, seen: Any = []
    | list[Any]() => seen
    ? another recipe had seen
the numbers in tensors
    | cut(values, best(values, self.bits))
        => torch.tensor(cut(values, best(values, self.bits))).split(1)
    `range` gave {value}: take the numbers out of their tensors, by `float`.
emptied when asked
    | values = torch.cat(self.seen) => values, self.seen = torch.cat(self.seen), []
    ! claim
found once and kept
    | return cut => self.ends = getattr(self, "ends", None) or cut
    | best(values, self.bits)) => best(values, self.bits)); return self.ends
    ! claim
a batch written into
    | .clone()) => .clone()); batch.abs_()
    ! claim
"""

EXERCISE = Exercise(
    number="11.4",
    title="A recipe for a range",
    size=Size(stars=2, minutes=15, points=3),
    function="LeastError",
    asks=(
        "an observer: `see(batch)` looks at one more batch; `range()` names the range of all that "
        "was seen, cut at −b and b for the b whose `round_trip(values, low, high, bits)` has the "
        "least mean squared error; within 5 % of the least."
    ),
    cases=cases,
    drive=batch_by_batch,
    claim=claim,
    mistakes=tuple(
        Mistake(way.name, _family(WAYS[way.name], way.sentence)) for way in entries("11.4", WORDS)
    ),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=claim.compared,
    wrong=wrong_answers("11.4", WRONG, (Recipe, best, error), claim),
    ranked=False,
)
