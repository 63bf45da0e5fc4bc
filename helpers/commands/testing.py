"""`./course test`: every check that the course has, and one summary."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from helpers.commands.changed import Reach, note_passed
from helpers.setup import state
from helpers.setup.machine import usable_cores
from helpers.setup.places import ROOT

TYPED = ("helpers", "benchmarks")
MOST_WORKERS = 5
SLOWEST = 10  # tests that the summary names
GIGABYTES_A_WORKER = 4  # TensorFlow, torch and a few ranks at once


class Outcome(NamedTuple):
    """One line of the summary."""

    name: str
    passed: bool
    seconds: float


def python(*arguments: str) -> list[str]:
    return [sys.executable, "-m", *arguments]


@dataclass(frozen=True)
class Choice:
    """Which tests to run. fast: without what is slow. thorough: with what takes minutes.

    lesson: what belongs to this one alone. reach: what a change reaches.
    """

    fast: bool = False
    thorough: bool = False
    lesson: str = ""
    reach: Reach | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing of the everyday tests is left out."""
        return not (self.fast or self.lesson or self.reach)


def build_check(lessons: Sequence[str] = ()) -> int:
    """Whether lessons/ is what solutions/ makes it: all, or those of some numbers."""
    if not (ROOT / "solutions").exists():
        print("There is no solutions/ folder, so there is nothing to build.")
        return 0
    return subprocess.call(python("helpers.cli", "build", "--check", *lessons), cwd=ROOT)


def named_paths(arguments: Sequence[str]) -> list[str]:
    """The arguments that name tests: files, folders, or `file::test`."""
    return [one for one in arguments if (ROOT / one.split("::")[0]).exists()]


def workers() -> int:
    """How many processes share the tests: three more than cores, where memory allows.

    For each waits half of its time: for ranks that sleep, for kernels and sandboxes to start.
    """
    import psutil

    memory = psutil.virtual_memory().total / 1e9
    return max(1, min(int(usable_cores()) + 3, MOST_WORKERS, int(memory / GIGABYTES_A_WORKER)))


def side_by_side() -> list[str]:
    """pytest's options to run modules side by side, in order; tests/conftest.py shares them out."""
    return ["-n", str(workers()), "--dist", "loadfile", "--no-loadscope-reorder"]


def pytest_command(choice: Choice, arguments: Sequence[str]) -> list[str]:
    """How pytest is called: on what the arguments name, or on all there is, side by side."""
    command = [*python("pytest"), f"--durations={SLOWEST}", "--durations-min=1"]
    if sys.stdout.isatty() and not os.environ.get("CI"):
        command.append("--color=yes")
    if choice.fast:
        command += ["-m", "not slow"]
    if choice.thorough:
        command.append("--all")
    if choice.lesson:
        command += [f"--lesson={choice.lesson}"]
    if not named_paths(arguments):
        command += [*collected(choice.reach), *side_by_side()]
    return [*command, *arguments]


def collected(reach: Reach | None) -> list[str]:
    """The files that pytest collects, and where it finds what of them to run."""
    if reach is None or reach.everything:
        return ["tests"]
    told = {
        name: sorted(getattr(reach, name)) for name in ("files", "whole", "lessons", "exercises")
    }
    path = Path(tempfile.mkdtemp(prefix="course-")) / "reached.json"
    path.write_text(json.dumps(told), encoding="utf-8")
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    judged = ["tests/exercises"] if reach.exercises else []
    where = ["tests"] if reach.lessons else sorted({*reach.files, *judged})
    return [f"--reached={path}", *where]  # one word, or pytest takes the path for one of tests


def run_pytest(command: Sequence[str]) -> tuple[int, list[str]]:
    """Run pytest, show its output as it comes; returns its exit status and what to say at the end:
    the slowest tests, and its closing line."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    recent = b""
    while chunk := os.read(process.stdout.fileno(), 65536):
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        recent = (recent + chunk)[-65536:]
    code = process.wait()
    lines = recent.decode(errors="replace").splitlines()
    closing = [line for line in lines if re.search(r" in \d[\d.]*s", line)]
    slowest = [line for line in lines if re.match(r"\d+\.\d+s (call|setup|teardown) ", line)]
    return code, [*slowest, closing[-1] if closing else f"pytest ended with status {code}"]


def run_tests(choice: Choice, arguments: Sequence[str]) -> int:
    """Run the checks, then pytest; returns 0 where all of them passed."""
    if not (ROOT / "tests").exists():
        print("This is a learner's copy of the course: helpers.check tests what you write in it.")
        return 2
    outcomes = []
    for name, check in [] if named_paths(arguments) else checks(choice):
        print(f"— {name}", flush=True)
        started = time.monotonic()
        outcomes.append(Outcome(name, check() == 0, time.monotonic() - started))
    closing: list[str] = []
    if nothing_reached(choice.reach):
        print("No test is reached by what differs.")
    else:
        print("— tests (pytest)", flush=True)
        started = time.monotonic()
        code, closing = run_pytest(pytest_command(choice, arguments))
        outcomes.append(Outcome("tests (pytest)", code == 0, time.monotonic() - started))
    _summary(outcomes, closing, choice.reach)
    passed = all(outcome.passed for outcome in outcomes)
    if passed and choice.whole and not arguments:
        note_passed()
    return 0 if passed else 1


def checks(choice: Choice) -> list[tuple[str, Callable[[], int]]]:
    """What is checked beside the tests: style, types, generated lessons."""
    typed = [folder for folder in TYPED if (ROOT / folder).exists()]
    lessons: list[str] = [choice.lesson] if choice.lesson else []
    found: list[tuple[str, Callable[[], int]]] = [
        ("style (ruff)", lambda: subprocess.call(python("ruff", "check", "."), cwd=ROOT)),
        ("layout (ruff)", lambda: subprocess.call(
            python("ruff", "format", "--check", "-q", "."), cwd=ROOT)),
        ("types (mypy)", lambda: subprocess.call(python("mypy", *typed), cwd=ROOT)),
    ]  # fmt: skip
    if choice.reach and not choice.reach.everything:
        lessons = sorted(choice.reach.lessons)
        if not lessons:
            return found
    return [*found, ("lessons (build --check)", lambda: build_check(lessons))]


def nothing_reached(reach: Reach | None) -> bool:
    """Whether a change reaches no test at all."""
    if reach is None or reach.everything:
        return False
    return not (reach.files or reach.lessons or reach.exercises)


def _summary(outcomes: Sequence[Outcome], closing: Sequence[str], reach: Reach | None) -> None:
    *slowest, last = closing or [""]
    if slowest:
        print(f"\nThe slowest tests, at most {SLOWEST}")
        print("\n".join(f"  {line}" for line in slowest))
    print("\nSummary")
    for outcome in outcomes:
        word = "passed" if outcome.passed else "FAILED"
        print(f"  {word}  {outcome.name}  {outcome.seconds:.0f} s")
    missing = state.horovod_missing()
    if missing:
        print(f"  left out: what needs Horovod. {missing}")
    if reach is not None and reach.left:
        print(f"  left to ./course test: notebooks that use what differs: {', '.join(reach.left)}")
    print(last, flush=True)
