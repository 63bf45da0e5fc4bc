"""Run functions on an exercise's cases in a process of their own, which can be ended."""

from collections.abc import Callable, Sequence
from typing import Any

from helpers.checks.observe import observe
from helpers.checks.spec import Case, Exercise, Observation
from helpers.engine.errors import RankDied, RankFailed, RunError
from helpers.engine.own_time import Late, Undecided

Function = Callable[..., Any]
Run = Callable[[Exercise, Sequence[Function], Case], list[Observation]]
TIMEOUT = 10.0
BACKSTOP = 5.0  # more seconds of its own for a process that cannot even tell that it was too long
TF_TIMES = 3.0  # TensorFlow takes a while for each graph


def observe_apart(
    exercise: Exercise, function: Function, cases: Sequence[Case]
) -> list[Observation]:
    """Observe a learner's function in some cases, up to the first that does not return."""
    blind = [_blind(case) for case in cases]
    drive, seconds = exercise.drive, limit(exercise)

    def job() -> list[Observation]:
        return observe(drive, function, blind, limit=seconds - 2)  # and tells at which line

    job.__name__ = getattr(function, "__name__", exercise.function)  # for the engine's messages
    try:
        seen: list[Observation] = _run(job, exercise, seconds + BACKSTOP)
        return seen
    except Undecided:
        return [Observation(trouble="not judged")]
    except Late as late:
        return [Observation(trouble="timeout", text=late.how)]
    except RankFailed as error:
        return [Observation(trouble="failed", kind=error.kind, text=error.message)]
    except RankDied as error:
        return [Observation(trouble="died", text=error.how)]
    except RunError as error:
        return [Observation(trouble="died", text=str(error))]
    except (TypeError, AttributeError, ImportError) as error:
        return [Observation(trouble="failed", kind=type(error).__name__, text=str(error))]


def observe_each(
    exercise: Exercise, functions: Sequence[Function], case: Case
) -> list[Observation]:
    """Observe several functions of the course's own in one case."""
    blind, drive, seconds = _blind(case), exercise.drive, limit(exercise)

    def job() -> list[Observation]:
        return [observe(drive, function, [blind], seconds)[-1] for function in functions]

    seen: list[Observation] = _run(job, exercise, seconds * len(functions))
    return seen


def observe_here(
    exercise: Exercise, functions: Sequence[Function], case: Case
) -> list[Observation]:
    """The same in this process, where it has the framework: for a grader, which no learner's code
    shares, and which spares itself another process with torch."""
    if exercise.framework != "torch":
        return observe_each(exercise, functions, case)
    blind, drive = _blind(case), exercise.drive
    return [observe(drive, function, [blind], limit(exercise))[-1] for function in functions]


def limit(exercise: Exercise) -> float:
    """Seconds that a check may take, of its own time."""
    return TIMEOUT * (TF_TIMES if exercise.framework == "tensorflow" else 1.0)


def _blind(case: Case) -> Case:
    """A case without the facts; and without the spec, only the driver travels with a function."""
    return Case(case.name, case.args, case.ranks, case.options)


def _run(job: Callable[[], Any], exercise: Exercise, seconds: float) -> Any:
    """seconds: of its own time. Raises what `call_apart` does."""
    from helpers.engine.processes import call_apart

    return call_apart(job, exercise.framework, seconds)
