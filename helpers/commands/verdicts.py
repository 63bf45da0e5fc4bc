"""`./course verdicts`: what every answer to an exercise is told, before a change and after it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from helpers.commands.paths import typed
from helpers.setup.places import ROOT

RECORDER = ROOT / "tests" / "checks" / "verdicts.py"


def verdicts(what: str, file: str, names: Sequence[str]) -> int:
    """Record, compare, or list the mutants that pass; returns the exit status."""
    if not RECORDER.exists():
        print("This copy of the course has no tests, and so no right answers to ask.")
        return 2
    command = [sys.executable, "-m", "tests.checks.verdicts", what, str(typed(file)), *names]
    return subprocess.call(command, cwd=ROOT)
