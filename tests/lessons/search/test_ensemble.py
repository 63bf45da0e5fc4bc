"""An ensemble in one graph, a member a device, and what is said about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.algorithms.validation import paired_p_value
from helpers.lessons.search.experiments.ensemble import (
    Member,
    Voted,
    in_one_graph,
    in_torch,
    of_files,
    of_search,
    verdict,
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
    voted = in_torch(members, x, ["cpu"] * 3)
    assert voted.each.shape == (3, 359, 10) and voted.devices == ["cpu"] * 4
    np.testing.assert_allclose(voted.mean, voted.each.mean(0), rtol=1e-5)
    np.testing.assert_allclose(voted.mean.sum(1), 1, rtol=1e-5)
    assert [list(guess == y) for guess in voted.each.argmax(2)] == right


@pytest.mark.tensorflow
@pytest.mark.slow
def test_in_one_graph_each_member_is_on_its_own_device(tensorflow: Any) -> None:
    """Seen in the graphs that the run was cut into, not in what was asked for."""
    members, x, _, _ = trained()
    asked = [f"/device:CPU:{number}" for number in range(3)]
    voted = in_one_graph(members, x, asked)
    assert voted.devices == [*asked, asked[0]]
    np.testing.assert_allclose(voted.each, in_torch(members, x, ["cpu"] * 3).each, atol=1e-5)
    np.testing.assert_allclose(voted.mean, voted.each.mean(0), atol=1e-6)
    given = in_one_graph(members, x)
    assert len(set(given.devices[:3])) == 3
    for function in (in_one_graph, in_torch):
        with pytest.raises(ValueError, match="not 3 members and 2 devices"):
            function(members, x, asked[:2])
        with pytest.raises(ValueError, match="1 member or more"):
            function([], x, [])


def test_members_from_files(tmp_path: Path) -> None:
    drawn = np.random.default_rng(0)
    shapes = {"hidden": (64, 4), "hidden_bias": (4,), "out": (4, 10), "out_bias": (10,)}
    weights = {name: drawn.random(shape, np.float32) for name, shape in shapes.items()}
    np.savez(tmp_path / "trial-3.npz", activation="tanh", seed=0, **weights)
    (member,) = of_files([tmp_path / "trial-3.npz"])
    assert (member.name, member.activation) == ("trial-3", "tanh")
    assert all((a == b).all() for a, b in zip(member.weights, weights.values(), strict=True))


# --- the verdict ----------------------------------------------------------------------------------


def votes(*right: list[bool], together: list[bool]) -> Voted:
    """Members and a mean that name rows rightly, or class 1 where 0 is right."""
    rows = [[[float(r), 1 - float(r), *[0.0] * 8] for r in each] for each in (*right, together)]
    return Voted(np.array(rows[:-1]), np.array(rows[-1]), [])


def members(count: int) -> list[Member]:
    return [Member(f"trial {number}", "relu", ()) for number in range(count)]


Y = np.zeros(40, np.int64)


def test_a_clear_win_is_said() -> None:
    alone = [[True] * 20 + [False] * 20, [True] * 22 + [False] * 18]
    found = verdict(members(2), votes(*alone, together=[True] * 40), Y)
    assert found.accuracy == 1.0 and [each.accuracy for each in found.beside] == [0.5, 0.55]
    assert found.beside[0].only_ensemble == 20 and found.beside[0].only_member == 0
    assert found.beside[0].p_value == paired_p_value([True] * 40, alone[0])
    assert found.apart == 2.0
    assert found.sentence == (
        "The ensemble names 100.0 % of 40 test rows rightly, its best member (trial 1) 55.0 %. "
        "It is better than each member, beyond what chance would do."
    )


def test_no_win_is_said_as_well() -> None:
    right = [[True] * 38 + [False] * 2, [True] * 37 + [False] * 3]
    found = verdict(members(2), votes(*right, together=[True] * 39 + [False]), Y)
    assert found.sentence.endswith("Against no member do these rows decide: so small a difference "
                                   "may be chance.")  # fmt: skip


def test_a_loss_and_half_a_win_are_said() -> None:
    good, bad, middle = [True] * 40, [False] * 40, [True] * 20 + [False] * 20
    found = verdict(members(2), votes(good, bad, together=middle), Y)
    assert "It is worse than trial 0, beyond what chance would do." in found.sentence
    found = verdict(members(2), votes(middle, bad, together=middle), Y)
    assert "It is better than trial 1 beyond what chance would do; against trial 0" in (
        found.sentence
    )
