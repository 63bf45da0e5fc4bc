"""Wrong answers to exercise 11.4, each with one thing exchanged; and what is said to their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch


def _round_trip(values: Any, low: float, high: float, bits: int) -> Any:
    """What the lesson gives, in other words: a copy in a release would look like a leak."""
    step = (max(high, 0) - min(low, 0)) / (2**bits - 1)
    return torch.clamp(step * torch.round(values / step), min(low, 0), max(high, 0))


def _cut(values: Any, bound: float) -> tuple[float, float]:
    return max(float(values.min()), -bound), min(float(values.max()), bound)


def _off(values: Any, ends: tuple[float, float], bits: int) -> Any:
    return (_round_trip(values, *ends, bits) - values).abs()


def _squared(values: Any, ends: tuple[float, float], bits: int) -> float:
    return float(_off(values, ends, bits).square().mean())


def _powers(values: Any, factor: float = 0.98, many: int = 500) -> list[float]:
    return [float(values.abs().max()) * factor**n for n in range(many)]


def _parts(of: float) -> list[float]:
    return [of * n / 300 for n in range(1, 301)]


def _to_the_top(values: Any) -> list[float]:
    return _parts(float(values.abs().max()))


def _least(
    tries: Callable[[Any], list[float]] = _powers,
    error: Callable[[Any, tuple[float, float], int], float] = _squared,
) -> Callable[[Any, int], Any]:
    """The range of some values that errs least, of those that some bounds cut."""

    def find(values: Any, bits: int) -> Any:
        return min((_cut(values, b) for b in tries(values)), key=lambda e: error(values, e, bits))

    return find


least = _least()


class _Recipe:
    """Keeps all values, and names a range by `search(values, bits)`."""

    search: Callable[[Any, int], Any] = staticmethod(least)

    def __init__(self, bits: int = 8) -> None:
        self.bits, self.seen = bits, list[Any]()

    def see(self, batch: Any) -> None:
        self.seen.append(batch.flatten().clone())

    def range(self) -> Any:
        return type(self).search(torch.cat(self.seen), self.bits)


def _with(named: Callable[[Any, int], Any]) -> type[_Recipe]:
    class LeastError(_Recipe):
        search = staticmethod(named)

    return LeastError


def _given(change: Callable[[float, float], Any]) -> type[_Recipe]:
    """Something else is given than the two ends."""
    return _with(lambda values, bits: change(*least(values, bits)))


# --- the search -----------------------------------------------------------------------------------

absolute = _with(_least(error=lambda v, ends, bits: float(_off(v, ends, bits).mean())))
largest_error = _with(_least(error=lambda v, ends, bits: float(_off(v, ends, bits).max())))
# Compares with the values that were cut already.
rounding_alone = _with(_least(error=lambda v, ends, bits: _squared(v.clamp(*ends), ends, bits)))
eight_bits = _with(_least(_to_the_top, lambda v, ends, bits: _squared(v, ends, 8)))
both_sides = _with(
    _least(error=lambda v, e, bits: _squared(v, (min(e[0], -e[1]), max(e[1], -e[0])), bits))
)
few_candidates = _with(_least(lambda values: _powers(values, 0.5, 16)))
HALVED = (
    "the bound {bound} is the largest magnitude halved so and so often, and better ones lie "
    "between two of these: {beside}. Take candidates that are closer together."
)
stops_early = _with(_least(lambda values: _powers(values, many=70)))
every_sixtieth = _with(lambda v, bits: _cut(v, max(map(abs, least(v[::60], bits)))))
fixed_size = _with(_least(lambda v: torch.linspace(0.01, float(v.abs().max()), 300).tolist()))
largest_value = _with(_least(lambda values: _parts(float(values.max()))))
without_the_top = _with(_least(lambda values: _to_the_top(values)[:-2]))
min_max = _with(lambda values, bits: (values.min(), values.max()))
percentile = _with(lambda values, bits: _cut(values, float(torch.quantile(values.abs(), 0.999))))
three_deviations = _with(lambda values, bits: _cut(values, 3 * float(values.std())))

# --- what is given --------------------------------------------------------------------------------

beyond = _with(lambda values, bits: (1.1 * values.min(), 1.1 * values.max()))
both_alike = _given(lambda low, high: (-max(-low, high), max(-low, high)))
from_0_on = _given(lambda low, high: (0.0, high))
high_first = _given(lambda low, high: (high, low))
bound_alone = _given(lambda low, high: max(-low, high))
BOUND_ALONE = "`range` gave {value}: it names both ends, the low and the high one."
in_tensors = _given(lambda low, high: (torch.tensor([low]), torch.tensor([high])))
IN_TENSORS = "`range` gave {value}: take the numbers out of their tensors, by `float`."

# --- what is kept ---------------------------------------------------------------------------------


class last_batch(_Recipe):
    def see(self, batch: Any) -> None:
        self.seen = [batch.flatten().clone()]


class batch_by_batch(_Recipe):
    def range(self) -> Any:
        bounds = (max(map(abs, least(batch, self.bits))) for batch in self.seen)
        return _cut(torch.cat(self.seen), max(bounds))


class not_copied(_Recipe):
    def see(self, batch: Any) -> None:
        self.seen.append(batch.flatten())


class in_the_class(_Recipe):
    kept: ClassVar[list[Any]] = []

    def __init__(self, bits: int = 8) -> None:
        super().__init__(bits)
        self.seen = self.kept


class emptied(_Recipe):
    def range(self) -> Any:
        ends, self.seen = super().range(), []
        return ends


class found_once(_Recipe):
    ends: Any = None

    def range(self) -> Any:
        self.ends = self.ends or super().range()
        return self.ends


EMPTIED = (
    "a recipe that was asked for its range after the first batches too names … at the end, and one "
    "that was not, {low} to {high}. `range` only names: leave what was seen as it is."
)
KEPT = (
    "a recipe that was asked for its range after the first batch names the same one at the end, "
    "…, where it is {low} to {high} by then: find it anew from all that was seen."
)


class in_place(_Recipe):
    def see(self, batch: Any) -> None:
        super().see(batch)
        batch.abs_()


IN_PLACE = (
    "`see` wrote into a batch, which the model computes with after you: work on a copy. Functions "
    "whose names end in `_`, and `out=`, change their tensor."
)


# What a range is told that is wrong in one of these ways, in the order in which it is asked.
WORDS = {
    "the high end first": ("it goes from {low} to {high}: the low end comes first in the pair."),
    "the last batch alone": (
        "the range is the one of the last batch alone. `range` is for all that `see` was given."
    ),
    "the largest of each batch's": (
        "the cut at {bound} is about what is best for one batch by itself, and for each other "
        "batch less is best: the largest of these was kept, and {beside}. What is best for all is "
        "found with all values: keep them, and look for one bound at the end."
    ),
    "kept and not copied": (
        "the range is the one of the last batch of each shape, as often as there were others. The "
        "tensor that `see` is given holds the next one afterwards, as where a layer writes into "
        "its input: keep a copy, `batch.clone()`."
    ),
    "shared with another": (
        "the range is the one of all batches and of what another recipe had seen: what is kept "
        "belongs to an object, `self.seen = []` in `__init__`, and not to the class."
    ),
    "both ends alike": (
        "the range goes from {low} to {high}, and what was seen from {lowest} to {largest}: codes "
        "beyond that are wasted, nothing was seen there. Cut at −b and b, and let each end be no "
        "farther out than the values and 0 are."
    ),
    "beyond what was seen": (
        "the range goes from {low} to {high}, and what was seen, with 0, only from {lowest} to "
        "{largest}: codes would be wasted on values that do not occur."
    ),
    "another end": (
        "the range goes from {low} to {high}. The cut at {bound} is good, and has another end than "
        "that: what was seen, cut there, goes from {ends}."
    ),
    "bounds of a fixed size": (
        "values are cut at {bound}, and they reach only {top}, as small as a weight's may be. "
        "Are your candidates of a fixed size? Make them parts of the largest magnitude."
    ),
    "too far out": (
        "values are cut at {bound}, {times} times as far as is best: {beside}. They may reach a "
        "hundred times as far as a good range: try small parts of the largest magnitude too."
    ),
    "nothing is ever cut": (
        "the range goes from {low} to {high}. Nothing is cut off, and steps are coarse: {beside}."
    ),
    "the largest value, not magnitude": (
        "values are cut at {bound}. They end at {largest}, which is the largest value, and they "
        "reach down to −{top}: a cut is made on both sides of 0. Look for it up to the largest "
        "magnitude, `values.abs().max()`."
    ),
    "the largest magnitude is no candidate": (
        "values are cut at {bound}, and nothing is to be: {top} belongs among the candidates."
    ),
    "a fixed number of standard deviations": (
        "the cut at {bound} is at {deviations} standard deviations: {beside}. What is best depends "
        "on the bits and on the shape of the values: try bounds and compare their errors."
    ),
    "a fixed percentile": (
        "{within} % of the magnitudes lie within {bound}, where you cut: {beside}. For all values "
        "and all bits no fixed percentile is best: try bounds and compare their errors."
    ),
    "what is cut off costs nothing": (
        "the cut at {bound} takes {beyond} % of the values. These lose more than all others gain "
        "by finer steps: compare with all values, before any was cut; {beside}."
    ),
    "steps on both sides of 0": (
        "the cut at {bound} would be about best if steps went from −{bound} to {bound}. The values "
        "lie on a single side of 0, and so do all steps of the range that you name; {beside}."
    ),
    "always 8 bits": (
        "the cut at {bound} is about best for codes of 8 bits: hand the {bits} `bits` on."
    ),
    "least absolute error": (
        "the cut at {bound} has about the least mean absolute error, which hardly minds a few "
        "values far off; the squared one does: {beside}."
    ),
    "least largest error": (
        "the cut at {bound} makes the largest single error about as small as can be, for one "
        "value; the mean over all was asked for: {beside}."
    ),
    "near the best": (
        "the cut at {bound} is of the right size and not yet the best: {beside}. Was a bound near "
        "that among those that you tried, and compared by the mean squared error of all values?"
    ),
}
