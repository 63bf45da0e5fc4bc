"""OUT/overrides.csv: points that the instructor sets by hand, and that no regrade undoes."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.grade.files import formula_safe, printable, write
from helpers.grade.grades import NOT_JUDGED, SubmissionGrade
from helpers.grade.roster import read_table
from helpers.grade.wish import GradingError

FILE = "overrides.csv"
HEADER = ["submission", "exercise", "points", "comment"]


@dataclass(frozen=True)
class Override:
    """Points for one exercise of one submission. was: what grading gave."""

    exercise: str
    points: float
    comment: str
    was: float = 0.0


Overrides = dict[str, dict[str, Override]]  # by submission's name, then by exercise


def ensure(out: Path) -> None:
    """Write the header where OUT has no overrides yet."""
    if not (out / FILE).exists():
        write(out / FILE, (",".join(HEADER) + "\n").encode())


def read(out: Path, names: Sequence[str], most: Mapping[str, float]) -> Overrides:
    """The overrides in OUT; of two for the same exercise the later one counts.

    names: of all submissions. most: points that each exercise gives. Raises GradingError with the
    number of the line that is wrong.
    """
    path = out / FILE
    if not path.exists():
        return {}
    shown = {formula_safe(name).strip(): name for name in names} | {name: name for name in names}
    found: Overrides = {}
    for number, row in read_table(path, "The file"):
        if [cell.casefold() for cell in row[:3]] == HEADER[:3]:
            continue
        try:
            if len(row) < 3:
                raise ValueError(f"it needs {', '.join(HEADER[:3])}, and a comment if you like.")
            if (who := unicodedata.normalize("NFC", row[0])) not in shown:
                raise ValueError(f"there is no submission {printable(who)!r}.")
            exercise = _exercise(row[1], most)
            points = _points(row[2], exercise, most[exercise])
        except ValueError as error:
            raise GradingError(f"{path}, line {number}: {error}") from None
        comment = printable(", ".join(cell for cell in row[3:] if cell), lines=True)
        found.setdefault(shown[who], {})[exercise] = Override(exercise, points, comment)
    return found


def _exercise(given: str, known: Mapping[str, float]) -> str:
    """The exercise's number. Spreadsheet programs make 3.1 of 03.1, and of 03.10 too."""
    fitting = [one for one in known if given.lstrip("'0") == f"{float(one):g}"]
    if given not in known and len(fitting) != 1:
        raise ValueError(
            f"there is no exercise {printable(given)!r}; there are {', '.join(known)}."
        )
    return given if given in known else fitting[0]


def _points(given: str, exercise: str, most: float) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (points := float(given.replace(",", "."))) <= most:
            return points
    raise ValueError(f"the points are {given!r}, but exercise {exercise} gives 0 to {most:g}.")


def apply(
    grade: SubmissionGrade, overrides: Mapping[str, Override]
) -> tuple[SubmissionGrade, tuple[Override, ...]]:
    """The grade with the instructor's points, and what was changed.

    What was not judged is "by hand" then.
    """
    exercises, changed = [], []
    for exercise in grade.exercises:
        override = overrides.get(exercise.number)
        if override is not None:
            changed.append(replace(override, was=exercise.points))
            outcome = "by hand" if exercise.outcome == NOT_JUDGED else exercise.outcome
            exercise = replace(exercise, points=override.points, outcome=outcome)
        exercises.append(exercise)
    return replace(grade, exercises=tuple(exercises)), tuple(changed)
