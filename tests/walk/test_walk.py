"""Every lesson as its learner meets it: from its release, in JupyterLab, in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from walk_lesson import walk

from helpers.checks import lessons

pytestmark = pytest.mark.real

LESSONS = [
    pytest.param(lesson, marks=[] if lesson == "00" else pytest.mark.thorough)
    for lesson in lessons()
]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_walk_through_a_lesson(
    tmp_path: Path, pytestconfig: pytest.Config, lesson: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = pytestconfig.getoption("--pictures")
    everyday = None if lesson == "00" else tmp_path / "pictures"
    walked = walk(lesson, tmp_path, Path(kept) / lesson if kept else everyday)
    with capsys.disabled():
        print(f"\n{walked.row()}", *walked.faults, sep="\n")
    assert walked.trouble == []
    # What a narrow window cuts off can be moved to; it is told, and no failure.
    assert not [fault for fault in walked.faults if "broken" in fault]
