"""The door to the course: `./course` runs `python -m helpers.setup COMMAND …`.

Sets up what is missing, then hands over to the commands of `helpers.cli`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec

from helpers.setup import homes, places, state
from helpers.setup.errors import SetupFailed

HELP = """\
The course is not set up on this machine yet.

  ./course lab      set everything up, then open JupyterLab at the first lesson
  ./course test     set everything up, then run every test
  ./course doctor   what this machine has, and what a missing thing costs you

Set-up takes about ten minutes, most of it downloads and one compilation; it may be interrupted.
"""


def main(arguments: list[str]) -> int:
    # A killed set-up unwinds like an interrupted one, and so leaves nothing running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    asked = arguments[0] if arguments else "--help"
    if not state.ready():
        if asked == "doctor":
            from helpers import bug_report, doctor

            return bug_report.show() if "--report" in arguments else doctor.show()
        if asked.startswith("-") or "--help" in arguments:
            print(HELP, end="")
            return 0
        if arguments[:2] == ["bench", "gpu"] and _sees_a_gpu():
            return _handed_over(arguments)
        from helpers.setup.steps import ensure

        code = _told(ensure)
        if code:
            return code
        return _go_over(arguments)
    if asked in ("test", "grade"):
        code = _told(lambda: _what_it_needs(asked))
        if code:
            return code
    code = _told(lambda: homes.settle(needed=asked == "lab"))
    return code or _handed_over(arguments)


def _handed_over(arguments: list[str]) -> int:
    """Run a command of the course in this process."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    from helpers.cli import main as command

    return command(arguments)


def _sees_a_gpu() -> bool:
    """Whether this Python has what a bare machine's benchmark needs: a rented one has torch."""
    if any(find_spec(package) is None for package in ("torch", "click", "rich")):
        return False
    import torch

    return torch.cuda.is_available()


def _what_it_needs(command: str) -> None:
    """Install what only this command needs."""
    from helpers.setup.steps import ensure_browser, ensure_sandbox, ensure_slurm

    if command == "test" and (places.ROOT / "tests").is_dir():
        ensure_browser()
        ensure_slurm()
    ensure_sandbox()


def _told(part: Callable[[], None]) -> int:
    """Do a part of set-up; returns the exit status, and says in a sentence what went wrong."""
    try:
        part()
    except SetupFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\n{_unwritable(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nSet-up was interrupted; the same command goes on with it.", file=sys.stderr)
        return 130
    return 0


def _unwritable(error: OSError) -> str:
    from helpers.setup import disk, reasons

    if reasons.is_full(error):
        return disk.full()
    return (
        f"Set-up cannot write: {error.strerror or error} ({error.filename}). See that the folder "
        "is yours: after a set-up with sudo it is root's."
    )


def _go_over(arguments: list[str]) -> int:
    """Start again in the environment's own Python."""
    call = [str(places.python(places.environment())), "-m", "helpers.setup", *arguments]
    if os.name == "nt":
        return subprocess.call(call)
    os.execv(call[0], call)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
