"""The search with Optuna: several processes on one journal, and the trap of seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("optuna")

from helpers.lessons.search.algorithms.ranges import Choice, LogUniform, Uniform
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.search_models import SPACE, Models
from helpers.lessons.search.experiments.search_optuna import (
    ask_and_tell,
    different,
    on_optuna,
    quiet,
    seeded,
    suggested,
    with_threads,
)


@pytest.mark.real
@pytest.mark.parametrize(
    "pruner",
    [
        "halving",
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("hyperband", "none")),
    ],
)
def test_processes_share_a_search(pruner: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal.log"
    study = on_optuna(9, 2, pruner, drawn=True, journal=journal, least=5, most=45)
    assert [each.trial for each in study.tried] == list(range(9))
    models = Models()
    for each in study.tried:
        assert each.settings == models.settings(each.trial)
        assert each.losses == {s: models.loss(Job(each.trial, 0, s)) for s in each.losses}
        assert each.pruned == (45 not in each.losses)
    assert len(study.losses[0]) == 9 and study.resources == [5, 15, 45]
    if pruner == "none":
        assert study.steps == 9 * 45 and study.top(1) == [
            min(range(9), key=lambda trial: models.loss(Job(trial, 0, 45)))
        ]
    else:
        assert study.steps < 9 * 45 and any(each.pruned for each in study.tried)
    more = on_optuna(12, 2, pruner, drawn=True, journal=journal, least=5, most=45)
    assert more.tried[:9] == study.tried and len(more.tried) == 12


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(ValueError, match="There is no pruner 'none at all'; there are: halving"):
        on_optuna(3, 2, "none at all")
    with pytest.raises(ValueError, match="at least one trial, not 0"):
        on_optuna(0, 2)


def test_each_range_is_asked_for_in_optunas_words() -> None:
    study = seeded(0)
    trial = study.ask()
    suggested(trial, SPACE)
    named = quiet().distributions
    told = {name: type(each) for name, each in trial.distributions.items()}
    kinds = {
        Choice: named.CategoricalDistribution,
        Uniform: named.FloatDistribution,
        LogUniform: named.FloatDistribution,
    }
    assert told == {name: kinds[type(span)] for name, span in SPACE.items()}
    assert trial.distributions["rate"].log and not trial.distributions["momentum"].log

    class Other:
        def at(self, place: float) -> float:
            return place

    with pytest.raises(TypeError, match="rate has a range that Optuna is not told of"):
        suggested(study.ask(), {"rate": Other()})


def test_a_seed_holds_in_one_thread_and_in_a_loop_of_ones_own() -> None:
    assert different(lambda: with_threads(1, 12), 4) == 0
    for at_once in (1, 2, 4):
        assert different(lambda at_once=at_once: ask_and_tell(at_once, 12), 4) == 0


def test_a_seed_is_thrown_away_by_n_jobs() -> None:
    """Optuna reseeds the sampler from the system before each trial: no two runs of 4 are equal."""
    assert different(lambda: with_threads(2, 12), 4) == 3
