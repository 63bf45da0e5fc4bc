"""What the benchmarks say about what they found; no time is held against anything here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from benchmarks import kept, run, table
from benchmarks.report import Report
from helpers.course.cli import BENCHMARKS


def test_a_report_as_a_table_and_as_json(capsys):
    report = Report("launch", "A title")
    report.add("4 ranks", "ours", [0.1, 0.3, 0.2])
    report.claim("ours", 0.2, 0.1, at_least=False, unit=" s")
    assert report.median("4 ranks", "ours") == pytest.approx(0.2)
    with pytest.raises(KeyError, match="was not measured"):
        report.median("4 ranks", "theirs")
    found = json.loads(report.json())
    assert found["rows"][0]["quartiles_s"] == pytest.approx([0.15, 0.25])
    # A missed target is told, never hidden.
    assert found["claims"][0]["met"] is False
    table.show(table.of_report(report))
    shown = capsys.readouterr().out
    assert "200 ms" in shown and "not\xa0met" in shown


def test_the_command_knows_the_benchmarks_without_importing_them():
    assert tuple(run.NAMES) == BENCHMARKS


def test_a_benchmark_says_when_it_began_how_long_it_took_and_whether_others_ran(monkeypatch):
    monkeypatch.setattr(run, "others", lambda: 60.0)
    fake = SimpleNamespace(measure=lambda: Report("launch", "A title"))
    monkeypatch.setattr(run, "import_module", lambda name: fake)
    found = run.measured("launch")
    assert datetime.fromisoformat(found.measured) <= datetime.now(UTC)
    assert json.loads(found.json())["took_s"] == round(found.took_s, 1) >= 0
    assert found.notes == [
        "The machine was busy when this began: other programs used 60 % of its cores."
    ]


def test_one_benchmark_is_kept_where_it_is_asked_for_and_none_without_figures(
    monkeypatch, tmp_path, capsys
):
    report = Report("launch", "A title")
    monkeypatch.setattr(run, "measured", lambda name: report)
    monkeypatch.setattr(kept, "own", lambda: tmp_path / "own")
    monkeypatch.setattr(kept, "REPOSITORY", tmp_path / "repository")
    assert run.main("launch") == 0 and not list(tmp_path.iterdir())
    report.add("a case", "ours", [1.0])
    assert run.main("launch", as_json=True) == 0
    assert [path.name for path in tmp_path.glob("own/*/*")] == ["launch.json"]
    assert run.main("launch", save=True) == 0
    assert [path.name for path in tmp_path.glob("repository/*/*")] == ["launch.json"]
