"""Lesson 07's figures of a replayed run: what is drawn, and what is said with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from helpers.algorithms.servers.blame import Blame
from helpers.algorithms.servers.what_if import what_if
from helpers.notebook.views import what_if_view
from helpers.workloads.step_times import Constant
from helpers.workloads.straggling import Straggling


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the views show, instead of showing it."""
    found: list[dict[str, Any]] = []

    def show(figure: Any, caption: str, alt: str) -> None:
        found.append({"figure": figure, "caption": caption, "alt": alt})

    monkeypatch.setattr(what_if_view, "show", show)
    return found


RUN = (
    torch.tensor([[0.0, 0.0, 0.0], [5.0, 5.0, 6.0], [8.0, 8.0, 8.5]]),
    torch.tensor([[1.0, 2.0, 4.0], [6.0, 7.5, 7.0]]),
)


def test_a_run_is_drawn_in_what_it_is_made_of(shown: list[dict[str, Any]]) -> None:
    what_if_view.show_runs({"one": RUN, "other": what_if(*RUN, [2])}, 1, "caption", "alt")
    above, below = shown[0]["figure"].axes
    widths = [round(bar.get_width(), 6) for bar in above.patches]
    # Computing, waiting and sending by worker; the last one has nobody to wait for.
    assert widths == [1, 3, 1, 2, 2, 1, 4, 2]
    assert above.get_title(loc="left") == "one: 6 s for 1 step"
    assert [round(bar.get_width(), 6) for bar in below.patches] == [1, 1, 1, 2, 1, 2, 2]


def test_costs_are_told_in_words(shown: list[dict[str, Any]]) -> None:
    blame = Blame(*RUN, what_if)
    what_if_view.show_blame(blame)
    said = shown[0]["caption"] + shown[0]["alt"]
    for worker in blame.workers:
        assert f"worker {worker}: S {blame.cost(worker):.2f}" in said
    assert len(shown[0]["figure"].axes[0].patches) == 3


def test_straggling_comes_on_top_of_the_same_draws() -> None:
    late = Straggling(Constant(1.0), slow={1: 2.0}, stops={0: (3, 5.0)}, moves=(4.0, 2, 3))
    table = late.table(6, 3, seed=0)
    want = np.ones((6, 3))
    want[:, 1], want[2::3, 0] = 2, 6
    for worker in range(3):
        want[2 * worker : 2 * worker + 2, worker] *= 4
    np.testing.assert_allclose(table, want)
