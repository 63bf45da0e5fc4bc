"""Observers: which range they name for values that are tame, skewed or wild."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.algorithms.quantization.calibration import (
    OBSERVERS,
    ROOM,
    Entropy,
    MinMax,
    MovingAverage,
    Observer,
    Percentile,
    best_bound,
    observer,
)
from helpers.algorithms.quantization.quantization import affine_grid, squared_error, symmetric_grid

AT_EASE = settings(deadline=None, max_examples=40)


def values(count: int = 20_000, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, generator=torch.Generator().manual_seed(seed))


def seen(watcher: Observer, *batches: torch.Tensor) -> tuple[float, float]:
    for batch in batches:
        watcher.see(batch)
    return watcher.range()


@pytest.mark.parametrize("name", OBSERVERS)
def test_tame_values_are_covered(name):
    low, high = seen(observer(name), *values().view(10, -1))
    assert -5 < low < -2.5 and 2.5 < high < 5


@pytest.mark.parametrize("name", OBSERVERS)
def test_a_range_of_positive_values_reaches_from_zero(name):
    low, high = seen(observer(name), values().relu())
    assert low == 0 and 2.5 < high < 5


@pytest.mark.parametrize("name", OBSERVERS)
def test_zeros_alone(name):
    low, high = seen(observer(name), torch.zeros(2, 3))
    assert low == high == 0
    assert affine_grid(low, high).round_trip(torch.zeros(1)) == 0


@pytest.mark.parametrize("name", ["percentile", "entropy"])
@pytest.mark.parametrize("wild", [30.0, 1000.0, -1e6])
def test_one_wild_value_is_cut_off(name, wild):
    low, high = seen(observer(name), values(), torch.tensor([wild]))
    assert -5 < low < -2.5 and 2.5 < high < 5


def test_the_least_error_weighs_what_a_cut_costs():
    wild = torch.tensor([12.0])
    few = observer("least error", bits=4)
    assert seen(few, values(), wild)[1] < 4  # of 16 codes none is left for one value
    many = observer("least error", bits=8)
    assert seen(many, values(), wild)[1] > 4  # of 256 some are


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_the_least_error_is_no_worse_than_any_other_range(bits):
    batch = values(5000) ** 3
    errors = {}
    for name in OBSERVERS:
        watcher = observer(name, bits)
        errors[name] = squared_error(batch, affine_grid(*seen(watcher, batch), bits))
    assert errors["least error"] <= min(errors.values()) * 1.02


def test_min_max_sees_every_end():
    assert seen(MinMax(), torch.tensor([1.0, 2.0]), torch.tensor([[-3.0]])) == (-3, 2)


def test_a_moving_average_forgets():
    watcher = MovingAverage(momentum=0.75)
    assert seen(watcher, torch.tensor([-4.0, 8.0])) == (-4, 8)
    assert seen(watcher, torch.tensor([0.0, 4.0])) == (-3, 7)


def test_a_percentile_leaves_out_as_much_at_either_end():
    line = torch.arange(1000.0)
    assert seen(Percentile(99), line) == (10, 989)
    assert seen(Percentile(100), line) == (0, 999)


def test_more_values_than_there_is_room_for():
    watcher = Percentile(99)
    for start in range(0, 3 * ROOM, ROOM // 2):
        watcher.see(torch.arange(start, start + ROOM // 2, dtype=torch.float64) / (3 * ROOM))
    assert len(watcher.values()) <= ROOM
    low, high = watcher.range()
    assert low == pytest.approx(0.01, abs=1e-3) and high == pytest.approx(0.99, abs=1e-3)


@AT_EASE
@given(st.integers(2, 8), st.integers(0, 100), st.integers(1, 300))
def test_the_best_bound_is_no_worse_than_the_largest_magnitude(bits, seed, count):
    batch = values(count, seed) ** 3
    bound, top = best_bound(batch, bits), float(batch.abs().max())
    assert 0 < bound <= top
    grids = [symmetric_grid(b, bits) for b in (bound, top)]
    assert squared_error(batch, grids[0]) <= squared_error(batch, grids[1])


def test_the_best_bound_cuts_only_where_it_pays():
    even = torch.linspace(-1, 1, 2001)
    assert best_bound(even) == pytest.approx(1, rel=0.02)
    assert best_bound(torch.cat([values(), torch.tensor([12.0])]), bits=4) < 4
    assert best_bound(torch.zeros(3)) == 0


def test_a_batch_of_nothing_counts_for_nothing():
    watcher = MovingAverage()
    assert seen(watcher, torch.tensor([1.0, 3.0]), torch.zeros(0, 4)) == (1, 3)


@pytest.mark.parametrize("name", OBSERVERS)
def test_what_an_observer_refuses(name):
    with pytest.raises(ValueError, match="has seen no values"):
        observer(name).range()
    with pytest.raises(ValueError, match="find it first"):
        observer(name).see(torch.tensor([1.0, float("nan")]))
    with pytest.raises(TypeError, match="floating-point"):
        observer(name).see(torch.tensor([1]))


def test_wrong_settings():
    with pytest.raises(ValueError, match="there are: min-max"):
        observer("maximum")
    with pytest.raises(ValueError, match="momentum"):
        MovingAverage(momentum=1)
    with pytest.raises(ValueError, match="percentile"):
        Percentile(10)
    with pytest.raises(ValueError, match="2 to 8 bits"):
        observer("entropy", bits=16)
    with pytest.raises(ValueError, match="no best range"):
        best_bound(torch.zeros(0))


@pytest.mark.parametrize("name", ["percentile", "entropy", "least error"])
def test_what_is_left_out_is_left_out_by_chance(name):
    # Columns of pictures: whoever took every second number would see zeros alone.
    watcher = observer(name)
    watcher.see(torch.tensor([0.0, 1.0, 0.0, 1.0]).repeat(2**19))
    assert watcher.range() == pytest.approx((0.0, 1.0), abs=0.02)
    again = observer(name)
    again.see(torch.tensor([0.0, 1.0, 0.0, 1.0]).repeat(2**19))
    assert again.range() == watcher.range()


def test_a_percentile_of_few_values():
    values = torch.arange(10.0)
    for percent, low, high in [(90, 1.0, 8.0), (80, 2.0, 7.0), (91, 0.0, 9.0)]:
        watcher = Percentile(percent)
        watcher.see(values)
        assert watcher.range() == (low, high)


@pytest.mark.parametrize("bits", [8, 4, 2])
def test_entropy_treats_both_signs_alike(bits):
    values = torch.rand(5000, generator=torch.Generator().manual_seed(1))
    ends = []
    for sign in (1, -1):
        watcher = Entropy(bits)
        watcher.see(sign * values)
        ends.append(watcher.range())
    assert ends[0] == (-ends[1][1], -ends[1][0])
