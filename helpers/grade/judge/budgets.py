"""How long anything of a submission may take, in its own time: the machine's counts for nobody."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budgets:
    """Seconds of what `helpers.engine.own_time` counts: computing, or asleep.

    step: one statement of a cell, or reading a cell. cells: all of them, once; in all processes of
    a submission together, four times that. call: one case. exercise: all cases of one. submission:
    all calls. What a sandbox takes to start counts nowhere, nor does what the judge does. real: an
    exercise on real ranks, all of them together, which counts nowhere else. restarts: how often
    cells may end or stall the process before the rest is given up. undecided: how many calls a wall
    clock may end before the machine counts as too busy for the rest.
    """

    step: float = 10.0
    cells: float = 30.0
    call: float = 10.0
    exercise: float = 40.0
    submission: float = 180.0
    real: float = 20.0
    restarts: int = 5
    undecided: int = 2


BUDGETS = Budgets()


class Clock:
    """The time that is left of a submission and of its parts. cells: of running them."""

    def __init__(self, budgets: Budgets) -> None:
        self.budgets = budgets
        self.cells = 4 * budgets.cells
        self._submission = budgets.submission
        self._exercise = budgets.exercise
        self._undecided = 0

    def exercise(self) -> None:
        """An exercise begins."""
        self._exercise = self.budgets.exercise

    def take(self, seconds: float) -> None:
        """A call has taken so many."""
        self._exercise -= seconds
        self._submission -= seconds

    def not_judged(self) -> None:
        """A wall clock has ended a call."""
        self._undecided += 1

    @property
    def hopeless(self) -> bool:
        """Whether the machine is too busy for anything."""
        return self._undecided >= self.budgets.undecided

    @property
    def call(self) -> float:
        """Seconds for the next call; 0 or less where there is no time left."""
        return min(self.budgets.call, self._exercise, self._submission)

    @property
    def up(self) -> bool:
        """Whether the submission's time is used up."""
        return self._submission <= 0
