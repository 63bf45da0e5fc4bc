"""Speedups: the model by hand, what is measured adds up, and compute and data are told apart."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.actors.experiments.actor_settings import TIC_TAC_TOE
from helpers.lessons.actors.experiments.actor_speedup import (
    Row,
    costs,
    measured,
    modelled,
    paper,
    speedups,
    steps_to_score,
)
from helpers.lessons.actors.experiments.shared_actors import Look

SHORT = TIC_TAC_TOE._replace(games=2, steps=2, updates=6)


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.floats(0.0, 1.0))
def test_the_model_keeps_its_bounds(actors: int, cores: int, share: float) -> None:
    found = modelled(actors, cores, share)
    most = min(actors, cores)
    assert 1 - 1e-9 <= found <= most + 1e-9
    if share:
        assert found <= 1 / share + 1e-9
    assert modelled(actors + 1, cores, share) >= found - 1e-9
    assert modelled(actors, cores, 0.0) == pytest.approx(most)
    assert modelled(1, cores, share) == pytest.approx(1)


def test_the_model_by_hand() -> None:
    # Two actors: the second finds the lock taken for a share s of the time, X = 2 / (1 + s²).
    assert modelled(2, 2, 0.5) == pytest.approx(2 / 1.25)
    assert modelled(2, 1, 0.5) == pytest.approx(1)
    assert modelled(1000, 1000, 0.1) == pytest.approx(10, rel=1e-3)
    with pytest.raises(ValueError, match="give 1 or more of both, and a share from 0 to 1"):
        modelled(2, 2, 1.5)


def test_the_paper_s_table() -> None:
    assert paper() == {1: 1, 2: 2.1, 4: 3.7, 8: 6.9, 16: 12.5}


def test_compute_times_data_is_time() -> None:
    rows = [Row(1, 1000.0, 50_000), Row(2, 1900.0, 60_000)]
    assert rows[1].seconds == pytest.approx(60_000 / 1900)
    one, two = speedups(rows)
    assert one[1:] == (1, 1, 1)
    assert two.compute == pytest.approx(1.9)
    assert two.data == pytest.approx(5 / 6)
    assert two.time == pytest.approx(1.9 * 5 / 6)


@pytest.mark.real
def test_each_number_of_actors_is_measured_in_each_round() -> None:
    found = measured(SHORT, (1, 2), updates=4, rounds=2)
    assert [(each.actors, len(each.rounds)) for each in found] == [(1, 2), (2, 2)]
    for each in found:
        low, high = sorted(each.rounds)
        assert 0 < low <= each.steps_per_second <= high


def test_costs_are_taken_on_one_thread_and_leave_the_number_of_threads_alone() -> None:
    before = torch.get_num_threads()
    found = costs(SHORT, updates=5)
    assert found.play > 0
    assert found.update > 0
    assert 0 < found.share < 1
    assert torch.get_num_threads() == before


def test_the_steps_to_a_score_are_those_of_the_first_look_that_has_it() -> None:
    weights = SHORT.task().initial()
    looks = [Look(steps, 0.0, weights) for steps in (10, 20)]
    score = SHORT.score(weights, 20)
    assert steps_to_score(looks, SHORT, score, games=20) == 10
    assert steps_to_score(looks, SHORT, score + 1, games=20) is None
    assert steps_to_score([], SHORT) is None
