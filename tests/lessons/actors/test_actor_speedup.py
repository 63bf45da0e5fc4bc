"""Speedups: the model by hand, the paper's table, and the steps to a score."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.actors.algorithms.staleness import mean_staleness
from helpers.lessons.actors.experiments.actor_settings import TIC_TAC_TOE
from helpers.lessons.actors.experiments.actor_speedup import modelled, steps_to_score
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


def test_the_steps_to_a_score_are_those_of_the_first_look_that_has_it() -> None:
    weights = SHORT.task().initial()
    looks = [Look(steps, 0.0, weights) for steps in (10, 20)]
    score = SHORT.score(weights, 20)
    assert steps_to_score(looks, SHORT, score, games=20) == 10
    assert steps_to_score(looks, SHORT, score + 1, games=20) is None
    assert steps_to_score([], SHORT) is None


def test_the_mean_age_by_hand() -> None:
    assert mean_staleness(1) == 1  # its own rollout is in flight while the one before is learned
    assert mean_staleness(8) == 8
    assert mean_staleness(8, queued=4) == 12
    assert mean_staleness(8, batch=4) == 2
    assert mean_staleness(8, fetch_every=5) == 8 + 8 * (0 + 1 + 2 + 3 + 4) / 5
