"""The report of lesson 18: with other runs in the logbook, each of its sentences says something
else, and no number of a result is typed."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from helpers.course.build.notebook import execute
from helpers.grade.judge.report import TEXTS, typed_number
from helpers.lessons.capstone import PARTS

SOLUTION = Path(__file__).parents[3] / "solutions" / "18_capstone.ipynb"
# Cells before the report that its cells need.
FIRST = ("setup", "exercise-18-4", "exercise-18-5", "exercise-18-6")
# Runs that nobody made: each way has its own pace, which `seed` deals out.
DATA = """\
import numpy as np
from helpers.lessons.capstone.experiments.logbook import Logbook

difference_of = compare
book, dealt = Logbook(None), np.random.default_rng({seed})
names = ("processes", "hosts", "clock", "elsewhere")
guesses = [dict(zip(("first", "best"), dealt.permutation(WAYS).tolist())) for _ in names]
book.add("prediction", given=dict(zip(names[:3], guesses)))
for name in names:
    pace = dealt.permutation(5) + dealt.uniform(1, 2, 5)
    end = dealt.permutation(5) + dealt.uniform(8, 9, 5)
    for at, way in enumerate(WAYS):
        lost = (at, name) == ({seed} % 5, "clock")
        for seed in SEEDS:
            error = end[at] + dealt.uniform(0, 0.3)
            looks = [[pace[at] * k / 10, 0.0, 80.0 if k < 5 else error] for k in range(11)]
            seconds = None if lost else pace[at] * dealt.uniform(0.7, 0.75)
            what = dict(setting=name, way=way, seed=seed, rate=0.1, began=0.0, looks=looks)
            book.add("run", **what, seconds=seconds, end=error)
"""


def told(seed: int, tmp_path: Path) -> dict[str, list[str]]:
    """The lines and rows that the report's cells show of these runs, and their figures."""
    cells = {cell.id: cell for cell in nbformat.read(SOLUTION, 4).cells if cell.cell_type == "code"}
    report = [name for name in cells if name.startswith("report-")]
    made = [new_code_cell(cells[name].source, id=name) for name in FIRST]
    made.append(new_code_cell(DATA.format(seed=seed), id="data"))
    made += [new_code_cell(cells[name].source, id=name) for name in report]
    notebook = new_notebook(cells=made)
    execute(notebook, tmp_path)
    found: dict[str, list[str]] = {}
    for cell in notebook.cells[len(FIRST) + 1 :]:
        lines = found.setdefault(cell.id, [])
        for output in cell.outputs:
            assert output.output_type != "error", output.evalue
            shown = output.get("text") or output.get("data", {}).get("text/plain", "")
            with_numbers = [line for line in shown.splitlines() if any(map(str.isdigit, line))]
            lines += [line.strip() for line in with_numbers] or [shown]  # or the names alone
            lines += [output.data["image/png"]] if "image/png" in output.get("data", {}) else []
    return found


@pytest.mark.thorough
@pytest.mark.real
def test_other_runs_change_every_sentence_table_and_figure(tmp_path: Path) -> None:
    one, again, other = (told(seed, tmp_path) for seed in (1, 1, 2))
    del one["report-logbook"], again["report-logbook"], other["report-logbook"]
    assert one == again
    for name, lines in one.items():
        fixed = ("This runs your", "with 95 % intervals over", "Modelled, ", "All ways arrived")
        same = [line for line in set(lines) & set(other[name]) if not any(w in line for w in fixed)]
        assert not same, (name, same)
    counted = {name: len(lines) for name, lines in one.items()}
    assert counted["report-findings"] >= 10 and counted["report-agree"] >= 14, counted
    assert counted["report-agreement"] >= 2, counted
    assert sum(len(line) > 5000 for line in one["report-figure"]) == 3


def test_the_sample_types_no_number() -> None:
    cells = {cell.id: cell.source for cell in nbformat.read(SOLUTION, 4).cells}
    assert typed_number({name: cells[name] for name in TEXTS}) is None
    words = "It took 3.5 s."
    assert typed_number(dict.fromkeys(TEXTS, words)) is not None


def test_the_notebook_says_what_the_report_is_graded_by() -> None:
    (cell,) = [cell for cell in nbformat.read(SOLUTION, 4).cells if cell.id == "report"]
    for part in PARTS:
        assert f"| {part.number} {part.title.removeprefix('Report: ')} | {part.points:g} |" in (
            cell.source
        )
        assert "<br>".join(part.rubric) in cell.source
