"""The benchmark of lesson 16 runs, on little; no time is held against anything here."""

from __future__ import annotations

import pytest

pytest.importorskip("optuna")

from benchmarks import search
from benchmarks.report import Report


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> Report:
    for name, value in {"TRIALS": 6, "LEAST": 2, "MOST": 6}.items():
        monkeypatch.setattr(search, name, value)
    return Report("search", "A title")


@pytest.mark.thorough
@pytest.mark.real
def test_both_searches_are_timed(little: Report) -> None:
    search.measure_times(little, rounds=2)
    assert [row.name for row in little.rows] == [*search.MADE, "Optuna, halving"]
    assert all(len(row.seconds) == 2 and min(row.seconds) > 0 for row in little.rows)
    assert [claim.target for claim in little.claims] == [1.0, 1.0]
    assert little.rows[0].note == "20 steps"  # 6 of 2 steps, 2 of 4 more


def test_wrong_promotions_are_counted(little: Report) -> None:
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
    search.measure_kills(little, kills=1)
    assert len(little.claims) == 8 and all(claim.met for claim in little.claims)
    assert all(claim.target == 0 and not claim.at_least for claim in little.claims)
