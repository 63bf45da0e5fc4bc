"""Figures of stale synchronous parallel: which bound is quickest, and what is drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import helpers
from helpers.lessons.asynchronous.figures import bounded_view
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import BoundedStaleness
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

FOUND = {0: [40.0, 60.0], 3: [20.0, 30.0], 10: [25.0, 25.0], math.inf: [10.0, math.inf]}


def test_the_quickest_is_by_the_mean_and_one_that_never_came_counts_whole() -> None:
    assert bounded_view.mean(FOUND[math.inf], 100) == 55
    assert bounded_view.quickest(FOUND, 100) == 10  # of two equal ones the larger
    assert bounded_view.quickest(FOUND, 30) == math.inf
    assert [bounded_view.named(s) for s in (0, 3, np.inf)] == ["0", "3", "∞"]


def test_what_is_drawn_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(bounded_view, "show", lambda figure, **words: shown.append(words))
    bounded_view.show_when(
        {"mixed": FOUND, "sorted": {s: [5.0 if s else 4.0] for s in FOUND}}, 10, 100
    )
    assert "Quickest: mixed, s = 10; sorted, s = 0." in shown[0]["caption"]
    assert "mixed: s = 0 50 s" in shown[0]["alt"] and "s = ∞ 55 s" in shown[0]["alt"]
    runs = {
        bound: helpers.train(
            lambda weights, s=bound: BoundedStaleness(weights, Sgd(0.1), 2, s),
            workers=2,
            seconds=5.5,
            trace=True,
            task=DigitsTask((64, 10)),
        )
        for bound in (0, math.inf)
    }
    bounded_view.show_timelines(runs, slow=1, seconds=5.5)
    assert "s = 0: 10 gradients" in shown[1]["alt"] and "s = ∞: 10" in shown[1]["alt"]
