"""nbgrader and otter-grader at work on submissions of one exercise, as commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from nbformat import NotebookNode

from benchmarks.grading_folders import handed_in, put
from helpers.checks import find
from helpers.checks.judging import judge_all
from helpers.course.build.lesson import CHECK_ID, number_of
from helpers.course.build.notebook import code_cells, text
from helpers.course.setup import places, state
from helpers.notebook.record import SWITCH

OTTER = "7.0.0"

# The cases that the peers judge by are ours, in their own process: a process of its own for each
# check, as the learner's check has it, would cost them seconds.
TEST = """\
from benchmarks.peer_graders import require
require("{number}", {function})
"""
QUESTION = """\
OK_FORMAT = True
test = {{
    "name": "q1", "points": {points},
    "suites": [{{
        "cases": [{{"code": {code!r}, "hidden": True, "locked": False}}],
        "scored": True, "setup": "", "teardown": "", "type": "doctest",
    }}],
}}
"""
NBGRADER = "c = get_config()\nc.CourseDirectory.course_id = 'course'\nc.Exchange.root = {root!r}\n"


def require(number: str, function: object) -> None:
    """Raise AssertionError unless a function passes the visible and hidden cases, right here."""
    from helpers.checks.observe import observe
    from helpers.grade.hidden import HIDDEN_SEEDS

    exercise = find(number)
    cases = [case for seed in (0, *HIDDEN_SEEDS) for case in exercise.cases(seed)]
    verdict = judge_all(exercise, cases, observe(exercise.drive, function, cases))  # type: ignore[arg-type]
    if verdict.status != "passed":
        raise AssertionError(verdict.hint)


def run(*command: str, cwd: Path, timeout: float = 600) -> float:
    """Run a command; returns the seconds it took. Raises RuntimeError where it fails."""
    paths = os.pathsep.join([str(Path(command[0]).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": paths, "PYTHONPATH": str(places.ROOT)}
    environment[SWITCH] = "off"  # what peers grade is nobody's progress
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {(done.stdout + done.stderr)[-1500:]}")
    return seconds


class Nbgrader:
    """A course of nbgrader's with one exercise."""

    def __init__(self, folder: Path, number: str, notebook: NotebookNode) -> None:
        self.folder, self.rounds, self.points = folder, 0, find(number).points
        self.handed_in = handed_in(notebook)
        self.command = str(Path(sys.executable).with_name("nbgrader"))
        for cell in code_cells(notebook):
            if number_of(cell, CHECK_ID):
                code = TEST.format(number=number, function=find(number).function)
                cell.source = f"### BEGIN HIDDEN TESTS\n{code}### END HIDDEN TESTS"
        put(folder / "source" / "lesson", "lesson", notebook)
        (folder / "exchange").mkdir()
        config = NBGRADER.format(root=str(folder / "exchange"))
        (folder / "nbgrader_config.py").write_text(config, encoding="utf-8")
        run(self.command, "generate_assignment", "lesson", cwd=folder)

    def grade(self, students: int) -> float:
        """Seconds a submission, of one command for some of them; Raises where one is not right."""
        from nbgrader.api import Gradebook

        self.rounds += 1
        names = [f"r{self.rounds}s{number}" for number in range(students)]
        for name in names:
            put(self.folder / "submitted" / name / "lesson", "lesson", self.handed_in)
        seconds = run(
            self.command, "autograde", "lesson", f"--student=r{self.rounds}*", cwd=self.folder
        )
        with Gradebook(f"sqlite:///{self.folder}/gradebook.db") as book:
            found = {s.student.id: s.score for s in book.assignment_submissions("lesson")}
        if any(found.get(name) != self.points for name in names):
            raise RuntimeError(f"nbgrader gave {found}, not {self.points} each.")
        return seconds / students


class Otter:
    """An autograder of otter-grader's with one exercise."""

    def __init__(self, folder: Path, number: str, notebook: NotebookNode) -> None:
        self.folder, self.points = folder, find(number).points
        self.command = str(otter_environment() / "bin" / "otter")
        (folder / "tests").mkdir(parents=True)
        code = TEST.format(number=number, function=find(number).function)
        prompts = "".join(f">>> {line}\n" for line in code.splitlines())
        question = QUESTION.format(points=self.points, code=prompts)
        (folder / "tests" / "q1.py").write_text(question, encoding="utf-8")
        submission = handed_in(notebook)
        submission.cells = [c for c in submission.cells if not number_of(c, CHECK_ID)]
        (folder / "lesson.ipynb").write_text(text(submission), encoding="utf-8")
        (folder / "out").mkdir()
        made = ("generate", "-t", "tests", "-o", "autograder.zip", "--no-config")
        run(self.command, *made, "--no-requirements", "--no-environment", cwd=folder)

    def grade(self) -> float:
        """Seconds of one submission. Raises RuntimeError where it gets no full points."""
        call = ("run", "-a", "autograder.zip", "-o", "out", "lesson.ipynb")
        seconds = run(self.command, *call, cwd=self.folder)
        results = json.loads((self.folder / "out" / "results.json").read_text(encoding="utf-8"))
        if sum(test.get("score", 0) for test in results["tests"]) != self.points:
            raise RuntimeError(f"otter gave {results}, not {self.points}.")
        return seconds


def otter_environment() -> Path:
    """An environment with otter-grader beside the course's own packages; made once, and kept.

    The course's environment cannot hold it: what it requires conflicts with the pinned versions.
    """
    key = f"otter-grader-{OTTER}-py{state.version()}-{state.key()}"
    home = places.cache() / key
    if (home / "complete").exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    run(sys.executable, "-m", "venv", str(home), cwd=places.ROOT)
    python = str(home / "bin" / "python")
    install = ("-m", "pip", "install", "-q", f"otter-grader=={OTTER}")
    run(python, *install, cwd=places.ROOT, timeout=1200)
    site = next((home / "lib").glob("python*/site-packages"))
    ours = next((places.environment() / "lib").glob("python*/site-packages"))
    (site / "course.pth").write_text(f"{ours}\n", encoding="utf-8")
    (home / "complete").touch()
    return home
