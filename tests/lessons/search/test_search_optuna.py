"""The search with Optuna: several processes on one journal, and the trap of seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("optuna")

from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.search_models import SPACE, Models
from helpers.lessons.search.experiments.search_optuna import (
    Setting,
    ask_and_tell,
    different,
    on_optuna,
    opened,
    seeded,
    suggested,
    with_threads,
)


@pytest.mark.real
def test_processes_share_a_search(tmp_path: Path) -> None:
    journal, models = str(tmp_path / "journal.log"), Models()
    study = opened(journal, Setting(9))
    for trial in range(9):
        study.enqueue_trial(models.settings(trial), {"trial": trial})
    found = on_optuna(9, 2, journal=journal)
    assert set(found.tried) == set(range(9))
    for trial, losses in found.tried.items():
        assert losses == {s: models.loss(Job(trial, 0, s)) for s in losses}
    assert len(found.losses[0]) == 9 and 0 < len(found.losses[2]) < 9
    assert found.steps < 9 * 180
    more = on_optuna(12, 2, journal=journal)
    assert found.tried.items() <= more.tried.items() and len(more.tried) == 12


def test_each_range_is_asked_for_in_optunas_words() -> None:
    trial = seeded().ask()
    suggested(trial, SPACE)
    assert trial.distributions.keys() == SPACE.keys()
    assert tuple(trial.distributions["width"].choices) == (4, 8, 16, 32, 64)
    assert trial.distributions["rate"].log and not trial.distributions["momentum"].log


def test_a_seed_holds_until_threads_share_it() -> None:
    """Optuna reseeds the sampler from the system before each trial: no two runs of 4 are equal."""
    assert different(lambda: with_threads(1), 4) == 0
    for at_once in (1, 2, 4):
        assert different(lambda at_once=at_once: ask_and_tell(at_once), 4) == 0
    assert different(lambda: with_threads(2), 4) == 3
