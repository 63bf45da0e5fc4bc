"""An ensemble in one graph, a member a device, and what is said about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.ensemble import (
    Beside,
    Member,
    in_one_graph,
    in_torch,
    of_search,
    sentence,
)
from helpers.lessons.search.experiments.search_models import Models, split

TRIALS = (6, 7, 1)


def trained() -> tuple[list[Member], np.ndarray, np.ndarray, list[list[bool]]]:
    models = Models()
    states = {trial: models.train(Job(trial, 0, 20))[1] for trial in TRIALS}
    x, y = (each.numpy() for each in split(0).test)
    right = [models.right(trial, states[trial], "test") for trial in TRIALS]
    return of_search(models, states, TRIALS), x, y, right


def test_in_torch_it_is_the_mean_of_its_members() -> None:
    members, x, y, right = trained()
    voted = in_torch(members, x)
    assert voted.each.shape == (3, 359, 10) and voted.devices == ["cpu"] * 4
    np.testing.assert_allclose(voted.mean, voted.each.mean(0), rtol=1e-5)
    np.testing.assert_allclose(voted.mean.sum(1), 1, rtol=1e-5)
    assert [list(guess == y) for guess in voted.each.argmax(2)] == right


@pytest.mark.tensorflow
@pytest.mark.slow
def test_in_one_graph_each_member_is_on_its_own_device(tensorflow: Any) -> None:
    """Seen in the graphs that the run was cut into, not in what was asked for."""
    members, x, _, _ = trained()
    voted = in_one_graph(members, x)
    assert len(set(voted.devices[:3])) == 3 and voted.devices[3] == voted.devices[0]
    np.testing.assert_allclose(voted.each, in_torch(members, x).each, atol=1e-5)
    np.testing.assert_allclose(voted.mean, voted.each.mean(0), atol=1e-6)


# --- what is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([0.001, 0.002], "It is better than each member, beyond what chance would do."),
        ([0.5, 0.03], "Against no member do these rows decide: so small a difference may be "
                      "chance."),
        ([0.001, 0.5], "It is better than trial 0 beyond what chance would do; against trial 1 "
                       "these rows do not decide."),
    ],
)  # fmt: skip
def test_what_the_rows_decide_is_said(members: list[float], says: str) -> None:
    beside = [Beside(f"trial {n}", 0.55 + n / 100, 9, 1, p) for n, p in enumerate(members)]
    begin = "The ensemble names 97.5 % of 40 test rows rightly, its best member (trial 1) 56.0 %. "
    assert sentence(0.975, beside, 40) == begin + says


def test_a_loss_is_said_as_well() -> None:
    assert "It is worse than good, beyond what chance would do." in (
        sentence(0.5, [Beside("good", 0.9, 0, 16, 0.0001), Beside("bad", 0.1, 16, 0, 0.0001)], 40)
    )
