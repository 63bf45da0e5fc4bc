"""A folder of submissions to grades: found, graded in slots, stored, overridden, joined.

The folder OUT holds `results/` (one file a submission: what makes a run resumable), the reports,
`overrides.csv` (the instructor's own), and `run/` (the lock and the log: all that is not the same
from one run to the next).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from helpers.grade.grades import Mode

JUDGE = "helpers.grade.judge:Judge"


class GradingError(Exception):
    """Grading cannot begin or go on; the text says why and what to do."""


@dataclass(frozen=True)
class Wish:
    """What an instructor asked for. shard: (I, N), the I-th of N parts. mistakes: a table of the
    class's own (`helpers.grade.mistakes`), "" for none. judge: "module:name" of a class that
    is made and used as `helpers.grade.judge.Judge`.
    """

    folder: Path
    lesson: str
    out: Path
    jobs: int
    mode: Mode = "bubblewrap"
    shard: tuple[int, int] = (1, 1)
    roster: Path | None = None
    key: Path | None = None
    mistakes: str = ""
    judge: str = JUDGE
