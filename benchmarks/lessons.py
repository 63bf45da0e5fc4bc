"""Every lesson's solution once, in a kernel of its own: seconds from its start to its end.

What is timed is what *Run All* does in a lesson with all answers: a kernel starts, every cell runs,
the kernel ends. The notebooks are read from `solutions/` and run in an empty folder, so nothing is
stored.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import goals
from benchmarks.report import Report
from helpers.course.build.notebook import execute, read
from helpers.course.build.run import notebooks
from helpers.course.setup.places import ROOT

CASE = "a solution, start to end"
COLOUR = re.compile(r"\x1b\[[\d;]*m")  # as a traceback has it


def measure() -> Report:
    """All solutions, one after the other."""
    report = Report("lessons", "The lessons' solutions, each from its kernel's start to its end")
    add(report, notebooks(ROOT / "solutions"))
    return report


def add(report: Report, paths: Sequence[Path]) -> None:
    """The seconds of each notebook; one that fails is told, and the others go on."""
    for path in paths:
        print(path.stem, file=sys.stderr, flush=True)
        start = time.perf_counter()
        try:
            with tempfile.TemporaryDirectory() as folder:
                execute(read(path), Path(folder))
        except Exception as problem:  # whatever a cell raises; the other lessons' minutes count
            said = COLOUR.sub("", str(problem)).strip().splitlines() or [type(problem).__name__]
            report.notes.append(f"{path.stem} ended with an error: {said[-1][:200]}")
            continue
        report.add(CASE, path.stem, [time.perf_counter() - start])
    report.claim("solutions that end with an error", len(report.notes), 0, False, "")
    if seconds := [row.median_s for row in report.rows]:
        report.hold(goals.SLOWEST_LESSON, f"the slowest of {len(seconds)} solutions", max(seconds))
        report.hold(
            goals.MEAN_LESSON, f"{len(seconds)} solutions on average", sum(seconds) / len(seconds)
        )
