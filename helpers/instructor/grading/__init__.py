"""A folder of submissions to grades: found, graded in slots, stored, overridden, joined.

The folder OUT holds `results/` (one file a submission: what makes a run resumable), the reports,
`overrides.csv` (the instructor's own), and `run/` (locks, logs and times: all that is not the same
from one run to the next).
"""

from __future__ import annotations


class GradingError(Exception):
    """Grading cannot begin or go on; the text says why and what to do."""


class Interrupted(Exception):
    """The instructor stopped the run. graded: how many have their result; total: of how many."""

    def __init__(self, graded: int, total: int) -> None:
        super().__init__(f"{graded} of {total} submissions have their result.")
        self.graded, self.total = graded, total
