"""How long anything of a submission may take, in real seconds on a machine that does other work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from helpers.engines.patience import patient


@dataclass(frozen=True)
class Budgets:
    """Seconds.

    step: one statement of a cell, or reading a cell. cells: all of them, once; in all processes of
    a submission together, four times that. call: one case. exercise: all cases of one. submission:
    all calls. What a sandbox takes to start counts nowhere. real: an exercise on real ranks, which
    counts nowhere else and is a hundred times what it takes, since they wait for the machine.
    restarts: how often cells may end or stall the process before the rest is given up.
    """

    step: float = 10.0
    cells: float = 30.0
    call: float = 10.0
    exercise: float = 40.0
    submission: float = 180.0
    real: float = 20.0
    restarts: int = 5

    def lengthened(self) -> Budgets:
        """These, times what COURSE_PATIENCE says, where many share the machine."""
        return replace(
            self,
            step=patient(self.step),
            cells=patient(self.cells),
            call=patient(self.call),
            exercise=patient(self.exercise),
            submission=patient(self.submission),
            real=patient(self.real),
        )


BUDGETS = Budgets()


class Clock:
    """The time that is left of a submission and of its parts."""

    def __init__(self, budgets: Budgets) -> None:
        self.budgets = budgets
        self.begun = time.monotonic()
        self._until = self.begun + budgets.submission
        self._exercise = self._until

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """What is done meanwhile does not count."""
        begun = time.monotonic()
        try:
            yield
        finally:
            spent = time.monotonic() - begun
            self._until += spent
            self._exercise += spent

    def exercise(self) -> None:
        """An exercise begins."""
        self._exercise = min(self._until, time.monotonic() + self.budgets.exercise)

    @property
    def call(self) -> float:
        """Seconds for the next call; 0 or less where there is no time left."""
        return min(self.budgets.call, self._exercise - time.monotonic())

    @property
    def up(self) -> bool:
        """Whether the submission's time is used up."""
        return time.monotonic() >= self._until
