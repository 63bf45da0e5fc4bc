"""Trainings in the settings of lesson 06, with the course's own rule and a cure around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import helpers
from helpers.engine.servers.rule import Rule
from helpers.lessons.asynchronous.experiments.stale_settings import TIMES, Setting
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd, cosine
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask


def final_errors(
    setting: Setting,
    cure: Callable[[Rule], Rule] = lambda rule: rule,
    seeds: Sequence[int] = range(5),
) -> list[float]:
    """The test error in % at the end, for each seed."""
    rate = cosine(setting.rate, setting.updates) if setting.falling else setting.rate
    workers = setting.workers
    return [
        helpers.train(
            lambda weights: cure(Asynchronous(weights, Sgd(rate, setting.momentum), workers)),
            workers=workers,
            task=DigitsTask(seed=seed),
            batch=setting.rows,
            updates=setting.updates,
            times=TIMES,
            seed=seed,
        ).error
        for seed in seeds
    ]
