"""The benchmark of checkpoints runs, on little; no time is held against anything here."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import checkpoints
from benchmarks.report import Report
from helpers.lessons.cluster.experiments.checkpoint_hidden import WAYS, Cost


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
