"""A judge for tests of what stands around the judge: quick, deterministic, without torch.

A notebook's first cell tells it what to do, as JSON: {"sleep": seconds, "until": a path to wait
for, "do": "die" | "raise" | "unjudged", or one of these with " once", "then": what follows that};
a name and a seed give the grades. What is "unjudged" is exercise UNJUDGED. Each call is noted in
the file FAKE_JUDGE_LOG.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helpers.instructor.grades import NOT_JUDGED, OUTCOMES, ExerciseGrade, Mode, SubmissionGrade

# As lesson 02 has them; read here from nowhere, so that no framework is imported.
EXERCISES = [("02.1", 2.0), ("02.2", 3.0), ("02.3", 4.0), ("02.4", 2.0), ("02.5", 4.0)]
UNJUDGED = "02.3"
BUSY = "The machine was too busy to tell."
DRAWN = [outcome for outcome in OUTCOMES if outcome != NOT_JUDGED]
end_process = os._exit
MISTAKES = ["sums instead of averaging", "sends everything to rank 0", "=HYPERLINK(1)"]


class Died(BaseException):
    """The judge's process has ended, where it is no process of its own: see fake_slots.py."""


class FakeJudge:
    """Made and used as `helpers.instructor.judge.Judge`."""

    def __init__(self, lesson: str, mode: Mode, slot: int) -> None:
        self.lesson, self.mode, self.called = lesson, mode, str(os.getpid())
        if os.environ.get("FAKE_JUDGE") == "unable":
            raise RuntimeError("The sandbox is on strike.")
        if os.environ.get("FAKE_JUDGE") == "stillborn":
            end_process(1)

    def grade(self, path: Path, submission: str, seed: int) -> Any:
        self.note(path)
        told = first_cell(path)
        self.wait(told)
        order = _obey(told.get("do", ""), path, told.get("then", ""))
        grades = tuple(_grade(i, submission, seed) for i in range(len(EXERCISES)))
        if order == "unjudged":
            grades = tuple(_unjudged(one) if one.number == UNJUDGED else one for one in grades)
        made = SubmissionGrade(
            submission, self.lesson, seed, self.mode, grades, told.get("note", "")
        )
        return SimpleNamespace(grade=made, seconds=0.25, crashes=1)

    def wait(self, told: dict[str, Any]) -> None:
        """As long as it is told."""
        time.sleep(told.get("sleep", 0))
        while "until" in told and not os.path.exists(told["until"]):
            time.sleep(0.01)

    def note(self, path: Path) -> None:
        """Write the call down: by whom, and of whom."""
        if log := os.environ.get("FAKE_JUDGE_LOG"):
            with open(log, "a", encoding="utf-8") as file:
                file.write(f"{self.called} {path.parent.name}\n")

    def close(self) -> None:
        pass


def _obey(order: str, path: Path, then: str = "") -> str:
    """Do it; what is left of the order. What is to be done once leaves a file behind."""
    what, once, _ = order.partition(" once")
    if once:
        try:
            path.with_suffix(".done").touch(exist_ok=False)
        except FileExistsError:
            return _obey(then, path)
    if what == "die":
        end_process(9)
    if what == "raise":
        raise ValueError("the hidden input was 42")
    return what


def first_cell(path: Path) -> dict[str, Any]:
    """What a notebook tells the judge to do."""
    try:
        told: dict[str, Any] = json.loads(json.loads(path.read_text())["cells"][0]["source"])
        return told
    except (ValueError, KeyError, IndexError):
        return {}


def _grade(index: int, submission: str, seed: int) -> ExerciseGrade:
    number, points = EXERCISES[index]
    told = f"{submission} {seed} {number}".encode("utf-8", "surrogateescape")
    dice = int.from_bytes(hashlib.sha256(told).digest()[:4], "big")
    outcome = "passed" if dice % 3 else DRAWN[dice // 3 % len(DRAWN)]
    if outcome == "passed":
        return ExerciseGrade(
            number, f"Exercise {index}", "passed", points, points, "", "All right."
        )
    mistake = MISTAKES[dice % len(MISTAKES)] if outcome == "wrong" else ""
    hint = "Got `<script>alert(1)</script>` & \x1b[31mmore\x00\nin `two` lines." if mistake else ""
    return ExerciseGrade(
        number, f"Exercise {index}", outcome, 0.0, points, mistake, "Not `right`.", hint
    )


def _unjudged(one: ExerciseGrade) -> ExerciseGrade:
    return replace(one, outcome=NOT_JUDGED, points=0.0, mistake="", reason=BUSY, hint="")
