"""The last question to an answer that was right everywhere: does it do the same on real ranks."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from helpers.checks.compare import agree
from helpers.checks.drives.ranks import Ranked
from helpers.checks.spec import Case, Exercise, Observation
from helpers.grade.judge.calls import observe_on_real_ranks
from helpers.grade.judge.session import Session
from helpers.grade.seen import HINTS, SEEN

_TRIES = 2  # a process may end for want of memory; a wrong answer is wrong twice


def differs_on_real_ranks(
    exercise: Exercise, seen: Sequence[tuple[Case, Observation]], session: Session
) -> Observation | None:
    """What it does on real ranks, where that is not what it did on the virtual clock.

    seen: its cases and what the judge saw there. The first one on a few ranks is run.
    """
    few = [each for each in seen if 2 <= each[0].ranks <= 5]
    if not few or not isinstance(exercise.drive, Ranked):
        return None
    clock = session.clock
    if clock.hopeless:
        return Observation(trouble="not judged")
    case, virtual = few[0]
    if exercise.framework != "torch":
        session.give_up(crashed=False)  # a framework that has computed there cannot be forked
    real: Observation | None = None
    for _ in range(_TRIES):
        real = observe_on_real_ranks(exercise, case, session, clock.budgets.real)
        if not real.trouble and _same(exercise, real.values, virtual.values):
            return None
        if real.trouble == "not judged":
            clock.not_judged()
        if real.trouble in ("timeout", "not judged"):
            break
    return real


def _same(exercise: Exercise, real: Sequence[Any], virtual: Sequence[Any]) -> bool:
    """Whether ranks did the same, but for what depends on time and what decides nothing."""
    number, drive = exercise.number, exercise.drive
    keys = {*drive.clocked, *HINTS.get(number, ()), *SEEN.get(number, ())}  # type: ignore[attr-defined]
    return agree(_without(list(virtual), keys), _without(list(real), keys))


def _without(value: Any, keys: Container[str]) -> Any:
    """A plain value without these keys, and without what was told around it."""
    if isinstance(value, dict):
        left = {k: _without(v, keys) for k, v in value.items() if k not in keys}
        return left["returned"] if left.keys() == {"returned"} else left
    if isinstance(value, list | tuple):
        return type(value)(_without(each, keys) for each in value)
    return value
