"""Run a check's cases one after the other under a limit, on the side that is not trusted."""

import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from helpers.checks.drives.calling import source_file
from helpers.checks.spec import Case, Driver, Observation, Place
from helpers.engine.own_time import LOOK_SECONDS, Late, Limit, Undecided, of_others_here


def observe(
    drive: Driver, fn: Callable[..., Any], cases: Sequence[Case], limit: float = 8.0
) -> list[Observation]:
    """Observe `fn` in each case, up to the first that does not return.

    limit: seconds in all that this process may compute, or sleep; a case that is still running then
    is observed as a time-out, with the line it is at. Its thread cannot be ended from here: run
    this in a process of its own.
    """
    seen: list[Observation] = []

    def work() -> None:
        for case in cases:
            seen.append(drive(fn, case))
            if seen[-1].trouble:
                return

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(LOOK_SECONDS)
    own = Limit(of_others_here(), limit) if worker.is_alive() else None
    try:
        while own is not None and worker.is_alive():
            own.check()
            worker.join(LOOK_SECONDS)
    except Undecided:
        return [*seen[: len(cases) - 1], Observation(trouble="not judged")]
    except Late as late:
        stuck = Observation(trouble="timeout", text=late.how, place=busy_line(fn))
        return [*seen[: len(cases) - 1], stuck]
    return seen


def busy_line(fn: Callable[..., Any]) -> Place | None:
    """The line of the learner's code that some thread is busy with right now."""
    file = source_file(fn)
    idle: Place | None = None
    for frame in list(sys._current_frames().values()):
        where = _innermost(frame, file)
        if where is not None:
            # A thread that waits sits in the engine's or Python's own locks.
            if not frame.f_code.co_filename.endswith(("threading.py", "virtual.py", "queue.py")):
                return where
            idle = where
    return idle


def _innermost(frame: FrameType | None, file: str) -> Place | None:
    while frame is not None:
        if frame.f_code.co_filename == file:
            return Place(file, frame.f_lineno)
        frame = frame.f_back
    return None
