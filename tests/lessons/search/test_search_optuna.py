"""The search with Optuna: several processes on one journal, and the trap of seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("optuna")

from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.search_models import SPACE, Models
from helpers.lessons.search.experiments.search_optuna import (
    PRUNERS,
    ask_and_tell,
    different,
    on_optuna,
    seeded,
    suggested,
    with_threads,
)


@pytest.mark.real
@pytest.mark.parametrize(
    "pruner",
    [PRUNERS[0], *(pytest.param(name, marks=pytest.mark.thorough) for name in PRUNERS[1:])],
)
def test_processes_share_a_search(pruner: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal.log"
    study = on_optuna(9, 2, pruner, drawn=True, journal=journal)
    assert [each.trial for each in study.tried] == list(range(9))
    models = Models()
    for each in study.tried:
        assert each.settings == models.settings(each.trial)
        assert each.losses == {s: models.loss(Job(each.trial, 0, s)) for s in each.losses}
        assert each.pruned == (180 not in each.losses)
    assert len(study.losses[0]) == 9 and study.resources == [20, 60, 180]
    assert any(each.pruned for each in study.tried) == (pruner != "none")
    assert (study.steps == 9 * 180) == (pruner == "none")
    more = on_optuna(12, 2, pruner, drawn=True, journal=journal)
    assert more.tried[:9] == study.tried and len(more.tried) == 12


def test_ranges_are_asked_for_in_optunas_words_and_what_cannot_be_is_told() -> None:
    trial = seeded(0).ask()
    suggested(trial, SPACE)
    assert trial.distributions.keys() == SPACE.keys()
    assert tuple(trial.distributions["width"].choices) == (4, 8, 16, 32, 64)
    assert trial.distributions["rate"].log and not trial.distributions["momentum"].log
    with pytest.raises(ValueError, match="There is no pruner 'none at all'; there are: halving"):
        on_optuna(3, 2, "none at all")
    with pytest.raises(ValueError, match="at least one trial, not 0"):
        on_optuna(0, 2)


def test_a_seed_holds_until_threads_share_it() -> None:
    """Optuna reseeds the sampler from the system before each trial: no two runs of 4 are equal."""
    assert different(lambda: with_threads(1, 12), 4) == 0
    for at_once in (1, 2, 4):
        assert different(lambda at_once=at_once: ask_and_tell(at_once, 12), 4) == 0
    assert different(lambda: with_threads(2, 12), 4) == 3
