"""The last question to an answer that was right everywhere: does it do the same on real ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import agree
from helpers.checks.drives.ranks import Ranked
from helpers.checks.spec import Case, Exercise, Observation
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
    if clock.hopeless:
        return Observation(trouble="not judged")
    case, virtual = few[0]
    if exercise.framework != "torch":
        session.give_up(crashed=False)  # a framework that has computed there cannot be forked
    real: Observation | None = None
    for _ in range(_TRIES):
        real = observe_on_real_ranks(exercise, case, session, clock.budgets.real)
        if not real.trouble and _same(real.values, virtual.values, exercise.drive.clocked):
            return None
        if real.trouble == "not judged":
            clock.not_judged()
        if real.trouble in ("timeout", "not judged"):
            break
    return real


def _same(real: Sequence[Any], virtual: Sequence[Any], clocked: Sequence[str]) -> bool:
    """Whether ranks did the same, as far as the judge saw it and it does not depend on time."""
    seen = _without(virtual, clocked)
    return agree(seen, list(real), tuple(_keys(seen)))


def _without(value: Any, clocked: Sequence[str]) -> Any:
    """The same plain value with None for what depends on time."""
    if isinstance(value, dict):
        return {k: None if k in clocked else _without(v, clocked) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without(each, clocked) for each in value)
    return value


def _keys(value: Any) -> set[Any]:
    """The keys of all dictionaries in a plain value: where one holds None, nobody saw it."""
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list | tuple) else set()
