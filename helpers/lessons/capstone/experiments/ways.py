"""Train one of the five ways in a setting: the course's own parts of lessons 05 to 07, 10 and 12.

All begin with the same weights and are given as many gradients, so that their ends can be compared.
Only the learning rate is searched; there is no momentum, which stale gradients upset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.engine.servers.client import Client
from helpers.engine.servers.rule import Rule
from helpers.lessons.capstone.algorithms.runs import Look, Run
from helpers.lessons.capstone.experiments.settings import INTERVAL, LOOKS, WAYS, Setting, options_of
from helpers.lessons.capstone.experiments.worn_digits import WornTask
from helpers.lessons.parameter_servers.algorithms.clients import LocalSteps
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    Averaging,
    SpareReplicas,
    Synchronous,
)


def rule_of(way: str, setting: Setting, rate: float) -> Callable[[Any], Rule]:
    """A parameter server's rule for its part of the weights."""
    n = setting.workers
    return {
        "synchronous": lambda weights: Synchronous(weights, Sgd(rate), n),
        "asynchronous": lambda weights: Asynchronous(weights, Sgd(rate), n),
        "spare replicas": lambda weights: SpareReplicas(weights, Sgd(rate), n, setting.aggregate),
        "local steps": lambda weights: Averaging(weights, n),
    }[way]


def updates_of(way: str, setting: Setting) -> int:
    """Updates of a run: each way is given as many gradients to make of them what it will.

    Of spare replicas they are steps, however many gradients the slow ones have made by then.
    """
    each = {"asynchronous": setting.workers, "local steps": 1 / INTERVAL}.get(way, 1)
    return round(setting.steps * each)


def train(way: str, setting: Setting, rate: float, seed: int) -> Run:
    """Train once. Raises ValueError for another way; what `helpers.train` raises."""
    if way not in WAYS:
        raise ValueError(f"There is no way {way!r}; there are: {', '.join(WAYS)}.")
    task = WornTask(seed, setting.mnist_at)
    if way == "vertical slices":
        from helpers.lessons.capstone.experiments.slices import on_clock, train_in_slices

        if setting.engine != "virtual":
            return train_in_slices(setting, rate, task)
        return on_clock(setting, train("synchronous", setting, rate, seed), seed)
    import helpers

    updates = updates_of(way, setting)
    local = way == "local steps"
    done = helpers.train(
        rule_of(way, setting, rate),
        task=task,
        make_client=(lambda: LocalSteps(rate, INTERVAL)) if local else Client,
        updates=updates,
        evaluate_every=max(1, updates // LOOKS),
        seed=seed,
        engine=setting.engine,
        **options_of(setting),
    )
    # The weights of each look were kept as they were, and are looked at when all is over.
    return Run(0.0, [Look(point.seconds, 0.0, point.error) for point in done.curve])
