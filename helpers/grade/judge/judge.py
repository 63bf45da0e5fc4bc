"""Grade one submission: its functions run in sandboxes, everything is decided here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.checks import of_lesson
from helpers.checks.apart import observe_here
from helpers.checks.judging import is_right, judge
from helpers.checks.report import parts_of
from helpers.checks.spec import Case, Exercise, Observation, Verdict
from helpers.grade import mistakes
from helpers.grade.grades import ExerciseGrade, Mode, SubmissionGrade
from helpers.grade.judge import verdicts
from helpers.grade.judge.budgets import BUDGETS, Budgets
from helpers.grade.judge.calls import USED_UP, observe
from helpers.grade.judge.notebook import Unreadable, code_cells, other_cells, to_look_at
from helpers.grade.judge.real import differs_on_real_ranks
from helpers.grade.judge.session import Session
from helpers.grade.sandbox import Sandbox
from helpers.grade.seen import is_right_outside

OTHERS = "No cell defines a function of this lesson: is it another lesson's notebook, or a draft?"
SANDBOXES = 5  # of a slot: with more ranks than these, some share one


@dataclass(frozen=True)
class Graded:
    """A grade, and what is not part of it: the real seconds, and the processes that it ended."""

    grade: SubmissionGrade
    seconds: float
    crashes: int


class Judge:
    """Grades submissions of one lesson, one after the other, in sandboxes of its own.

    slot: this judge's number among those at work on this machine, from 0. Use it in the main thread
    of a process; `close` it, or leave a `with` block, at the end.
    """

    def __init__(
        self, lesson: str, mode: Mode = "bubblewrap", slot: int = 0, budgets: Budgets = BUDGETS
    ) -> None:
        self.lesson, self.mode, self.budgets = lesson, mode, budgets
        self.exercises = of_lesson(lesson)
        first = slot * SANDBOXES
        self.sandboxes = [Sandbox(first + i, lesson, mode) for i in range(SANDBOXES)]

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def learn(self, table: str) -> None:
        """Know the class's own mistakes, too: `helpers.grade.mistakes`. Raises TableError."""
        self.exercises = tuple(mistakes.learned(self.exercises, table))

    def close(self) -> None:
        """End the sandboxes."""
        for sandbox in self.sandboxes:
            sandbox.stop()

    def grade(self, path: Path, submission: str, seed: int) -> Graded:
        """Grade one notebook.

        seed: of the hidden cases. Never raises for what a submission holds or does; raises
        SandboxError where the sandbox cannot be started.
        """
        begun = time.monotonic()
        try:
            sources, others = code_cells(path), other_cells(path)
        except Unreadable as error:
            grades = [verdicts.unread(exercise) for exercise in self.exercises]
            grades += self._parts(path, None, seed)
            return self._graded(grades, submission, seed, begun, note=str(error))
        functions = [exercise.function for exercise in self.exercises]
        session = Session(self.sandboxes, sources, functions, self.budgets)
        try:
            # Hidden cases come after everything of which a hint is told: no hint can hold them.
            shown = [self._visible(e, session, others) for e in self.exercises]
            grades = [
                found if isinstance(found, ExerciseGrade) else self._hidden(e, session, seed, found)
                for e, found in zip(self.exercises, shown, strict=True)
            ]
            grades += self._parts(path, session, seed)
        finally:
            session.close()
        crashes, note = session.crashes, to_look_at(sources)
        if all(each.outcome == "missing" for each in grades):
            note = f"{OTHERS} {note}".strip()
        return self._graded(grades, submission, seed, begun, crashes, note)

    def _parts(self, path: Path, session: Session | None, seed: int) -> list[ExerciseGrade]:
        """The parts of a report, where the lesson has one."""
        parts = parts_of(self.lesson)
        if not parts:
            return []
        from helpers.grade.judge.report import grade_parts

        if session is not None:
            session.give_up(crashed=False)  # what is told of the parts may quote the answers

        def ask(exercise: Exercise, case: Case) -> Observation:
            if session is None or session.clock.up:
                return Observation(trouble="timeout", text=USED_UP)
            if session.states()[exercise.function].what != "there":
                return Observation(trouble="not done", text=f"{exercise.number} is open.")
            session.clock.exercise()
            return observe(exercise, case, session)

        return grade_parts(parts, path, ask, seed)

    def _graded(
        self,
        grades: list[ExerciseGrade],
        submission: str,
        seed: int,
        begun: float,
        crashes: int = 0,
        note: str = "",
    ) -> Graded:
        count = len(self.exercises)
        noted = (*verdicts.with_bases(self.exercises, grades[:count]), *grades[count:])
        made = SubmissionGrade(submission, self.lesson, seed, self.mode, noted, note)
        return Graded(made, time.monotonic() - begun, crashes)

    def _visible(
        self, exercise: Exercise, session: Session, others: Sequence[tuple[str, str]]
    ) -> ExerciseGrade | Verdict | None:
        """The lesson's own cases of an exercise, one call at a time.

        Where all are right, what a learner's own check would say all the same, or None.
        """
        if session.clock.up:
            return verdicts.out_of_time(exercise)
        state = session.states()[exercise.function]
        if state.what != "there":
            return verdicts.without_call(exercise, state, others)
        session.clock.exercise()
        remark = None
        for case in exercise.cases(0):
            seen = observe(exercise, case, session)
            right = is_right_outside(exercise, case, seen)
            if right and (remark or is_right(exercise, case, seen)):
                continue
            verdict = judge(exercise, case, seen, run=observe_here)
            if right:
                remark = verdict
                continue
            told = remark  # what a learner's own check says first
            if told is None and _lies_elsewhere(exercise) and seen.trouble in ("", "failed"):
                told = _hint(exercise, [case], session)
            if told is not None:
                seen, verdict = replace(seen, trouble=""), told
            return verdicts.on_visible(exercise, case, seen, verdict)
        if remark is None and _lies_elsewhere(exercise):
            session.clock.exercise()
            remark = _hint(exercise, exercise.cases(0), session)
        return remark

    def _hidden(
        self,
        exercise: Exercise,
        session: Session,
        seed: int,
        remark: Verdict | None,
    ) -> ExerciseGrade:
        """The hidden cases of an exercise, one call at a time, and one of them on real ranks.

        remark: what a learner's own check says of an answer that passes. The first case whose
        process is gone gets a second try.
        """
        if session.clock.up:
            return verdicts.out_of_time(exercise)
        session.clock.exercise()
        again = False
        right: list[tuple[Case, Observation]] = []
        for case in exercise.cases(seed):
            seen = observe(exercise, case, session)
            if seen.trouble == "died" and not again:
                # It went well on the lesson's cases: what another answer has left may have had the
                # sandbox ended.
                again, seen = True, observe(exercise, case, session)
            if not is_right_outside(exercise, case, seen):
                if remark is not None and not seen.trouble:  # known before, and decisive here
                    return verdicts.on_hidden(exercise, seen, remark, remark)
                verdict = judge(exercise, case, seen, run=observe_here)
                told = None if seen.trouble else _afresh(exercise, session)
                return verdicts.on_hidden(exercise, seen, verdict, told)
            right.append((case, seen))
        differs = differs_on_real_ranks(exercise, right, session)
        if differs:
            told = None if differs.trouble else _afresh(exercise, session)
            return verdicts.on_real_ranks(exercise, differs, told)
        return verdicts.passed(exercise, remark)


def _lies_elsewhere(exercise: Exercise) -> bool:
    """Whether a learner's own check sees from inside what is handed over, and the grader not."""
    return getattr(exercise.drive, "hands", None) is not None


def _afresh(exercise: Exercise, session: Session) -> Verdict | None:
    """The hint, from processes that have seen no hidden case, of which it can then tell nothing."""
    session.give_up(crashed=False)
    return _hint(exercise, exercise.cases(0), session)


def _hint(exercise: Exercise, shown: Sequence[Case], session: Session) -> Verdict | None:
    """What a learner's own check says to an answer in cases that the lesson shows, if it is wrong.

    All of that is the submission's own word: it decides nothing.
    """
    for case in shown:
        seen = observe(exercise, case, session, alone=True)
        if seen.trouble:
            return None
        verdict = judge(exercise, case, seen, run=observe_here)
        if verdict.status == "wrong":
            return verdict
    return None
