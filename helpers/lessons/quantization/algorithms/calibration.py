"""Which range a tensor's codes should cover, found by watching the tensor on a few batches.

A wide range makes every step coarse; a narrow one cuts values off. An observer sees batch after
batch and then names a range. Sources: Jacob et al. (2018), section 3.1, for the moving average;
Migacz, "8-bit Inference with TensorRT" (GTC 2017), for entropy; Banner et al., "Post Training
4-bit Quantization of Convolutional Networks for Rapid-Deployment" (2019), for the least error.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.lessons.quantization.algorithms.quantization import (
    affine_grid,
    check_bits,
    check_values,
    squared_error,
    symmetric_grid,
)

ROOM = 2**20  # values that an observer keeps at most
BINS = 8192  # of a histogram of magnitudes


class Observer:
    """Sees batches and names the range from the lowest to the highest value that shall have a code.

    bits: of the codes to come, for the observers that weigh steps against cuts.
    """

    def __init__(self, bits: int = 8) -> None:
        check_bits(bits)
        self.bits = bits
        self.batches = 0

    def see(self, batch: Tensor) -> None:
        """Take a batch into account; of any shape, finite. An empty one counts for nothing."""
        check_values(batch)
        if batch.numel():
            self._take(batch.detach())
            self.batches += 1

    def range(self) -> tuple[float, float]:
        """The low and the high end. Raises ValueError before anything was seen."""
        if not self.batches:
            raise ValueError("An observer that has seen no values names no range: call see first.")
        return self._range()

    def _take(self, batch: Tensor) -> None:
        raise NotImplementedError

    def _range(self) -> tuple[float, float]:
        raise NotImplementedError


class MinMax(Observer):
    """From the lowest to the highest value seen: nothing is cut off, and one wild value rules."""

    low, high = float("inf"), float("-inf")

    def _take(self, batch: Tensor) -> None:
        low, high = _ends(batch)
        self.low, self.high = min(self.low, low), max(self.high, high)

    def _range(self) -> tuple[float, float]:
        return self.low, self.high


class MovingAverage(Observer):
    """The ends of each batch, averaged: when a batch comes, 0.9 of the old average stay."""

    low = high = 0.0

    def _take(self, batch: Tensor) -> None:
        low, high = _ends(batch)
        kept = 0.9 if self.batches else 0.0
        self.low = kept * self.low + (1 - kept) * low
        self.high = kept * self.high + (1 - kept) * high

    def _range(self) -> tuple[float, float]:
        return self.low, self.high


class Keeper(Observer):
    """Keeps the values themselves; once there are too many, some of them, drawn by chance.

    Every n-th one would be of the same columns of each picture. What is drawn is the same in every
    run.
    """

    def __init__(self, bits: int = 8) -> None:
        super().__init__(bits)
        self._parts: list[Tensor] = []
        self._every = self._draws = 1

    def _take(self, batch: Tensor) -> None:
        self._parts.append(self._drawn(batch.flatten(), self._every))
        while sum(map(len, self._parts)) > ROOM:
            self._every *= 2
            self._parts = [self._drawn(part, 2) for part in self._parts]

    def _drawn(self, values: Tensor, every: int) -> Tensor:
        """One in `every` values, rounded up."""
        if every == 1:
            return values.clone()
        self._draws += 1
        chance = torch.Generator().manual_seed(self._draws)
        places = torch.randperm(len(values), generator=chance)[: -(-len(values) // every)]
        return values[places.to(values.device)]

    def values(self) -> Tensor:
        """What was kept, 1-d."""
        return torch.cat(self._parts)

    def _within(self, bound: float) -> tuple[float, float]:
        """The range that was seen, widened to hold 0, and cut at −bound and bound."""
        return _cut(self.values(), bound)


class Percentile(Keeper):
    """Leaves out the same small part of the values at either end.

    percent: of the values that lie below the high end, and above the low end; above 50.
    """

    def __init__(self, percent: float = 99.9, bits: int = 8) -> None:
        super().__init__(bits)
        if not 50 < percent <= 100:
            raise ValueError(f"A percentile for a range is above 50 and at most 100, not {percent}")
        self.percent = percent

    def _range(self) -> tuple[float, float]:
        ordered = self.values().sort().values
        left_out = int(len(ordered) * (100 - self.percent) / 100 + 1e-9)  # 9.999… means 10
        return float(ordered[left_out]), float(ordered[len(ordered) - 1 - left_out])


def least_error_cut(values: Tensor, bits: int) -> float:
    """The bound to cut magnitudes at so that codes of the range, widened to hold 0, err least."""

    def error(bound: float) -> float:
        return squared_error(values, affine_grid(*_cut(values, bound), bits))

    return _least(error, float(values.abs().max()))


class LeastError(Keeper):
    """Cuts magnitudes off where the mean squared error of codes is least on what was seen.

    search: names the bound, of the values and the number of bits; `best_bound` is one too.
    """

    def __init__(
        self, bits: int = 8, search: Callable[[Tensor, int], float] = least_error_cut
    ) -> None:
        super().__init__(bits)
        self.search = search

    def _range(self) -> tuple[float, float]:
        return self._within(self.search(self.values(), self.bits))


class Entropy(Keeper):
    """Cuts magnitudes off where codes keep most of the distribution's information.

    Magnitudes go into a histogram, except zeros, which have a code in any case. For every place to
    cut it, the cut-off values join the last bin (that is P), and the bins are merged into as many
    levels as there are codes and spread out again (that is Q); the cut with the least
    Kullback-Leibler divergence of P from Q is taken. The histogram ends at sixteen times the 99th
    percentile at the latest: one wild value would squeeze all others into its first bins. That is
    an addition to Migacz's method.
    """

    def _range(self) -> tuple[float, float]:
        values = self.values()
        magnitudes = values[values != 0].abs().double()
        if not len(magnitudes):
            return 0.0, 0.0
        top = float(torch.minimum(magnitudes.max(), 16 * magnitudes.quantile(0.99)))
        bins = torch.histc(magnitudes, BINS, min=0, max=top).cpu()  # leaves out what is beyond
        beyond = float((magnitudes > top).sum())
        both_signs = bool(values.min() < 0 < values.max())
        levels = 2 ** (self.bits - both_signs)
        cuts = [*range(levels, BINS, max(levels // 8, BINS // 256)), BINS]
        best = min(cuts, key=lambda cut: _divergence(bins, beyond, cut, levels))
        return self._within(top * best / BINS)


OBSERVERS: dict[str, type[Observer]] = {
    "min-max": MinMax,
    "moving average": MovingAverage,
    "percentile": Percentile,
    "entropy": Entropy,
}
OBSERVERS["least error"] = LeastError  # for itself: a copy of the course without it has the others


# A kind by its name, or a function that makes one for codes of some bits.
Kind = str | Callable[[int], Observer]


def observer(kind: Kind, bits: int = 8) -> Observer:
    """A new observer: by the name of its kind, one of OBSERVERS, or what `kind(bits)` makes.

    Example: `observer(lambda bits: Percentile(99, bits))` leaves out more than the usual.
    """
    if not isinstance(kind, str):
        return kind(bits)
    if kind not in OBSERVERS:
        raise ValueError(f"There is no observer {kind!r}; there are: {', '.join(OBSERVERS)}.")
    return OBSERVERS[kind](bits=bits)


def best_bound(values: Tensor, bits: int = 8) -> float:
    """The bound of the symmetric grid whose round trip has the least mean squared error.

    values: any shape, finite, at least one. Among the candidates is the largest magnitude, so the
    result is never worse than cutting nothing off.
    """
    check_values(values)
    if not values.numel():
        raise ValueError("There is no best range for no values.")
    return _least(
        lambda bound: squared_error(values, symmetric_grid(bound, bits)),
        float(values.detach().abs().max()),
    )


def _least(error: Callable[[float], float], top: float) -> float:
    """The bound up to `top` of the least error: by quarters of an octave, then between those."""
    if top == 0:
        return 0.0
    coarse = [top * 2 ** (-step / 4) for step in range(65)]
    near = min(coarse, key=error)
    fine = [near * 2 ** (step / 64) for step in range(-16, 17)]
    return min([near, *(bound for bound in fine if bound <= top)], key=error)


def _divergence(bins: Tensor, beyond: float, cut: int, levels: int) -> float:
    """The divergence of the first `cut` bins, with all that is cut off, from their `levels`."""
    kept = bins[:cut]
    p = kept.clone()
    p[-1] += bins[cut:].sum() + beyond
    level = torch.arange(cut) * levels // cut
    full = (kept > 0).double()
    count = torch.bincount(level, weights=full, minlength=levels)
    mean = torch.bincount(level, weights=kept, minlength=levels) / count.clamp(min=1)
    q = (mean[level] * full).clamp(min=1e-4)  # what no level holds is unlikely, not impossible
    p, q = p / p.sum(), q / q.sum()
    return float(torch.special.xlogy(p, p / q).sum())


def _cut(values: Tensor, bound: float) -> tuple[float, float]:
    """The range of some values, widened to hold 0, and cut at −bound and bound."""
    low, high = _ends(values)
    return max(min(low, 0.0), -bound), min(max(high, 0.0), bound)


def _ends(batch: Tensor) -> tuple[float, float]:
    low, high = batch.aminmax()
    return float(low), float(high)
