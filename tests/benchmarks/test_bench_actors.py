"""The benchmark of lesson 15 runs, on a few updates; nothing of time or score is held here."""

from __future__ import annotations

import pytest
import torch

from benchmarks import actors
from benchmarks.gymnasium_peer import Peer
from benchmarks.report import Report
from helpers.lessons.actors.experiments.actor_settings import CART_POLE, TIC_TAC_TOE

pytestmark = [pytest.mark.thorough, pytest.mark.real]
SMALL = {"games": 2, "steps": 2, "updates": 4, "judged": 5}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Report:
    """A report for small settings, two seeds and one round."""
    for name, value in {
        "TIC_TAC_TOE": TIC_TAC_TOE._replace(**SMALL),
        "CART_POLE": CART_POLE._replace(**SMALL),
        "SEEDS": (0, 1),
        "ROUNDS": 1,
        "CLOCK_SEEDS": (0, 1),
        "PEER_UPDATES": 2,
        "RATE_UPDATES": 4,
        "THREAD_UPDATES": 2,
        "ON_CLOCK": (1, 3),
        "LOOK": 2,
        "STALE_ACTORS": 3,
        "STALE_ROLLOUTS": 20,
    }.items():
        monkeypatch.setattr(actors, name, value)
    return Report("actors", "A title")


@pytest.mark.parametrize("at_once", [False, True])
def test_the_peer_learns(at_once: bool) -> None:
    peer = Peer(CART_POLE._replace(games=4), seed=0, at_once=at_once)
    before = torch.cat([each.detach().flatten() for each in peer.model.parameters()])
    assert peer.learn(8) > 0
    after = torch.cat([each.detach().flatten() for each in peer.model.parameters()])
    assert bool(torch.isfinite(after).all())
    assert not torch.equal(before, after)


def test_speedups_threads_data_and_staleness_are_told(quick: Report) -> None:
    actors.measure_rates(quick)
    actors.measure_threads(quick)
    names = {row.name for row in quick.rows}
    assert {"1 actor", "2 actors", "4 actors", "1 thread an actor"} <= names
    assert any("published 2.1×" in row.note for row in quick.rows)
    actors.measure_data(quick)
    assert list(quick.extra["steps to the score"]["steps"]) == [1, 3]
    actors.measure_staleness(quick)
    assert len(quick.extra["curves"]) == 5
    assert any("by the formula" in note for note in quick.notes)
    assert quick.json()
