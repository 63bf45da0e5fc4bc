"""Check a learner's function: run it elsewhere, judge it here, say what to look at."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from helpers.engines.errors import RankDied, RankFailed, RunError, RunTimeout
from helpers.exercises import NoSuchExercise, find
from helpers.exercises.observe import observe
from helpers.exercises.released import LeftOut, is_left_out
from helpers.exercises.result import Result
from helpers.exercises.spec import Case, Exercise, Observation
from helpers.notebook.failed_cells import behind

TIMEOUT = 10.0
TF_TIMES = 3.0  # TensorFlow takes a while for each graph

_known: dict[tuple[str, str], str] = {}


def check(number: str, function: Callable[..., Any]) -> Result:
    """Check one exercise: passed, wrong with a hint for that mistake, or not attempted.

    number: such as "02.1". function: yours. It runs in a process of its own for at most ten
    seconds, thirty with TensorFlow, and never raises for a mistake. Where the last cell that should
    define it failed, it is the function of before, and the result says so instead. The result
    displays itself as a cell's last expression.
    """
    try:
        exercise = find(number)
    except NoSuchExercise as error:
        return Result(str(number), "unknown", str(error))
    if not callable(function):
        said = (
            f"`helpers.check` takes the function itself, as in "
            f'`helpers.check("{number}", {exercise.function})`; it was given '
            f"{'a call of it' if function is None else f'a {type(function).__name__}'}."
        )
        return Result(number, "wrong", said, exercise)
    return judged(exercise, function, seeds=(0,))


def mine_or_yours(number: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Your function where it passes its check, otherwise the course's own; says which, in a line.

    For demonstrations that build on an exercise: they draw whether it is done or not. Raises
    LeftOut in a copy of the course that has no version of its own (`./course release`).
    """
    exercise = find(number)
    status = known_status(number, function)
    if status == "passed":
        print(f"This runs your `{exercise.function}` (exercise {number}).")
        return function
    why = {"not attempted": "is open", "not run": "has a cell that did not run"}.get(status)
    why = why or "is not right yet"
    if is_left_out(exercise.reference):
        raise LeftOut(
            f"Exercise {number} {why}, and this copy of the course has no `{exercise.function}` "
            "of its own: this cell runs once yours passes its check."
        )
    print(f"Exercise {number} {why}: the course's own `{exercise.function}` stands in for yours.")
    return exercise.reference


def known_status(number: str, function: Callable[..., Any]) -> str:
    """What the check says of a function, kept as long as the function's code stays the same."""
    if behind(function, find(number).function):
        return "not run"
    key = (number, fingerprint(function))
    if key not in _known:
        _known[key] = check(number, function).status
    return _known[key]


def fingerprint(function: Any) -> str:
    """A text that changes with the function's code and with what it uses."""
    try:
        import cloudpickle

        return hashlib.sha256(cloudpickle.dumps(function)).hexdigest()
    except Exception:  # what cannot be sent cannot pass either: the check says so
        return f"unsendable {id(function)}"


def judged(exercise: Exercise, function: Callable[..., Any], seeds: Sequence[int]) -> Result:
    """Run all cases of some seeds and judge them in this process."""
    old = behind(function, exercise.function)
    if old:
        return Result(exercise.number, "not run", old, exercise)
    cases = [case for seed in seeds for case in exercise.cases(seed)]
    seen = apart(exercise, function, cases)
    verdict = exercise.judge_all(cases, seen)
    return Result(exercise.number, verdict.status, verdict.hint, exercise, cases, seen)


def apart(
    exercise: Exercise, function: Callable[..., Any], cases: Sequence[Case]
) -> list[Observation]:
    """Observe the function in a process of its own, which the time-out can end."""
    from helpers.engines.run import run

    # Without the facts, and without the spec: only the driver travels with the function.
    blind = [Case(c.name, c.args, c.ranks, c.options) for c in cases]
    drive = exercise.drive
    seconds = TIMEOUT * (TF_TIMES if exercise.framework == "tensorflow" else 1.0)

    def job(comm: Any) -> list[Observation]:
        return observe(drive, function, blind, limit=seconds - 2)

    job.__name__ = getattr(function, "__name__", exercise.function)  # for the engine's messages
    try:
        seen: list[Observation] = run(
            job,
            ranks=1,
            engine="processes",
            framework=exercise.framework,
            timeout=seconds,
            device="cpu",
            show=False,
        )[0]
        return seen
    except RunTimeout:
        return [Observation(trouble="timeout")]
    except RankFailed as error:
        return [Observation(trouble="failed", kind=error.kind, text=error.message)]
    except RankDied as error:
        return [Observation(trouble="died", text=error.report)]
    except RunError as error:
        return [Observation(trouble="died", text=str(error))]
    except (TypeError, AttributeError, ImportError) as error:
        return [Observation(trouble="failed", kind=type(error).__name__, text=str(error))]
