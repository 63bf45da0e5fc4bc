"""A judge for tests of what stands around the judge: quick, deterministic, without torch.

A notebook's first cell tells it what to do, as JSON: {"sleep": seconds, "until": a path to wait
for, "do": "die" | "raise" | "unjudged", or a list of these, one for each try}; a name and a seed
give the grades. What is "unjudged" is exercise UNJUDGED. Each call is noted in the file
FAKE_JUDGE_LOG. `python -m tests.fake_grader FOLDER --out OUT` is `./course grade` with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from helpers.grade.grades import NOT_JUDGED, OUTCOMES, ExerciseGrade, Mode, SubmissionGrade

ROOT = Path(__file__).resolve().parents[1]
JUDGE = "tests.fake_grader:FakeJudge"
LESSON, FILE = "02", "02_messages.ipynb"
# As lesson 02 has them; read here from nowhere, so that no framework is imported.
EXERCISES = [("02.1", 2.0), ("02.2", 3.0), ("02.3", 4.0), ("02.4", 2.0), ("02.5", 4.0)]
UNJUDGED = "02.3"
DRAWN = [outcome for outcome in OUTCOMES if outcome != NOT_JUDGED]
MISTAKES = ["sums instead of averaging", "sends everything to rank 0", "=HYPERLINK(1)"]


class FakeJudge:
    """Made and used as `helpers.grade.judge.Judge`."""

    def __init__(self, lesson: str, mode: Mode, slot: int) -> None:
        self.lesson, self.mode, self.called = lesson, mode, str(os.getpid())
        if os.environ.get("FAKE_JUDGE") == "unable":
            raise RuntimeError("The sandbox is on strike.")
        if os.environ.get("FAKE_JUDGE") == "stillborn":
            self.die()

    def grade(self, path: Path, submission: str, seed: int) -> Any:
        if log := os.environ.get("FAKE_JUDGE_LOG"):
            with open(log, "a", encoding="utf-8") as file:
                file.write(f"{self.called} {path.parent.name}\n")
        told = first_cell(path)
        self.wait(told)
        order = _order(told.get("do", ""), path)
        if order == "die":
            self.die()
        if order == "raise":
            raise ValueError("the hidden input was 42")
        grades = tuple(_grade(number, most, submission, seed, order) for number, most in EXERCISES)
        note = told.get("note", "")
        made = SubmissionGrade(submission, self.lesson, seed, self.mode, grades, note)
        return SimpleNamespace(grade=made, seconds=0.25, crashes=1)

    def die(self) -> None:
        os._exit(9)

    def wait(self, told: dict[str, Any]) -> None:
        """As long as it is told."""
        time.sleep(told.get("sleep", 0))
        while "until" in told and not os.path.exists(told["until"]):
            time.sleep(0.01)

    def learn(self, table: str) -> None:
        pass

    def close(self) -> None:
        pass


def _order(given: str | list[str], path: Path) -> str:
    """What is to be done this time; how often it was tried is the length of a file."""
    if isinstance(given, str):
        return given
    with open(path.with_suffix(".tries"), "ab") as tries:
        tries.write(b"x")
    return given[min(path.with_suffix(".tries").stat().st_size, len(given)) - 1]


def first_cell(path: Path) -> dict[str, Any]:
    """What a notebook tells the judge to do."""
    try:
        told: dict[str, Any] = json.loads(json.loads(path.read_text())["cells"][0]["source"])
        return told
    except (ValueError, KeyError, IndexError):
        return {}


def _grade(number: str, most: float, submission: str, seed: int, order: str) -> ExerciseGrade:
    told = f"{submission} {seed} {number}".encode("utf-8", "surrogateescape")
    dice = int.from_bytes(hashlib.sha256(told).digest()[:4], "big")
    outcome = "passed" if dice % 3 else DRAWN[dice // 3 % len(DRAWN)]
    outcome = NOT_JUDGED if (order, number) == ("unjudged", UNJUDGED) else outcome
    points = most if outcome == "passed" else 0.0
    mistake = MISTAKES[dice % len(MISTAKES)] if outcome == "wrong" else ""
    hint = "Got `<script>alert(1)</script>` & \x1b[31mmore\x00\nin `two` lines." if mistake else ""
    return ExerciseGrade(number, "A title", outcome, points, most, mistake, "Not `right`.", hint)


# --- a class of notebooks, and what became of it --------------------------------------------------


def notebook(**order: Any) -> str:
    """A notebook that tells the judge what to do."""
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
    """Which slot was given which submission, in order."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(line.split()[0], line.split()[1]) for line in lines]


def results(out: Path) -> dict[str, bytes]:
    """All files of OUT that are the same in every run."""
    files = {str(path.relative_to(out)): path for path in out.rglob("*") if path.is_file()}
    return {n: path.read_bytes() for n, path in files.items() if not n.startswith("run/")}


# --- the command ----------------------------------------------------------------------------------


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
    """Run the command on this judge, as if there were a sandbox."""
    sandbox: Any = ModuleType("helpers.grade.sandbox")
    sandbox.missing = lambda: None
    sys.modules[sandbox.__name__] = sandbox

    from helpers.course import cli, grade
    from helpers.grade import grading
    from helpers.grade.report.sheet import Column
    from helpers.grade.wish import Wish

    if when := os.environ.pop("FAKE_DEATH", ""):
        die_later(when)
    grade.Wish = partial(Wish, judge=JUDGE)
    grading.columns = lambda lesson: tuple(Column(n, f"Exercise {n}", p) for n, p in EXERCISES)
    grading.grader_version = lambda wish: "as it was"  # somebody may be editing the grader
    return cli.main(["grade", *sys.argv[1:], "--lesson", LESSON])


if __name__ == "__main__":
    sys.exit(main())
