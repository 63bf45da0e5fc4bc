"""What lesson 07 draws and plugs together: one accumulator for all weights, timelines, races."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

import helpers
from helpers.checks import find
from helpers.engine.servers.training import Training
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import SpareReplicas
from helpers.lessons.parameter_servers.experiments.step_times import HeavyTail
from helpers.lessons.spare_replicas.algorithms.accumulators import ConditionalAccumulator
from helpers.lessons.spare_replicas.algorithms.blame import Blame
from helpers.lessons.spare_replicas.algorithms.what_if import what_if
from helpers.lessons.spare_replicas.experiments.straggler_race import KINDS
from helpers.lessons.spare_replicas.experiments.sync_replay import (
    OneAccumulator,
    replay_sync_replicas,
)
from helpers.lessons.spare_replicas.figures import spare_view, timelines

MACHINE: Any = partial(
    OneAccumulator, accumulator=ConditionalAccumulator, chief=find("07.5").reference
)


@pytest.fixture(scope="module")
def training() -> Training:
    """Eight updates of 2 of 3 workers."""
    return helpers.train(
        lambda weights: SpareReplicas(weights, Sgd(0.1), 3, 2), workers=3, updates=8,
        times=HeavyTail(1.0, 0.6), seed=2, trace=True, evaluate_every=1,
    )  # fmt: skip


@pytest.mark.parametrize(("aggregate", "workers", "num_tokens"), [(1, 2, -1), (3, 3, 0), (4, 5, 1)])
def test_one_accumulator_for_all_weights_trains_as_one_for_each(
    aggregate: int, workers: int, num_tokens: int
) -> None:
    seconds = [0.02 + 0.011 * worker**1.5 for worker in range(workers)]
    one = replay_sync_replicas(seconds, aggregate, 12, num_tokens, machine=MACHINE)
    each = replay_sync_replicas(seconds, aggregate, 12, num_tokens)
    assert one[:2] == each[:2] and one.times == each.times and one.log == each.log
    assert one.loss == pytest.approx(each.loss, rel=1e-6)


def test_timelines_show_what_is_in_their_window(training: Training) -> None:
    upper, lower = timelines.draw_steps({"a": training, "b": training}, 3.0, first=2).axes
    assert upper.get_xlim() == (0.0, 3.0) == lower.get_xlim()
    begin = training.curve[2].seconds
    inside = [p for p in training.curve if 0 < p.seconds - begin <= 3.0]
    assert len(upper.lines) == len(inside)
    assert [label.get_text() for label in lower.get_yticklabels()] == [
        "worker 0", "worker 1", "worker 2",
    ]  # fmt: skip


def test_views_say_what_they_show(training: Training, shown: Any) -> None:
    found = shown(spare_view)
    spare_view.show_first_and_last(HeavyTail(1.6, 0.2).table(50, 10, seed=0))
    spare_view.show_race({kind: [training] for kind in KINDS}, target=50.0, horizon=20.0, workers=3)
    spare_view.show_race({"never": [training]}, target=0.0, horizon=20.0, workers=3)
    spare_view.show_waiting({"all": training, "some": training})
    assert all(each.caption.endswith(".") and each.alt.endswith(".") for each in found)
    assert "never never" in found[2].alt
    assert found[2].caption.endswith("first there: none.")


RUN = (
    torch.tensor([[0.0, 0.0, 0.0], [5.0, 5.0, 6.0], [8.0, 8.0, 8.5]]),
    torch.tensor([[1.0, 2.0, 4.0], [6.0, 7.5, 7.0]]),
)


def test_a_run_is_drawn_in_what_it_is_made_of() -> None:
    above, below = timelines.draw_runs({"one": RUN, "other": what_if(*RUN, [2])}, 1).axes
    widths = [round(bar.get_width(), 6) for bar in above.patches]
    # Computing, waiting and sending by worker; the last one has nobody to wait for.
    assert widths == [1, 3, 1, 2, 2, 1, 4, 2]
    assert above.get_title(loc="left") == "one: 6 s for 1 step"
    assert [round(bar.get_width(), 6) for bar in below.patches] == [1, 1, 1, 2, 1, 2, 2]


def test_costs_are_told_in_words(shown: Any) -> None:
    found, blame = shown(spare_view), Blame(*RUN, what_if)
    spare_view.show_blame(blame)
    said = found[0].caption + found[0].alt
    for worker in blame.workers:
        assert f"worker {worker}: S {blame.cost(worker):.2f}" in said
    assert len(found[0].figure.axes[0].patches) == 3
