"""Grading: ours beside nbgrader's autograde and `otter run`, and a class of 300 on two cores.

The same submission, one exercise on several ranks, goes through all three, each as its command is
typed and each with one process at work; the peers' hidden test is our cases in their own process.
Ours is timed from the command's start to its end, sandboxes and reports included.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import goals
from benchmarks.grading_folders import a_class, handed_in, one_exercise, put
from benchmarks.peer_graders import Nbgrader, Otter, run
from benchmarks.report import Report
from helpers.checks import find
from helpers.course.setup import places

NUMBER = "02.1"
ROUNDS, OURS, NBGRADER, OTTER = 3, 100, 5, 2  # submissions of each in a round
CLASS, LESSON, JOBS = 300, "03", 2
MINUTES = 10


def measure() -> Report:
    """All three in turn, then the class."""
    report = Report("grade", "Grading submissions, from a folder of notebooks to points")
    with tempfile.TemporaryDirectory() as folder:
        beside_peers(report, Path(folder))
        whole_class(report, Path(folder))
    report.notes.append(
        "nbgrader and otter decide inside the submission's own process, without a sandbox; ours "
        "runs each rank in a sandbox of its own, decides outside it, and writes every report."
    )
    return report


def beside_peers(report: Report, folder: Path) -> None:
    """The three graders in turn, so that a busy moment hits all of them alike."""
    nbgrader = Nbgrader(folder / "nbgrader", NUMBER, one_exercise(NUMBER))
    otter = Otter(folder / "otter", NUMBER, one_exercise(NUMBER))
    seconds: dict[str, list[float]] = {"ours": [], "nbgrader": [], "otter": []}
    for turn in range(ROUNDS):
        seconds["nbgrader"].append(nbgrader.grade(NBGRADER))
        seconds["otter"] += [otter.grade() for _ in range(OTTER)]
        seconds["ours"].append(ours(folder / f"ours-{turn}"))
    case = f"exercise {NUMBER}, seconds a submission"
    row = report.add(case, "./course grade --jobs 1", seconds["ours"], f"{OURS} at a time")
    theirs = {
        "nbgrader autograde": (seconds["nbgrader"], f"{NBGRADER} at a time"),
        "otter run": (seconds["otter"], "one at a time"),
    }
    for name, (times, note) in theirs.items():
        peer = report.add(case, name, times, note)
        report.hold(
            goals.GRADED, f"submissions a second, beside {name}", peer.median_s / row.median_s
        )


def ours(folder: Path) -> float:
    """Seconds a submission, of one command. Raises RuntimeError where one has not full points."""
    submission = handed_in(one_exercise(NUMBER))
    for number in range(OURS):
        put(folder / "submissions", f"student-{number:03d}", submission)
    seconds = command(folder, NUMBER[:2], jobs=1)
    given = [row[NUMBER] for row in grades(folder)]
    if given != [str(find(NUMBER).points)] * OURS:
        raise RuntimeError(f"./course grade gave {given}, not {find(NUMBER).points} each.")
    return seconds / OURS


def command(folder: Path, lesson: str, jobs: int) -> float:
    """Seconds of `./course grade` on a folder's submissions."""
    call = (sys.executable, "-m", "helpers.course.cli", "grade", str(folder / "submissions"))
    wish = ("--lesson", lesson, "--out", str(folder / "out"), "--jobs", str(jobs))
    return run(*call, *wish, cwd=places.ROOT, timeout=3600)


def grades(folder: Path) -> list[dict[str, str]]:
    """The rows of grades.csv."""
    with (folder / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def differing(out: Path, worth: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """A sentence for each exercise that got other points than it is worth, with the reason."""
    data = json.loads((out / "grades.json").read_text(encoding="utf-8"))
    for one in data["submissions"]:
        for e in one["exercises"]:
            if e["points"] != (earned := worth[one["submission"]][e["number"]]):
                what = f"{one['submission']}, {e['number']}: {e['points']:g}, not {earned}"
                yield f"{what} ({e['outcome']}, {e['mistake']!r}: {e['reason']} {e['hint']})."


def whole_class(report: Report, folder: Path) -> None:
    """300 submissions of a lesson whose exercises run on several ranks, on two cores."""
    start = time.perf_counter()
    worth = a_class(folder / "class" / "submissions", LESSON, CLASS)
    print(f"{CLASS} submissions made in {time.perf_counter() - start:.0f} s.", file=sys.stderr)
    seconds = command(folder / "class", LESSON, JOBS)
    if wrong := [*differing(folder / "class" / "out", worth)]:
        raise RuntimeError(f"./course grade gave other points than were earned. {' '.join(wrong)}")
    case = f"{CLASS} submissions of lesson {LESSON}"
    report.add(case, f"./course grade --jobs {JOBS}", [seconds], "three in five answers right")
    report.claim(f"{case}, {JOBS} jobs", seconds / 60, MINUTES, at_least=False, unit=" min")
