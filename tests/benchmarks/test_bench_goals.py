"""What the parts must reach: each goal finds its claims, and says what they reach."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from benchmarks import goals, kept, lessons, run, table
from benchmarks.goals import PARTS, Part
from benchmarks.kept import REPOSITORY, SHOWN, Store
from benchmarks.report import BUSY, Report

KEPT = Store(REPOSITORY, SHOWN)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.benchmark or "elsewhere")
def test_each_goal_has_claims_of_its_benchmark_or_a_reason(part: Part) -> None:
    if not part.benchmark:
        assert part.elsewhere
        return
    assert part.benchmark in run.NAMES
    found = KEPT.load(part.benchmark)
    if found is None:
        assert part.benchmark == "lessons"  # `test_every_solution_is_timed` holds its claims
        return
    texts = [claim.text for claim in found.claims]
    for goal in part.goals:
        mine = [text for text in texts if re.fullmatch(goal.claims, text)]
        assert mine, goal.what
        others = [other for other in part.goals if other is not goal]
        assert not [t for t in mine for other in others if re.fullmatch(other.claims, t)]


def test_figures_lie_in_the_folder_of_the_machine_that_measured_them() -> None:
    for path in sorted(REPOSITORY.glob("*/*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        assert path.parent.name == kept.machine_name(data["machine"])
        assert path.stem == data["name"] and path.stem in run.NAMES
        assert data["machine"]["versions"]["torch"] and data["rows"] and data["claims"]


def test_the_worst_figure_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path, "a-machine")
    busy = f"{BUSY}, for a test."
    report = Report("quantize", "A title", notes=["AVX2", busy])
    for batch, value in ((32, 3.5), (256, 2.25)):
        report.hold(
            goals.OF_FP32, f"ours, times as quick as fp32, linear 8 × 8, batch {batch}", value
        )
    store.keep(report)
    found = {one.goal: one for one in table.evaluate(store, {"launch": "It failed."})}
    fp32 = found[goals.OF_FP32]
    assert (fp32.values, fp32.met, fp32.verdict) == ((3.5, 2.25), False, "not met")
    assert table.figures(fp32.values, "×") == "2.25 to 3.5×" and table.target(fp32.goal) == "≥ 3×"
    # What no claim tells is not met silently, nor missed.
    assert found[goals.OF_TORCHAO].met is None
    assert found[goals.WARM].why == "It failed." and found[goals.LINK].why == table.NOT_YET
    assert found[goals.TESTS.goals[0]].why == goals.TESTS.elsewhere
    shown = table.of_goals([*found.values()])
    assert (
        "2.25\xa0to\xa03.5× | **not\xa0met** |" in shown
        and f"{goals.OF_FP32.limit} {busy}" in shown
    )
    table.show(shown)
    assert "2.25" in capsys.readouterr().out
    told = table.as_dict(list(found.values()), store)["goals"]
    assert [goal["met"] for goal in told].count(False) == 1


@pytest.mark.thorough
@pytest.mark.real
def test_every_solution_is_timed(tmp_path: Path) -> None:
    cells = {"00_wrong": "raise OSError('no room')", "01_right": "1 + 1"}
    for name, source in cells.items():
        notebook = new_notebook(cells=[new_code_cell(source, id="cell")])
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    before = sorted(path.read_bytes() for path in tmp_path.iterdir())
    report = Report("lessons", "A title")
    lessons.add(report, sorted(tmp_path.iterdir()))
    assert [row.name for row in report.rows] == ["01_right"]
    assert report.notes == ["00_wrong ended with an error: OSError: no room"]
    failed, slowest, mean = report.claims
    assert (failed.value, failed.met) == (1, False)
    assert slowest.value >= mean.value > 0
    assert re.fullmatch(goals.SLOWEST_LESSON.claims, slowest.text)
    assert re.fullmatch(goals.MEAN_LESSON.claims, mean.text)
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == before
