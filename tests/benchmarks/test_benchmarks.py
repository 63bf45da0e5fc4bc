"""What the benchmarks say about what they found; no time is held against anything here."""

from __future__ import annotations

import json

import pytest

from benchmarks import interleave, run
from benchmarks.report import RESULTS, Report, in_words
from helpers.cli import BENCHMARKS
from helpers.engines.comm import Comm


def test_a_claim_is_met_on_its_own_side():
    report = Report("launch", "A title")
    report.claim("ratio", 0.9, 0.9)
    report.claim("ratio", 0.89, 0.9)
    report.claim("seconds", 0.25, 0.25, at_least=False, unit=" s")
    report.claim("seconds", 0.26, 0.25, at_least=False, unit=" s")
    assert [claim.met for claim in report.claims] == [True, False, True, False]


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
    report.show()
    shown = capsys.readouterr().out
    assert "200 ms" in shown and "not met" in shown


def test_the_slowest_rank_counts():
    ranks = [{"a": [1.0, 4.0]}, {"a": [2.0, 3.0]}]
    assert interleave.slowest(ranks) == {"a": [2.0, 4.0]}
    assert interleave.ratio([2.0, 9.0, 4.0], [1.0, 3.0, 4.0]) == 2.0


def test_contenders_take_turns():
    class Alone(Comm):
        """One rank, of which only the barrier is used."""

        isend = irecv = time = compute = shared = background = None  # type: ignore[assignment]

        def barrier(self) -> None:
            pass

    calls: list[str] = []
    contenders = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    seconds = interleave.interleaved(Alone(), contenders, repeats=2, warmup=1)
    assert {name: len(times) for name, times in seconds.items()} == {"a": 2, "b": 2}
    # Neither always goes first.
    assert sorted(calls[::2]) != [calls[0]] * 3


def test_units_suit_the_time():
    assert [in_words(s) for s in (2.5, 0.0123, 4.56e-5)] == ["2.50 s", "12.3 ms", "45.6 µs"]


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(ValueError, match="launch, collectives, data-parallel, grade, simulate"):
        run.main("speed")
    # The command knows them without importing them.
    assert tuple(run.NAMES) == BENCHMARKS


@pytest.mark.parametrize("name", run.NAMES)
def test_kept_figures_say_where_they_come_from(name):
    files = [*RESULTS.glob("gpu-*.json")] if name == "gpu" else [RESULTS / f"{name}.json"]
    assert files
    for path in files:
        kept = json.loads(path.read_text(encoding="utf-8"))
        assert kept["name"] == name
        assert kept["machine"]["processor"] and kept["machine"]["versions"]["torch"]
        assert kept["rows"] and kept["claims"]
