"""Lesson 07's figures of a replayed run: what is drawn, and what is said with it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.lessons.spare_replicas.algorithms.blame import Blame
from helpers.lessons.spare_replicas.algorithms.what_if import what_if
from helpers.lessons.spare_replicas.figures import what_if_view


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
