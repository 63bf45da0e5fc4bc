"""`./course test`: every check that the course has, and one summary."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from helpers.setup import state
from helpers.setup.machine import usable_cores
from helpers.setup.places import ROOT

TYPED = ("helpers", "benchmarks")
MOST_WORKERS = 4
GIGABYTES_A_WORKER = 4  # TensorFlow, torch and a few ranks at once


class Outcome(NamedTuple):
    """One line of the summary."""

    name: str
    passed: bool
    seconds: float


def python(*arguments: str) -> list[str]:
    return [sys.executable, "-m", *arguments]


def build_check() -> int:
    """Whether lessons/ is what solutions/ makes it."""
    if not (ROOT / "solutions").exists():
        print("There is no solutions/ folder, so there is nothing to build.")
        return 0
    return subprocess.call(python("helpers.cli", "build", "--check"), cwd=ROOT)


def named_paths(arguments: Sequence[str]) -> list[str]:
    """The arguments that name tests: files, folders, or `file::test`."""
    return [one for one in arguments if (ROOT / one.split("::")[0]).exists()]


def workers() -> int:
    """How many processes share the tests: as many as cores and memory allow."""
    import psutil

    memory = psutil.virtual_memory().total / 1e9
    return max(1, min(int(usable_cores()), MOST_WORKERS, int(memory / GIGABYTES_A_WORKER)))


def side_by_side() -> list[str]:
    """pytest's options to run modules side by side, in order; tests/conftest.py shares them out."""
    return ["-n", str(workers()), "--dist", "loadfile", "--no-loadscope-reorder"]


def pytest_command(fast: bool, arguments: Sequence[str], thorough: bool = False) -> list[str]:
    """How pytest is called: on what the arguments name, or on all there is, side by side."""
    command = python("pytest")
    if sys.stdout.isatty() and not os.environ.get("CI"):
        command.append("--color=yes")
    if fast:
        command += ["-m", "not slow"]
    if thorough:
        command.append("--all")
    if not named_paths(arguments):
        command += ["tests", *side_by_side()]
    return [*command, *arguments]


def run_pytest(command: Sequence[str]) -> tuple[int, str]:
    """Run pytest, show its output as it comes; returns its exit status and its closing line."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    recent = b""
    while chunk := os.read(process.stdout.fileno(), 65536):
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        recent = (recent + chunk)[-8192:]
    code = process.wait()
    lines = recent.decode(errors="replace").splitlines()
    closing = [line for line in lines if re.search(r" in \d[\d.]*s", line)]
    return code, closing[-1] if closing else f"pytest ended with status {code}"


def run_tests(fast: bool, arguments: Sequence[str], thorough: bool = False) -> int:
    """Run the checks, then pytest; returns 0 where all of them passed.

    fast: without what is slow. thorough: with what takes minutes.
    """
    if not (ROOT / "tests").exists():
        print("This is a learner's copy of the course: helpers.check tests what you write in it.")
        return 2
    checks: list[tuple[str, Callable[[], int]]] = []
    if not named_paths(arguments):
        typed = [folder for folder in TYPED if (ROOT / folder).exists()]
        checks = [
            ("style (ruff)", lambda: subprocess.call(python("ruff", "check", "."), cwd=ROOT)),
            ("layout (ruff)", lambda: subprocess.call(
                python("ruff", "format", "--check", "-q", "."), cwd=ROOT)),
            ("types (mypy)", lambda: subprocess.call(python("mypy", *typed), cwd=ROOT)),
            ("lessons (build --check)", build_check),
        ]  # fmt: skip
    outcomes = []
    for name, check in checks:
        print(f"— {name}", flush=True)
        started = time.monotonic()
        outcomes.append(Outcome(name, check() == 0, time.monotonic() - started))
    print("— tests (pytest)", flush=True)
    started = time.monotonic()
    code, closing = run_pytest(pytest_command(fast, arguments, thorough))
    outcomes.append(Outcome("tests (pytest)", code == 0, time.monotonic() - started))
    _summary(outcomes, closing)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _summary(outcomes: Sequence[Outcome], closing: str) -> None:
    print("\nSummary")
    for outcome in outcomes:
        word = "passed" if outcome.passed else "FAILED"
        print(f"  {word}  {outcome.name}  {outcome.seconds:.0f} s")
    missing = state.horovod_missing()
    if missing:
        print(f"  left out: what needs Horovod. {missing}")
    print(closing, flush=True)
