"""`./course test`: every check that the course has, and one summary."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from helpers.course.setup import state
from helpers.course.setup.machine import usable_cores
from helpers.course.setup.places import ROOT
from helpers.course.testing import parts
from helpers.course.testing.changed import Reach, note_passed

TYPED = ("helpers", "benchmarks")
KINDS = {"clockless": "tests without a clock", "real": "real tests, one at a time"}
SLOWEST = 10  # tests of a kind that the summary names
GIGABYTES_A_WORKER = 4  # TensorFlow and torch, and what a test computes
_SLOW = re.compile(r"\d+\.\d+s (call|setup|teardown) ")
STOPPED, NOTHING = 2, 5  # pytest's exit status: interrupted, or not one test to run


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
    return subprocess.call(python("helpers.course.cli", "build", "--check", *lessons), cwd=ROOT)


def named_paths(arguments: Sequence[str]) -> list[str]:
    """The arguments that name tests: files, folders, or `file::test`."""
    return [one for one in arguments if (ROOT / one.split("::")[0]).exists()]


def workers() -> int:
    """How many processes share the tests without a clock: one a core, where memory allows."""
    import psutil

    memory = psutil.virtual_memory().total / 1e9
    return max(1, min(int(usable_cores()), int(memory / GIGABYTES_A_WORKER)))


def pytest_command(
    kind: str, choice: Choice, arguments: Sequence[str], where: Sequence[str]
) -> list[str]:
    """How pytest is called on the tests of a kind.

    where: the files to collect, if the arguments name none. Tests without a clock run side by side,
    but for those of a few files; they wait for nothing, so that no core idles.
    """
    command = [*python("pytest"), f"--kind={kind}", f"--durations={SLOWEST}", "--durations-min=1"]
    if sys.stdout.isatty() and not os.environ.get("CI"):
        command.append("--color=yes")
    if choice.fast:
        command += ["-m", "not slow"]
    if choice.thorough:
        command.append("--all")
    if choice.lesson:
        command += [f"--lesson={choice.lesson}"]
    named = named_paths(arguments)
    if kind == "clockless" and (not named or any((ROOT / one).is_dir() for one in named)):
        command += ["-n", str(workers()), "--dist", "worksteal"]
    return [*command, *([] if named else where), *arguments]


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
    judged = ["tests/checks"] if reach.exercises else []
    where = ["tests"] if reach.lessons else sorted({*reach.files, *judged})
    return [f"--reached={path}", *where]  # one word, or pytest takes the path for one of tests


def run_pytest(command: Sequence[str]) -> tuple[int, list[str]]:
    """Run pytest, show its output as it comes; returns its exit status and what to say at the end:
    the slowest tests, and its closing line. An interrupt is handed on to it, once."""
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0
    )
    assert process.stdout is not None
    recent, interrupted = b"", False
    while True:
        try:
            if not (chunk := os.read(process.stdout.fileno(), 65536)):
                code = process.wait()
                break
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            interrupted = True
            continue
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        recent = (recent + chunk)[-65536:]
    lines = recent.decode(errors="replace").splitlines()
    closing = [line for line in lines if re.search(r" in \d[\d.]*s", line)]
    slowest = [line for line in lines if _SLOW.match(line)]
    last = closing[-1] if closing else f"pytest ended with status {code}"
    return STOPPED if interrupted else code, [*slowest, last]


def run_tests(choice: Choice, arguments: Sequence[str]) -> int:
    """Run the checks, then pytest on each kind of test; returns 0 where all of them passed."""
    if not (ROOT / "tests").exists():
        print("This is a learner's copy of the course: helpers.check tests what you write in it.")
        return 2
    outcomes = []
    for name, check in [] if named_paths(arguments) else checks(choice):
        print(f"— {name}", flush=True)
        started = time.monotonic()
        outcomes.append(Outcome(name, check() == 0, time.monotonic() - started))
    told: dict[str, list[str]] = {}
    everything = choice.whole and not arguments
    if nothing_reached(choice.reach):
        print("No test is reached by what differs.")
    elif choice.thorough and everything:
        outcomes += run_what_is_left(choice, told)
    else:
        outcomes += run_kinds(choice, arguments, told)
    _summary(outcomes, told, choice.reach)
    passed = all(outcome.passed for outcome in outcomes)
    if passed and everything:
        note_passed()
    return 0 if passed else 1


def run_kinds(
    choice: Choice, arguments: Sequence[str], told: dict[str, list[str]]
) -> list[Outcome]:
    """Run each kind of test; what pytest says at its end is put under told, by the kind's name."""
    outcomes, codes, where = [], [], collected(choice.reach)
    for kind, name in KINDS.items():
        if choice.fast and kind == "real":
            continue
        print(f"— {name} (pytest)", flush=True)
        started = time.monotonic()
        code, told[name] = run_pytest(pytest_command(kind, choice, arguments, where))
        codes.append(code)
        outcomes.append(Outcome(name, code in (0, NOTHING), time.monotonic() - started))
        if code == STOPPED or (code and {"-x", "--exitfirst"} & {*arguments}):
            break
    if set(codes) == {NOTHING} and not choice.thorough:
        return [Outcome("tests: there is none such", False, 0.0)]
    return outcomes


def run_what_is_left(choice: Choice, told: dict[str, list[str]]) -> list[Outcome]:
    """Run each kind of test, but for what passed earlier on this commit."""
    notes = parts.notes_of_this_commit(ROOT)
    if notes is None:
        print("Something is not committed, so what passes is not kept for the next time.")
        folder = Path(tempfile.mkdtemp(prefix="course-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        notes = parts.Notes(folder)
    notes.begin()
    print(f"{len(notes.ended()):,} tests have passed on this commit before.", flush=True)
    outcomes = run_kinds(choice, [f"--notes={notes.folder}"], told)
    whole, told["on this commit"] = parts.account(notes, KINDS)
    return [*outcomes, Outcome("tests, all of this commit", whole, 0.0)]


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


def _summary(outcomes: Sequence[Outcome], told: dict[str, list[str]], reach: Reach | None) -> None:
    """Print what was slow, what passed, and pytest's closing lines."""
    for name, lines in told.items():
        if slowest := [line for line in lines if _SLOW.match(line)]:
            print(f"\nThe slowest {name}, at most {SLOWEST}")
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
    for name, lines in told.items():
        for line in lines:
            if not _SLOW.match(line):
                print(f"{name}: {line.strip('= ')}", flush=True)
