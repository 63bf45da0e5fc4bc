"""A graph that the submission builds, and a process of nobody's looks at."""

from __future__ import annotations

from helpers.checks.compare import Other
from helpers.checks.drives.built import Built
from helpers.checks.spec import Case, Exercise, Observation
from helpers.instructor.judge.asking import ask
from helpers.instructor.judge.session import Session
from helpers.worker.encoding import encode


def observe_built(
    exercise: Exercise, drive: Built, case: Case, session: Session, seconds: float
) -> Observation:
    """One case of a function that builds a graph, which is then run elsewhere.

    The submission's process is told what it needs for building. What it gives is data: the clean
    process has the case, without the facts, and tells what the graph does.
    """
    (mine,) = session.channels(1)
    shown = drive.told(case)
    args, options = encode(list(shown.args[0])), encode(dict(case.options))
    seen = ask(mine, exercise, "build", seconds, args=args, options=options)
    if seen.trouble:
        return seen
    if len(seen.values) != 1 or type(seen.values[0]) is not dict:
        return Observation(values=[Other("value that no driver gives")])
    args, built = encode(list(case.args[0])), encode(seen.values[0])
    left = seconds - mine.taken()
    return ask(session.clean(), exercise, "look", left, args=args, options=options, built=built)
