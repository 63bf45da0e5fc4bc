"""Drawing with one thing wrong (16.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Places = Callable[[int, int, int], Any]


def _drawing(
    places: Places,
    names: Callable[[Mapping[str, Any]], Any] = sorted,
    at: Callable[[Any, float], Any] = lambda its, place: its.at(place),
) -> Callable[..., Any]:
    """Drawing with a part exchanged. places: so many, of a seed and a trial."""

    def draw(space: Mapping[str, Any], trial: int, seed: int = 0) -> dict[str, Any]:
        found = places(seed, trial, len(space))
        return {name: at(space[name], float(p)) for name, p in zip(names(space), found)}  # noqa: B905

    return draw


def _of(seeds: Callable[[int, int], Any]) -> Places:
    return lambda seed, trial, n: np.random.default_rng(seeds(seed, trial)).random(n)


_both = _of(lambda seed, trial: [seed, trial])
_one = np.random.default_rng(0)


def _anew(seed: int, trial: int, n: int) -> Any:
    np.random.seed([seed, trial])
    return np.random.random(n)


def _by_differences(its: Any, place: float) -> Any:
    if hasattr(its, "low"):
        return its.low + place * (its.high - its.low)
    return its.at(place)


def _by_rounding(its: Any, place: float) -> Any:
    if hasattr(its, "options"):
        return its.options[round(place * (len(its.options) - 1))]
    return its.at(place)


goes_on = _drawing(lambda seed, trial, n: _one.random(n))
unseeded = _drawing(lambda seed, trial, n: np.random.random(n))
seeds_all = _drawing(_anew)
adds = _drawing(_of(lambda seed, trial: seed + trial))
hundreds = _drawing(_of(lambda seed, trial: 100 * seed + trial))
thousands = _drawing(_of(lambda seed, trial: 1000 * seed + trial))
glued = _drawing(_of(lambda seed, trial: int(f"{seed}{trial}")))
times = _drawing(_of(lambda seed, trial: seed * trial))
hashed = _drawing(_of(lambda seed, trial: hash(f"{seed}-{trial}") % 2**32))
no_seed = _drawing(_of(lambda seed, trial: trial))
no_trial = _drawing(_of(lambda seed, trial: seed))
one_place = _drawing(lambda seed, trial, n: [_both(seed, trial, 1)[0]] * n)
linear = _drawing(_both, at=_by_differences)
rounds = _drawing(_both, at=_by_rounding)
as_named = _drawing(_both, names=list)


def by_length(space: Mapping[str, Any], trial: int, seed: int = 0) -> dict[str, Any]:
    """A generator for each name, seeded with how long the name is."""
    return {
        name: space[name].at(float(np.random.default_rng([seed, trial, len(name)]).random()))
        for name in space
    }
