"""`./course test`: every check that the course has, and one summary."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from helpers.course.setup import state
from helpers.course.setup.machine import usable_cores
from helpers.course.setup.places import ROOT
from helpers.course.testing.changed import Reach, git, note_passed

TYPED = ("helpers", "benchmarks")
KINDS = {"clockless": "tests without a clock", "real": "real tests, one at a time"}
SLOWEST = 10  # tests of a kind that pytest names at its end
GIGABYTES_A_WORKER = 4  # TensorFlow and torch, and what a test computes
STOPPED, NOTHING = 2, 5  # pytest's exit status: interrupted, or not one test to run
KEPT = ".pytest_cache/all"  # what passed of --all, by commit; git ignores it, and no clone has it


class Outcome(NamedTuple):
    """One line of the summary."""

    name: str
    passed: bool
    seconds: float


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


def run_tests(choice: Choice, arguments: Sequence[str]) -> int:
    """Run the checks, then pytest on each kind of test; returns 0 where all of them passed."""
    if not (ROOT / "tests").exists():
        print("This is a learner's copy of the course: helpers.check tests what you write in it.")
        return 2
    outcomes = []
    for name, command in [] if named_paths(arguments) else checks(choice):
        print(f"— {name}", flush=True)
        started = time.monotonic()
        code = subprocess.call([sys.executable, "-m", *command], cwd=ROOT)
        outcomes.append(Outcome(name, code == 0, time.monotonic() - started))
    everything = choice.whole and not arguments
    if choice.reach and choice.reach.nothing:
        print("No test is reached by what differs.")
    elif choice.thorough and everything:
        outcomes += run_kinds(choice, goes_on())
    else:
        outcomes += run_kinds(choice, arguments)
    _summary(outcomes, choice.reach)
    passed = all(outcome.passed for outcome in outcomes)
    if passed and everything:
        note_passed()
    return 0 if passed else 1


def checks(choice: Choice) -> list[tuple[str, list[str]]]:
    """What is checked beside the tests: style, types, generated lessons; names and modules."""
    found = [
        ("style (ruff)", ["ruff", "check", "."]),
        ("layout (ruff)", ["ruff", "format", "--check", "-q", "."]),
        ("types (mypy)", ["mypy", *(folder for folder in TYPED if (ROOT / folder).exists())]),
    ]
    lessons = [choice.lesson] if choice.lesson else []
    if choice.reach and not choice.reach.everything:
        lessons = sorted(choice.reach.lessons)
        if not lessons:
            return found
    build = ["helpers.course.cli", "build", "--check", *lessons]
    return [*found, ("lessons (build --check)", build)]


def goes_on() -> list[str]:
    """pytest's argument by which --all leaves out what passed on this commit before.

    It takes hours, so it may be ended. None where something is not committed, for nobody could tell
    what was tested. What passed on other commits is forgotten.
    """
    commit = git("rev-parse", "-q", "--verify", "HEAD", root=ROOT)
    if not commit or git("status", "--porcelain", root=ROOT):
        print("Something is not committed, so what passes is not kept for the next time.")
        return []
    file = ROOT / KEPT / commit[0] / "passed.txt"
    for other in (ROOT / KEPT).glob("*"):
        if other != file.parent:
            shutil.rmtree(other, ignore_errors=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    count = len(file.read_text(encoding="utf-8").splitlines())
    print(f"{count:,} tests have passed on this commit before.", flush=True)
    return [f"--passed={file}"]


def run_kinds(choice: Choice, arguments: Sequence[str]) -> list[Outcome]:
    """Run each kind of test."""
    outcomes, codes = [], []
    for kind, name in KINDS.items():
        if choice.fast and kind == "real":
            continue
        print(f"— {name} (pytest)", flush=True)
        started = time.monotonic()
        code = run_pytest(pytest_command(kind, choice, arguments))
        codes.append(code)
        outcomes.append(Outcome(name, code in (0, NOTHING), time.monotonic() - started))
        if code == STOPPED or (code and {"-x", "--exitfirst"} & {*arguments}):
            break
    if set(codes) == {NOTHING} and not choice.thorough:
        return [Outcome("tests: there is none such", False, 0.0)]
    return outcomes


def pytest_command(kind: str, choice: Choice, arguments: Sequence[str]) -> list[str]:
    """How pytest is called on the tests of a kind.

    Tests without a clock run side by side, but for those of a few files; they wait for nothing, so
    that no core idles.
    """
    command = [sys.executable, "-m", "pytest", f"--kind={kind}"]
    command += [f"--durations={SLOWEST}", "--durations-min=1"]
    if choice.fast:
        command += ["-m", "not slow"]
    if choice.thorough:
        command.append("--all")
    if choice.lesson:
        command.append(f"--lesson={choice.lesson}")
    named = named_paths(arguments)
    if kind == "clockless" and (not named or any((ROOT / one).is_dir() for one in named)):
        command += ["-n", str(workers()), "--dist", "worksteal"]
    return [*command, *([] if named else collected(choice.reach)), *arguments]


def named_paths(arguments: Sequence[str]) -> list[str]:
    """The arguments that name tests: files, folders, or `file::test`."""
    return [one for one in arguments if (ROOT / one.split("::")[0]).exists()]


def workers() -> int:
    """How many processes share the tests without a clock: one a core, where memory allows."""
    import psutil

    memory = psutil.virtual_memory().total / 1e9
    return max(1, min(int(usable_cores()), int(memory / GIGABYTES_A_WORKER)))


def collected(reach: Reach | None) -> list[str]:
    """What pytest collects, and what of it a change reaches, as JSON."""
    if reach is None or reach.everything:
        return ["tests"]
    names = ("files", "whole", "lessons", "exercises")
    told = json.dumps({name: sorted(getattr(reach, name)) for name in names})
    judged = ["tests/checks"] if reach.exercises else []
    return [f"--reached={told}", *(["tests"] if reach.lessons else sorted({*reach.files, *judged}))]


def run_pytest(command: Sequence[str]) -> int:
    """Run pytest; returns its exit status. An interrupt is handed on to it, once."""
    process = subprocess.Popen(command, cwd=ROOT, process_group=0)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        return STOPPED


def _summary(outcomes: Sequence[Outcome], reach: Reach | None) -> None:
    """Print what passed, and what was left out."""
    print("\nSummary")
    for outcome in outcomes:
        word = "passed" if outcome.passed else "FAILED"
        print(f"  {word}  {outcome.name}  {outcome.seconds:.0f} s")
    if missing := state.horovod_missing():
        print(f"  left out: what needs Horovod. {missing}")
    if reach is not None and reach.left:
        print(f"  left to ./course test: notebooks that use what differs: {', '.join(reach.left)}")
