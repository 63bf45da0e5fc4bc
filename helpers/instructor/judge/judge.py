"""Grade one submission: its functions run in sandboxes, everything is decided here."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.exercises import of_lesson
from helpers.exercises.drives import Apart, Ranked
from helpers.exercises.spec import Case, Exercise, Observation, Other
from helpers.instructor.grades import ExerciseGrade, Mode, SubmissionGrade
from helpers.instructor.judge import verdicts
from helpers.instructor.judge.budgets import BUDGETS, Budgets, Clock
from helpers.instructor.judge.channel import Channel, Violation
from helpers.instructor.judge.network import observe_ranks
from helpers.instructor.judge.notebook import Unreadable, code_cells
from helpers.instructor.judge.replies import observed
from helpers.instructor.judge.session import Session
from helpers.instructor.sandbox import Sandbox
from helpers.worker.encoding import encode
from helpers.worker.frames import Closed, Late

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
        self._sandboxes = [Sandbox(first + i, lesson, mode) for i in range(SANDBOXES)]

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sandboxes."""
        for sandbox in self._sandboxes:
            sandbox.stop()

    def grade(self, path: Path, submission: str, seed: int) -> Graded:
        """Grade one notebook.

        seed: of the hidden cases. Never raises for what a submission holds or does; raises
        SandboxError where the sandbox cannot be started.
        """
        begun = time.monotonic()
        try:
            sources = code_cells(path)
        except Unreadable as error:
            grades = [verdicts.unread(exercise) for exercise in self.exercises]
            return self._graded(grades, submission, seed, begun, note=str(error))
        functions = [exercise.function for exercise in self.exercises]
        session = Session(self._sandboxes, sources, functions, self.budgets)
        try:
            clock = Clock(self.budgets)
            # Hidden cases come after everything of which a hint is told: no hint can hold them.
            shown = [self._visible(e, session, clock) for e in self.exercises]
            grades = [
                grade or self._hidden(e, session, clock, seed)
                for e, grade in zip(self.exercises, shown, strict=True)
            ]
        finally:
            session.close()
        return self._graded(grades, submission, seed, begun, session.crashes)

    def _graded(
        self,
        grades: list[ExerciseGrade],
        submission: str,
        seed: int,
        begun: float,
        crashes: int = 0,
        note: str = "",
    ) -> Graded:
        made = SubmissionGrade(submission, self.lesson, seed, self.mode, tuple(grades), note)
        return Graded(made, time.monotonic() - begun, crashes)

    def _visible(self, exercise: Exercise, session: Session, clock: Clock) -> ExerciseGrade | None:
        """The lesson's own cases of an exercise, one call at a time; None where all are right."""
        if clock.up:
            return verdicts.out_of_time(exercise)
        state = session.states()[exercise.function]
        if state.what != "there":
            return verdicts.without_call(exercise, state)
        clock.exercise()
        for case in exercise.cases(0):
            seen = observe(exercise, case, session, clock)
            verdict = exercise.judge(case, seen)
            if verdict.status != "passed":
                return verdicts.on_visible(exercise, case, seen, verdict)
        return None

    def _hidden(
        self, exercise: Exercise, session: Session, clock: Clock, seed: int
    ) -> ExerciseGrade:
        """The hidden cases of an exercise, one call at a time."""
        if clock.up:
            return verdicts.out_of_time(exercise)
        clock.exercise()
        for case in exercise.cases(seed):
            seen = observe(exercise, case, session, clock)
            verdict = exercise.judge(case, seen)
            if verdict.status != "passed":
                return verdicts.on_hidden(exercise, seen, verdict)
        return verdicts.passed(exercise)


def observe(exercise: Exercise, case: Case, session: Session, clock: Clock) -> Observation:
    """One case of one exercise in the submission's processes."""
    seconds = clock.call
    if seconds <= 0:
        return Observation(trouble="timeout")
    channels = session.channels(case.ranks)
    if not channels:
        return Observation(trouble="died", text="it ended while the cells ran again.")
    if exercise.ranked:
        drive = driver_name(exercise.drive)
        seen = observe_ranks(channels, drive, exercise.function, case, seconds)
    elif isinstance(exercise.drive, Apart):
        seen = observe_apart(channels, exercise, case, seconds)
    else:
        seen = call(channels[0], exercise, case, seconds)
    broken = seen.trouble in ("timeout", "died")
    if broken or (seen.trouble and exercise.ranked):  # the other ranks are in the middle of theirs
        session.give_up(broken)
    return seen


def observe_apart(
    channels: list[Channel], exercise: Exercise, case: Case, seconds: float
) -> Observation:
    """One case of a function that is told its rank: each rank's calls in a process of its own."""
    until, lists = time.monotonic() + seconds, []
    for rank, channel in enumerate(channels):
        mine = replace(case, options={**case.options, "rank": rank})
        seen = call(channel, exercise, mine, until - time.monotonic())
        if seen.trouble:
            return seen if seen.trouble == "signature" else replace(seen, rank=rank)
        lists.append(seen.values[0] if seen.values else None)
    if not all(type(items) is list and len(items) == len(lists[0]) for items in lists):
        return Observation(values=[Other("value that no driver gives")])
    if not all(type(item) is list and len(item) == 1 for items in lists for item in items):
        return Observation(values=[Other("value that no driver gives")])
    return Observation(values=[[[item[0] for item in items] for items in zip(*lists, strict=True)]])


def call(channel: Channel, exercise: Exercise, case: Case, seconds: float) -> Observation:
    """One case of an ordinary function."""
    try:
        number = channel.begin(time.monotonic() + seconds)
        channel.send(
            {
                "do": "call",
                "call": number,
                "drive": driver_name(exercise.drive),
                "function": exercise.function,
                "args": encode(list(case.args[0])),
                "options": encode(dict(case.options)),
            }
        )
        return observed([channel.answer(0, "seen")["seen"]])
    except Late:
        return Observation(trouble="timeout")
    except Closed:
        return Observation(trouble="died", text="it was gone before it had answered.")
    except Violation:
        return Observation(trouble="died", text="it sent what no worker sends.")


def driver_name(drive: Any) -> str:
    """A driver as "module:name", which is all that a sandbox is told of it."""
    import sys

    home = (drive.call if isinstance(drive, Ranked | Apart) else drive).__module__
    for name, value in vars(sys.modules[home]).items():
        if value is drive:
            return f"{home}:{name}"
    raise LookupError(f"The driver {drive!r} is no name of {home}.")
