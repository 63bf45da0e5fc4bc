"""Benchmarks of single lessons run, on little; nothing of time or score is held here."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from benchmarks import actors, checkpoints, on_device, quantize
from benchmarks.gymnasium_peer import Peer
from benchmarks.report import Report
from helpers.lessons.actors.experiments.actor_settings import CART_POLE, TIC_TAC_TOE
from helpers.lessons.cluster.experiments.checkpoint_hidden import WAYS, Cost

# --- lesson 15 ------------------------------------------------------------------------------------

SMALL = {"games": 2, "steps": 2, "updates": 4, "judged": 5}


@pytest.fixture
def few_games(monkeypatch: pytest.MonkeyPatch) -> Report:
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


@pytest.mark.thorough
@pytest.mark.real
@pytest.mark.parametrize("at_once", [False, True])
def test_the_peer_learns(at_once: bool) -> None:
    peer = Peer(CART_POLE._replace(games=4), seed=0, at_once=at_once)
    before = torch.cat([each.detach().flatten() for each in peer.model.parameters()])
    assert peer.learn(8) > 0
    after = torch.cat([each.detach().flatten() for each in peer.model.parameters()])
    assert bool(torch.isfinite(after).all())
    assert not torch.equal(before, after)


@pytest.mark.thorough
@pytest.mark.real
def test_speedups_threads_data_and_staleness_are_told(few_games: Report) -> None:
    actors.measure_rates(few_games)
    actors.measure_threads(few_games)
    names = {row.name for row in few_games.rows}
    assert {"1 actor", "2 actors", "4 actors", "1 thread an actor"} <= names
    assert any("published 2.1×" in row.note for row in few_games.rows)
    actors.measure_data(few_games)
    assert list(few_games.extra["steps to the score"]["steps"]) == [1, 3]
    actors.measure_staleness(few_games)
    assert len(few_games.extra["curves"]) == 5
    assert any("by the formula" in note for note in few_games.notes)
    assert few_games.json()


# --- lesson 17 ------------------------------------------------------------------------------------


def test_every_way_has_a_row_and_what_is_hidden_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = dict(zip(WAYS, (3.0, 1.5, 5.0, 2.0), strict=True))
    asked = []

    def measured(ways: tuple[str, ...], rounds: int, **options: Any) -> dict[str, list[Cost]]:
        asked.append(options["rate"])
        return {way: [Cost(1.0, steps[way], 0.25, 2, 3_000_000)] * rounds for way in ways}

    monkeypatch.setattr(checkpoints, "costs", measured)
    report = Report("checkpoints", "A title")
    for name, rate in checkpoints.RATES.items():
        checkpoints.measure_costs(report, name, rate)
    assert [row.name for row in report.rows] == ["no saves", *WAYS] * 2 and asked == [20e6, None]
    told = "3.0 MB a rank, a save adds 4000 ms, 250 of them at its call"
    assert [row.note for row in report.rows[:2]] == ["", told]
    assert [(c.value, c.target, c.met) for c in report.claims] == [(75, 75, True)]


@pytest.mark.thorough
@pytest.mark.real
def test_kills_and_promises_are_claims() -> None:
    report = Report("checkpoints", "A title")
    checkpoints.measure_kills(report, kills=1)
    checkpoints.measure_promises(report)
    assert len(report.claims) == 6 and all(claim.met for claim in report.claims)


# --- lesson 11 ------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch):
    """Two repeats, and no compiler, which takes a while."""
    timed = on_device.in_turn

    def in_turn(contenders, device, **timing):
        return timed(contenders, device, most=2, least=2)

    monkeypatch.setattr(quantize, "in_turn", in_turn)
    monkeypatch.setattr(quantize, "compiled", lambda model, inputs: (None, "No compiler here."))


def test_the_layer_is_held_against_fp32_and_torchao(quick, monkeypatch):
    monkeypatch.setattr(quantize, "has_bfloat16", lambda: True)
    found = Report("quantize", "A title")
    quantize.layer(found, 64, (1, 8), held=(8,))
    cases = {row.case for row in found.rows}
    assert cases == {"linear 64 × 64, batch 1", "linear 64 × 64, batch 8"}
    names = {row.name for row in found.rows}
    older = {quantize.OLDER} if "fbgemm" in torch.backends.quantized.supported_engines else set()
    weights = {"ours, weights only", "ours, weights only, bf16"}
    assert names == {"fp32", "bf16", "ours", "torchao, eager"} | weights | older
    assert [claim.target for claim in found.claims] == [2.0, 3.0, 1.0]
    assert "No compiler here." in found.notes
    assert all("% off" in row.note for row in found.rows if row.name != "fp32")


def test_the_quicker_torchao_counts_and_only_who_is_right():
    found = Report("quantize", "A title")
    times = {"fp32": [6.0], "ours": [1.0], "torchao, eager": [3.0], "torchao, compiled": [2.0]}
    quantize.claim(found, "a case", times)
    assert [claim.value for claim in found.claims] == [6.0, 2.0]
    quantize.claim(found, "another", {"fp32": [6.0]})
    assert len(found.claims) == 2 and "too far off" in found.notes[-1]
    x = torch.randn(4, 8)
    models = {"fp32": nn.Linear(8, 3), "ours": nn.Linear(8, 3)}
    assert list(quantize.add(found, "wrong", models, x, budget=0.01)) == ["fp32"]


# --- lesson 16 ------------------------------------------------------------------------------------


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> Report:
    pytest.importorskip("optuna")
    from benchmarks import search

    for name, value in {"TRIALS": 6, "LEAST": 2, "MOST": 6}.items():
        monkeypatch.setattr(search, name, value)
    return Report("search", "A title")


def test_wrong_promotions_are_counted(little: Report) -> None:
    from benchmarks import search

    search.measure_promotions(little, "made", search.synthetic, ((27, 2), (81, 2)), 1, (1, 4))
    table = little.extra["wrong promotions, made losses"]
    assert [(row["trials"], row["workers"]) for row in table] == [
        (27, 1), (81, 1), (27, 4), (81, 4),
    ]  # fmt: skip
    assert all(row["share"] == row["wrong"] / row["promoted"] for row in table)
    assert len(little.claims) == 2


@pytest.mark.thorough
@pytest.mark.real
def test_kills_are_held_against_none_lost(little: Report) -> None:
    from benchmarks import search

    search.measure_kills(little, kills=1)
    assert len(little.claims) == 8 and all(claim.met for claim in little.claims)
    assert all(claim.target == 0 and not claim.at_least for claim in little.claims)
