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


@pytest.mark.tensorflow
@pytest.mark.slow
def test_an_ensemble_is_the_mean_of_its_members_each_on_its_own_device(tensorflow: Any) -> None:
    """Devices are seen in the graphs that the run was cut into, not in what was asked for."""
    members, x, y, right = trained()
    asked = [f"/device:CPU:{number}" for number in range(3)]
    voted, ours = in_one_graph(members, x, asked), in_torch(members, x, ["cpu"] * 3)
    assert voted.devices == [*asked, asked[0]] and ours.devices == ["cpu"] * 4
    assert len(set(in_one_graph(members, x).devices[:3])) == 3
    np.testing.assert_allclose(voted.each, ours.each, atol=1e-5)
    for each in (voted, ours):
        np.testing.assert_allclose(each.mean, each.each.mean(0), atol=1e-6)
    assert [list(guess == y) for guess in ours.each.argmax(2)] == right
    for function in (in_one_graph, in_torch):
        with pytest.raises(ValueError, match="not 3 members and 2 devices"):
            function(members, x, asked[:2])
        with pytest.raises(ValueError, match="1 member or more"):
            function([], x, [])


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([0.001, 0.002], "It is better than each member, beyond what chance would do."),
        ([0.5, 0.03], "Against no member do these rows decide"),
        ([0.001, 0.5], "It is better than trial 0 beyond what chance would do; against trial 1"),
    ],
)
def test_what_the_rows_decide_is_said(members: list[float], says: str) -> None:
    beside = [Beside(f"trial {n}", 0.55 + n / 100, 9, 1, p) for n, p in enumerate(members)]
    begin = "The ensemble names 97.5 % of 40 test rows rightly, its best member (trial 1) 56.0 %. "
    assert sentence(0.975, beside, 40).startswith(begin + says)
    worse = [Beside("good", 0.9, 0, 16, 0.0001), Beside("bad", 0.1, 16, 0, 0.0001)]
    assert "It is worse than good, beyond what chance would do." in sentence(0.5, worse, 40)
