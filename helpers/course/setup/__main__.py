"""The door to the course: `./course` runs `python -m helpers.course.setup COMMAND …`.

Sets up what is missing, then hands over to the commands of `helpers.course.cli`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from importlib.util import find_spec

from helpers.course.setup import homes, places, state
from helpers.course.setup.progress import SetupFailed

HELP = """\
The course is not set up on this machine yet.

  ./course lab      set everything up, then open JupyterLab at the first lesson
  ./course test     set everything up, then run every test
  ./course doctor   what this machine has, and what a missing thing costs you

Set-up takes a few minutes, most of them downloads; it may be interrupted.
"""


def main(arguments: list[str]) -> int:
    # A killed set-up unwinds like an interrupted one, and so leaves nothing running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    from helpers.course.setup.steps import ensure_packages, ensure_rest

    asked = arguments[0] if arguments else "--help"
    if not state.installed():
        if asked == "doctor":
            from helpers.course import bug_report, doctor

            return bug_report.show() if "--report" in arguments else doctor.show()
        if asked.startswith("-") or "--help" in arguments:
            print(HELP, end="")
            return 0
        if arguments[:2] == ["bench", "gpu"] and _sees_a_gpu():
            return _handed_over(arguments)
        if code := _told(ensure_packages):
            return code
        # Again, in the environment's own Python.
        call = [str(places.python()), "-m", "helpers.course.setup", *arguments]
        os.execv(call[0], call)
    code = _told(lambda: ensure_rest(asked)) or _told(lambda: homes.settle(needed=asked == "lab"))
    return code or _handed_over(arguments)


def _handed_over(arguments: list[str]) -> int:
    """Run a command of the course in this process."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from helpers.course.cli import main as command

    return command(arguments)


def _sees_a_gpu() -> bool:
    """Whether this Python has what a bare machine's benchmark needs: a rented one has torch."""
    if any(find_spec(package) is None for package in ("torch", "click", "rich")):
        return False
    import torch

    return torch.cuda.is_available()


def _told(part: Callable[[], None]) -> int:
    """Do a part of set-up; returns the exit status, and says in a sentence what went wrong."""
    try:
        part()
    except SetupFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"\nSet-up cannot write: {error.strerror or error} ({error.filename}). See that the "
            "folder is yours (after a set-up with sudo it is root's) and has room, or name another "
            "for what is kept in ~/.cache: XDG_CACHE_HOME=… in front of the command.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("\nSet-up was interrupted; the same command goes on with it.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
