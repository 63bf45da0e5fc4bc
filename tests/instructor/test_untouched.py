"""The lessons as learners get them: each runs to its end and says what is open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.exercises import of_lesson
from helpers.instructor.build import notebooks
from helpers.instructor.build_notebook import code_cells, execute, read

pytestmark = pytest.mark.real

# Where a student has them, in a release, all run untouched: see test_release_runs. Here, with the
# course's own answers at hand, two do: one of ranks, and with --all one that builds on them.
LESSONS = notebooks(Path(__file__).parents[2] / "lessons")
HERE = [path for path in LESSONS if path.name[:2] in ("00", "03")]
SECONDS = 400  # ends one that hangs; other tests run beside it


@pytest.mark.thorough
@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
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
