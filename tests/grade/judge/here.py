"""The judge with a submission's functions in this process: what it decides, without a sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.checks import of_lesson
from helpers.checks.observe import observe
from helpers.checks.spec import Case, Exercise, Observation
from helpers.grade.grades import SubmissionGrade
from helpers.grade.judge import Judge
from helpers.grade.judge import judge as judge_module
from helpers.grade.judge.budgets import BUDGETS, Budgets, Clock
from helpers.grade.judge.calls import USED_UP
from helpers.grade.judge.session import State
from tests.checks.table import LIMIT

SEED = 7_233_149_082_316_540_123
Function = Callable[..., Any]
Judges = Callable[[str], Judge]


class Session:
    """Stands for the processes of a submission. done: what was asked of it, in order."""

    crashes = 0

    def __init__(self, functions: Mapping[str, Function | State], budgets: Budgets) -> None:
        self.functions, self.done, self.clock = functions, list[str](), Clock(budgets)

    def states(self) -> dict[str, State]:
        """What became of each function."""
        return {
            name: each if isinstance(each, State) else State("there")
            for name, each in self.functions.items()
        }

    def give_up(self, crashed: bool = True) -> None:
        """Its processes end."""
        self.done.append("fresh")

    def close(self) -> None:
        """They end for good."""


class JudgeHere:
    """A lesson's judge. functions: by the exercises' numbers; others are missing.

    ends: how a call ends in the place of what it does, asked with the exercise and the case; None
    for what it does. seconds: what each call takes of its time. calls: those that were made.
    texts: what stands in Markdown cells.
    """

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        lesson: str,
        functions: Mapping[str, Function | State],
        ends: Callable[[Exercise, Case], Observation | None] = lambda exercise, case: None,
        seconds: float = 0.0,
        budgets: Budgets = BUDGETS,
        texts: Sequence[str] = (),
    ) -> None:
        self.judge = Judge(lesson, budgets=budgets)
        missing = State("missing")
        self.session = Session(
            {e.function: functions.get(e.number, missing) for e in of_lesson(lesson)}, budgets
        )
        self.ends, self.seconds, self.calls = ends, seconds, list[str]()
        patch.setattr(judge_module, "code_cells", lambda path: [])
        patch.setattr(
            judge_module, "other_cells", lambda path: [("Markdown", text) for text in texts]
        )
        patch.setattr(judge_module, "Session", lambda *args: self.session)
        patch.setattr(judge_module, "observe", self._observe)
        patch.setattr(judge_module, "differs_on_real_ranks", lambda *args: None)

    def _observe(
        self, exercise: Exercise, case: Case, session: Session, alone: bool = False
    ) -> Observation:
        clock = session.clock
        if clock.call <= 0:
            return Observation(trouble="timeout", text=USED_UP)
        clock.take(self.seconds)
        self.calls.append(exercise.number)
        session.done.append("asked")
        seen = self.ends(exercise, case)
        if seen is None:
            function = session.functions[exercise.function]
            assert not isinstance(function, State)
            blind = Case(case.name, case.args, case.ranks, case.options)
            seen = observe(exercise.drive, function, [blind], LIMIT[exercise.framework])[-1]
        return seen

    def grade(self) -> SubmissionGrade:
        """The grade."""
        return self.judge.grade(Path("it.ipynb"), "ada", SEED).grade


def references(lesson: str) -> dict[str, Function]:
    """The course's own answers."""
    return {exercise.number: exercise.reference for exercise in of_lesson(lesson)}
