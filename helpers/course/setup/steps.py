"""All of set-up, in order: the environment, the packages, Horovod, and what the system brings."""

from __future__ import annotations

from helpers.course.setup import horovod, packages, places, state, system
from helpers.course.setup.lock import locked

WAITING = "Another set-up of this course is at work; this one goes on when that has ended."
# All other commands do without Horovod, or build it while they run, as `lab` does.
NEED_HOROVOD = ("test", "build", "bench", "grade", "verdicts")


def ensure_packages() -> None:
    """Make the environment with all its packages; quick where it is there. Raises SetupFailed."""
    with locked(places.ROOT / ".venv.lock", WAITING):
        if state.installed():
            return
        print("Setting up the course. You may interrupt it and go on later.", flush=True)
        log = places.logs() / "packages.log"
        log.unlink(missing_ok=True)
        packages.make_environment(log)
        packages.install(log)


def ensure_rest(command: str) -> None:
    """Install what a command needs beside the packages, in the environment's own Python."""
    if command in NEED_HOROVOD and not state.horovod_settled():
        horovod.ensure()
    if command in ("test", "grade"):
        system.obtain_for(command)
