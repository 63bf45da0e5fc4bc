"""The last question to an answer that was right everywhere: does it do the same on real ranks."""

from __future__ import annotations

import time
from collections.abc import Sequence

from helpers.exercises.compare import alike
from helpers.exercises.drives import Ranked
from helpers.exercises.spec import Case, Exercise, Observation
from helpers.instructor.judge.budgets import Clock
from helpers.instructor.judge.calls import observe_on_real_ranks
from helpers.instructor.judge.session import Session

_TRIES = 2  # a process may end for want of memory; a wrong answer is wrong twice


def differs_on_real_ranks(
    exercise: Exercise,
    seen: Sequence[tuple[Case, Observation]],
    session: Session,
    clock: Clock,
) -> Observation | None:
    """What it does on real ranks, where that is not what it did on the virtual clock.

    seen: its cases and what the judge saw there. The first one on a few ranks is run.
    """
    few = [each for each in seen if 2 <= each[0].ranks <= 5]
    if not few or not isinstance(exercise.drive, Ranked):
        return None
    case, virtual = few[0]
    if exercise.framework != "torch":
        session.give_up(crashed=False)  # a framework that has computed there cannot be forked
    real = Observation()
    with clock.stopped():
        until = time.monotonic() + clock.budgets.real
        for _ in range(_TRIES):
            left = until - time.monotonic()
            real = observe_on_real_ranks(exercise, case, session, left)
            if not real.trouble and alike(real.values, virtual.values, exercise.drive.clocked):
                return None
            if real.trouble == "timeout":
                break
    return real
