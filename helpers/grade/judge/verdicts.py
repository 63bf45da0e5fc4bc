"""From what was seen to a grade: the outcome, the points, and words that give no case away."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from helpers.checks.known import aspects
from helpers.checks.spec import Case, Exercise, Observation, Verdict
from helpers.grade.grades import ExerciseGrade, Outcome
from helpers.grade.judge.session import State
from helpers.grade.worker.cells import defined_in
from helpers.grade.worker.submission import NO_FUNCTION

_LONGEST = 3000  # characters of a reason or a hint
_OPEN = re.compile(r"Exercise (\d\d\.\d+) is not done yet")
_BY_TROUBLE: dict[str, Outcome] = {
    "failed": "error",
    "timeout": "time-out",
    "died": "crashed",
    "not done": "not attempted",
}
_TOO_BUSY = "The machine was too busy to tell: nothing was decided about this answer."
_CALLED: tuple[Outcome, ...] = ("wrong", "error", "time-out", "crashed")
_ON_VISIBLE: dict[Outcome, str] = {
    "wrong": "Wrong on the cases that the lesson shows.",
    "error": "An exception on the cases that the lesson shows.",
    "time-out": "No end within the time, on the cases that the lesson shows.",
    "crashed": "The process that ran it ended, on the cases that the lesson shows.",
    "not attempted": "The exercise is as the lesson has it.",
}
_ON_HIDDEN: dict[Outcome, str] = {
    "wrong": "Right on the cases that the lesson shows, wrong on a hidden one",
    "error": "Right on the cases that the lesson shows, an exception on a hidden one",
    "time-out": "Right on the cases that the lesson shows, no end within the time on a hidden one",
    "crashed": "Right on the cases that the lesson shows; on a hidden one its process ended",
    "not attempted": "Right on the cases that the lesson shows, open on a hidden one",
}


def passed(exercise: Exercise, remark: Verdict | None = None) -> ExerciseGrade:
    """Full points. remark: what the learner's own check says all the same."""
    reason = "Right on all cases, those that the lesson shows and others."
    if remark is None:
        return _grade(exercise, "passed", reason)
    hint = f"This costs no points, for nobody can see it from outside: {remark.hint}"
    return _grade(exercise, "passed", reason, hint=hint)


def on_visible(
    exercise: Exercise, case: Case, seen: Observation, verdict: Verdict
) -> ExerciseGrade:
    """No points for what happened in a case that the lesson shows: with the lesson's own hint."""
    other = _open_other(exercise, seen)
    if other:
        reason = f"It builds on exercise {other}, which is open."
        return _grade(exercise, "wrong", reason, mistake="builds on an open exercise")
    if seen.trouble == "not judged":
        return undecided(exercise)
    outcome = _BY_TROUBLE.get(seen.trouble, "wrong")
    hint = "" if outcome == "not attempted" else verdict.hint
    grade = _grade(exercise, outcome, _ON_VISIBLE[outcome], verdict.mistake, hint)
    if outcome == "not attempted" or is_known(exercise, verdict.mistake):
        return grade
    return replace(grade, did=did(exercise, case, seen))


def is_known(exercise: Exercise, mistake: str) -> bool:
    """Whether a mistake is one that the spec names, and not a word for any end."""
    named = [answer.name for answer in exercise.wrong]
    return mistake in [*named, *(family.name for family in exercise.mistakes)]


def did(exercise: Exercise, case: Case, seen: Observation) -> str:
    """A short word for what an answer did in a case, up to the third digit of each number."""
    told = f"{case.name} {_rounded(aspects(exercise, case, seen))}"
    return hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _rounded(value: Any) -> str:
    if isinstance(value, Mapping):
        return str({str(key): _rounded(one) for key, one in value.items()})
    if isinstance(value, list | tuple):
        return str([_rounded(one) for one in value])
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return str((value.shape, [f"{one:.3g}" for one in value.ravel().tolist()]))
    return f"{value:.3g}" if isinstance(value, int | float) else repr(value)


def on_hidden(
    exercise: Exercise, seen: Observation, verdict: Verdict, told: Verdict | None = None
) -> ExerciseGrade:
    """No points for what happened in a hidden case: the mistake's name, and nothing of the case.

    told: what the learner's own check says in the cases that the lesson shows; it is the hint where
    that is the same mistake.
    """
    if seen.trouble == "not judged":
        return undecided(exercise)
    outcome = _BY_TROUBLE.get(seen.trouble, "wrong")
    named = outcome == "wrong" and verdict.mistake
    reason = _ON_HIDDEN[outcome] + (f": {verdict.mistake}." if named else ".")
    hint = told.hint if told is not None and told.mistake == verdict.mistake else ""
    return _grade(exercise, outcome, reason, verdict.mistake, hint)


def on_real_ranks(
    exercise: Exercise, seen: Observation, told: Verdict | None = None
) -> ExerciseGrade:
    """No points: right on the virtual clock, but not on real processes.

    told: what the learner's own check says in the cases that the lesson shows, if it is wrong: it
    sees what lies with the answer alone.
    """
    if seen.trouble == "not judged":
        return undecided(exercise)
    outcome = _BY_TROUBLE.get(seen.trouble, "wrong")
    words = {
        "failed": "on real ranks it raised an exception",
        "timeout": "on real ranks it does not come to an end",
        "deadlock": "on real ranks nobody moves any more",
        "died": "on real ranks a process ended",
    }.get(seen.trouble, "on real ranks it gives something else")
    reason = f"Right on the virtual clock; {words}."
    if told is not None and told.mistake:
        return _grade(exercise, outcome, reason, told.mistake, told.hint)
    return _grade(exercise, outcome, reason, "differs on real ranks")


def without_call(
    exercise: Exercise, state: State, others: Sequence[tuple[str, str]] = ()
) -> ExerciseGrade:
    """No points for a function that could not be called, by what became of its cell.

    others: the cells that are no code, (kind, text): an answer in one of them does not run.
    """
    function = exercise.function
    if state.what in ("open", "missing"):
        reason = f"No cell defines `{function}`."
        outcome: Outcome = "missing"
        if state.what == "open":
            outcome, reason = "not attempted", _ON_VISIBLE["not attempted"]
        if found := defined_in(((kind, text, "") for kind, text in others), function):
            reason += (
                f" `{function}` stands in a {found[0]} cell, which does not run: make it a code "
                "cell (in JupyterLab: select it, Esc, Y)."
            )
        return _grade(exercise, outcome, reason)
    if state.kind == NO_FUNCTION:
        reason = f"`{function}` is no function: `{state.shown}` makes it a value of type "
        return _grade(exercise, "error", f"{reason}{state.text}.", NO_FUNCTION)
    if state.what == "failed":
        no_python = state.kind in ("SyntaxError", "IndentationError", "TabError")
        did = "is no Python" if no_python else "raised an exception"
        reason = f"The cell that defines `{function}` {did}."
        where = f"Line {state.line} of its cell" if state.line else "Its cell"
        hint = f"{where}, `{state.shown}`: {state.kind}" + (f": {state.text}" if state.text else "")
        return _grade(exercise, "error", reason, "exception in its cell", hint)
    if state.what == "not judged":
        return undecided(exercise)
    outcome = "time-out" if state.what == "time-out" else "crashed"
    cell = f"The cell that begins with `{state.shown}`" if state.shown else "A cell"
    did = "did not come to an end" if state.what == "time-out" else "ended the process"
    reason = f"{cell} {did}, and so `{function}` is not there."
    return _grade(exercise, outcome, reason, f"its cell {did}")


def with_bases(
    exercises: Sequence[Exercise], grades: Sequence[ExerciseGrade]
) -> list[ExerciseGrade]:
    """The grades; one that may be the fault of an exercise that it builds on says so."""
    passed_ones = {grade.number for grade in grades if grade.outcome == "passed"}
    noted = []
    for exercise, grade in zip(exercises, grades, strict=True):
        lacking = [number for number in exercise.builds_on if number not in passed_ones]
        if lacking and grade.outcome in _CALLED and " builds on " not in grade.reason:
            reason = f"{grade.reason} It builds on exercise {lacking[0]}, which did not pass."
            grade = replace(grade, reason=reason)
        noted.append(grade)
    return noted


def out_of_time(exercise: Exercise) -> ExerciseGrade:
    """No points: what the submission did before has used up its time."""
    reason = "The time for the whole submission was used up before this exercise."
    return _grade(exercise, "time-out", reason, "no time left")


def undecided(exercise: Exercise) -> ExerciseGrade:
    """Nothing is decided: the last patience was over before the answer's own time was."""
    return _grade(exercise, "not judged", _TOO_BUSY)


def unread(exercise: Exercise) -> ExerciseGrade:
    """No points: there is no notebook to read."""
    return _grade(exercise, "missing", "The notebook could not be read.")


def _open_other(exercise: Exercise, seen: Observation) -> str:
    """The other exercise that an answer found open, or ""."""
    found = _OPEN.search(seen.text) if seen.trouble == "not done" else None
    return found[1] if found and found[1] != exercise.number else ""


def _shown(text: str) -> str:
    """A text that may quote the answer: of bounded length, and one that every file can hold."""
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return short.encode("utf-8", "backslashreplace").decode()


def _grade(
    exercise: Exercise, outcome: Outcome, reason: str, mistake: str = "", hint: str = ""
) -> ExerciseGrade:
    reason, hint = _shown(reason), _shown(hint)
    points = float(exercise.points) if outcome == "passed" else 0.0
    number, title, most = exercise.number, exercise.title, float(exercise.points)
    return ExerciseGrade(number, title, outcome, points, most, mistake, reason, hint)
