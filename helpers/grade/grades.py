"""What grading gives: one grade a submission, one an exercise, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Outcome = Literal[
    "passed",
    "wrong",
    "not attempted",
    "error",
    "time-out",
    "crashed",
    "not judged",
    "missing",
    "by hand",
]
Mode = Literal["bubblewrap", "none"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NOT_JUDGED: Outcome = "not judged"


@dataclass(frozen=True)
class ExerciseGrade:
    """One exercise of one submission.

    outcome: "missing" where no cell defines the function, "by hand" where the instructor gives the
    points, "not judged" where the machine was too busy to tell or the grader failed: its 0 points
    say nothing. mistake: its name in the spec, the same for everybody who makes it, "" where there
    is none. reason: one sentence. hint: what the learner's check says about the lesson's own cases,
    "" where only hidden cases are wrong; it may quote the answer, so it is shown as text and never
    as markup. did: where no mistake of the spec was recognised, a word that is the same for all
    answers that did the same on the lesson's own cases.
    """

    number: str
    title: str
    outcome: Outcome
    points: float
    max: float
    mistake: str = ""
    reason: str = ""
    hint: str = ""
    did: str = ""


@dataclass(frozen=True)
class SubmissionGrade:
    """One submission.

    submission: the student's name in the folder. seed: of the hidden cases. note: a sentence about
    the whole submission (a notebook that cannot be read, cells that were skipped), or "".
    """

    submission: str
    lesson: str
    seed: int
    sandbox: Mode
    exercises: tuple[ExerciseGrade, ...]
    note: str = ""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What came of each exercise."""
        return tuple(e.outcome for e in self.exercises)

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Numbers of the exercises of which nothing was decided."""
        return tuple(e.number for e in self.exercises if e.outcome == NOT_JUDGED)

    @property
    def total(self) -> float:
        """Points reached, as far as it was judged."""
        return sum(e.points for e in self.exercises)

    @property
    def max(self) -> float:
        """Points that there are."""
        return sum(e.max for e in self.exercises)

    def as_json(self) -> dict[str, Any]:
        """As plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Took:
    """What grading took when it was last done: real seconds, processes that it ended, the machine.

    It is no part of a grade: no two runs take the same.
    """

    seconds: float
    crashes: int
    host: str


def from_json(data: Mapping[str, Any]) -> SubmissionGrade:
    """The grade of `as_json`. Raises KeyError, TypeError where it is no such data."""
    exercises = tuple(ExerciseGrade(**e) for e in data["exercises"])
    return SubmissionGrade(**{**data, "exercises": exercises})
