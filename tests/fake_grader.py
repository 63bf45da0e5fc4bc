"""`./course grade` with the judge of fake_judge.py: `python -m tests.fake_grader FOLDER --out OUT`.

What the tests of grading share is here too: notebooks for that judge, and a class of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
JUDGE = "tests.fake_judge:FakeJudge"
LESSON = "02"
FILE = "02_messages.ipynb"


def notebook(**order: Any) -> str:
    """A notebook that tells the judge of fake_judge.py what to do."""
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [cell | {"source": json.dumps(order)}]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def hand_in(folder: Path, student: str, **order: Any) -> Path:
    """One student's folder with the lesson's notebook."""
    path = folder / student / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook(**order))
    return path


def calls(log: Path) -> list[tuple[str, str]]:
    """Which slot of fake_judge.py was given which submission, in order."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(line.split()[0], line.split()[1]) for line in lines]


def results(out: Path) -> dict[str, bytes]:
    """All files of OUT that are the same in every run."""
    files = [path for path in out.rglob("*") if path.is_file()]
    names = {str(path.relative_to(out)): path for path in files}
    return {n: path.read_bytes() for n, path in names.items() if not n.startswith("run/")}


def start(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start the command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fake_grader", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def die_later(words: str) -> None:
    """Have this process killed by itself, at a moment of its work and not of the machine's.

    words: "results 9 0.01", when it has put its ninth file into the folder results, 0.01 s later.
    """
    folder, left, seconds = words.split()[0], int(words.split()[1]), float(words.split()[2])
    put = os.replace

    def counted(source: Any, target: Any) -> None:
        nonlocal left
        put(source, target)
        left -= Path(target).parent.name == folder
        if left == 0:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))

    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # it ends the process as SIGKILL does
    os.replace = counted


def main() -> int:
    """Run the command on the judge of fake_judge.py, as if there were a sandbox."""
    sandbox: Any = ModuleType("helpers.instructor.sandbox")
    sandbox.missing = lambda: None
    sys.modules[sandbox.__name__] = sandbox

    from helpers import cli
    from helpers.commands import grade
    from helpers.instructor.grading import Wish, run
    from helpers.instructor.report.sheet import Column
    from tests.fake_judge import EXERCISES

    if when := os.environ.pop("FAKE_DEATH", ""):
        die_later(when)
    grade.Wish = partial(Wish, judge=JUDGE)
    run.columns = lambda lesson: tuple(Column(n, f"Exercise {n}", p) for n, p in EXERCISES)
    run.grader_version = lambda lesson, judge: "as it was"  # somebody may be editing the grader
    return cli.main(["grade", *sys.argv[1:], "--lesson", LESSON])


if __name__ == "__main__":
    sys.exit(main())
