"""The lessons as learners get them: each runs to its end and says what is open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.exercises import of_lesson
from helpers.instructor.build import notebooks
from helpers.instructor.build_notebook import code_cells, execute, read

LESSONS = notebooks(Path(__file__).parents[1] / "lessons")
SECONDS = 400  # ends one that hangs; other tests run beside it


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_an_untouched_lesson_runs_to_the_end(path: Path) -> None:
    lesson = read(path)
    execute(lesson, path.parent, timeout=SECONDS)
    for cell in code_cells(lesson):
        assert cell.execution_count is not None, cell.id
        for output in cell.outputs:
            assert output.output_type != "error", (cell.id, output)
            assert output.get("name") != "stderr", (cell.id, output)
    # It says of every exercise that it is open.
    said = json.dumps([cell.outputs for cell in code_cells(lesson)], ensure_ascii=False)
    for exercise in of_lesson(path.name[:2]):
        assert f"Exercise {exercise.number} is not done yet." in said
