"""Observers: which range they name for values that are tame, skewed or wild."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.quantization.algorithms.calibration import (
    OBSERVERS,
    MovingAverage,
    Observer,
    Percentile,
    best_bound,
    observer,
)
from helpers.lessons.quantization.algorithms.quantization import (
    affine_grid,
    squared_error,
    symmetric_grid,
)

AT_EASE = settings(max_examples=15)


def values(count: int = 20_000, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, generator=torch.Generator().manual_seed(seed))


def seen(watcher: Observer, *batches: torch.Tensor) -> tuple[float, float]:
    for batch in batches:
        watcher.see(batch)
    return watcher.range()


@pytest.mark.parametrize("name", OBSERVERS)
def test_what_every_observer_does(name):
    low, high = seen(observer(name), values().relu())
    assert low == 0 and 2.5 < high < 5
    assert seen(observer(name), torch.zeros(2, 3)) == (0, 0)
    with pytest.raises(ValueError, match="has seen no values"):
        observer(name).range()
    with pytest.raises(ValueError, match="find it first"):
        observer(name).see(torch.tensor([1.0, float("nan")]))


def test_some_cut_one_wild_value_off():
    for name, wild in (("percentile", -1e6), ("entropy", 30.0)):
        low, high = seen(observer(name), values(), torch.tensor([wild]))
        assert -5 < low < -2.5 and 2.5 < high < 5
    with pytest.raises(ValueError, match="there are: min-max"):
        observer("maximum")


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_the_least_error_is_no_worse_than_any_other_range(bits):
    batch = values(5000) ** 3
    errors = {}
    for name in OBSERVERS:
        watcher = observer(name, bits)
        errors[name] = squared_error(batch, affine_grid(*seen(watcher, batch), bits))
    assert errors["least error"] <= min(errors.values()) * 1.02


def test_a_moving_average_forgets_and_a_percentile_leaves_out_as_much_at_either_end():
    watcher = MovingAverage()
    assert seen(watcher, torch.tensor([-4.0, 8.0])) == (-4, 8)
    assert seen(watcher, torch.tensor([0.0, 4.0])) == pytest.approx((-3.6, 7.6))
    assert seen(Percentile(99), torch.arange(1000.0)) == (10, 989)


@AT_EASE
@given(st.integers(2, 8), st.integers(0, 100), st.integers(1, 300))
def test_the_best_bound_is_no_worse_than_the_largest_magnitude(bits, seed, count):
    batch = values(count, seed) ** 3
    bound, top = best_bound(batch, bits), float(batch.abs().max())
    assert 0 < bound <= top
    grids = [symmetric_grid(b, bits) for b in (bound, top)]
    assert squared_error(batch, grids[0]) <= squared_error(batch, grids[1])
    # It cuts only where it pays.
    assert best_bound(torch.linspace(-1, 1, 2001)) == pytest.approx(1, rel=0.02)
    assert best_bound(torch.zeros(3)) == 0
