"""Check a learner's function: run it elsewhere, judge it here, say what to look at."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from helpers.checks import NoSuchExercise, find
from helpers.checks.apart import observe_apart
from helpers.checks.judging import judge_all
from helpers.checks.released import LeftOut, is_left_out
from helpers.checks.result import Result
from helpers.checks.spec import Exercise
from helpers.notebook import record, top
from helpers.notebook.failed_cells import behind, in_notebook
from helpers.rooms import index

_known: dict[tuple[str, str], str] = {}


def check(number: str, function: Callable[..., Any]) -> Result:
    """Check one exercise: passed, wrong with a hint for that mistake, or not attempted.

    number: such as "02.1". function: yours. It runs in a process of its own, where it may compute
    for ten seconds, thirty with TensorFlow, and sleep as long; this never raises for a mistake.
    Where the last cell that should define it failed, it is the function of before, and the result
    says so instead. The result displays itself as a cell's last expression. In a notebook, what it
    says is kept for `./course progress`.
    """
    result = _checked(number, function)
    if result.exercise is not None and in_notebook():
        lesson = result.exercise.lesson
        if result.status != "not judged" and record.note(
            number, result.status, index().get(lesson, ())
        ):
            top.refresh(lesson)
    return result


def _checked(number: str, function: Callable[..., Any]) -> Result:
    """What a check says, which nothing keeps."""
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
    why = {
        "not attempted": "is open",
        "not run": "has a cell that did not run",
        "not judged": "could not be judged, so busy is the machine",
    }.get(status, "is not right yet")
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
    if _known.get(key, "not judged") == "not judged":
        _known[key] = _checked(number, function).status
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
    seen = observe_apart(exercise, function, cases)
    verdict = judge_all(exercise, cases, seen)
    return Result(exercise.number, verdict.status, verdict.hint, exercise, cases, seen)
