"""`./course grade FOLDER`: from a folder of submissions to results and reports."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers.instructor.grades import Mode
from helpers.instructor.grading import GradingError, Interrupted, overrides, seeds
from helpers.instructor.grading.assemble import Found, columns, found, sheet
from helpers.instructor.grading.discover import lesson_file
from helpers.instructor.grading.files import owned
from helpers.instructor.grading.progress import Progress
from helpers.instructor.grading.slots import GradingJob, Slots
from helpers.instructor.grading.store import Store, digest, grader_version
from helpers.instructor.report.sheet import Sheet
from helpers.instructor.report.write import write_reports

JUDGE = "helpers.instructor.judge:Judge"
FAILED = (
    "The grader itself failed at this notebook, twice. That says nothing about the answers: they "
    "have no grade yet."
)


@dataclass(frozen=True)
class Wish:
    """What an instructor asked for. shard: (I, N), the I-th of N parts. judge: "module:name"."""

    folder: Path
    lesson: str
    out: Path
    jobs: int
    mode: Mode = "bubblewrap"
    shard: tuple[int, int] = (1, 1)
    roster: Path | None = None
    key: Path | None = None
    judge: str = JUDGE


@dataclass(frozen=True)
class Done:
    """What a run did. failed: names of submissions at which the grader itself failed."""

    sheet: Sheet
    cached: int
    graded: int
    failed: list[str] = field(default_factory=list)


def grade(wish: Wish) -> Done:
    """Grade what is not graded yet, then write the reports.

    Raises GradingError where something is wrong before grading, Interrupted after Ctrl-C. Killed at
    any moment, it goes on from there when it is called again, and gives the same.
    """
    folder, out = apart(wish.folder, wish.out)
    title = lesson_file(wish.lesson)[3:].removesuffix(".ipynb").replace("_", " ").capitalize()
    # All that may be wrong with what was asked for comes first: then OUT is not even made.
    everybody = found(folder, wish.lesson, wish.roster)
    exercises = columns(wish.lesson)
    points = {column.number: column.points for column in exercises}
    key = seeds.load_key(wish.key)
    with owned(out):
        of_this_lesson(out, wish.lesson)
        overrides.ensure(out)
        by_hand = overrides.read(out, [one.name for one in everybody.submissions], points)
        mine = everybody.part(*wish.shard)
        store = Store(out)
        store.prepare()
        version = grader_version(wish.lesson, wish.judge)
        cached, graded, failed = _results(wish, mine, store, key, version)
        made = sheet(
            Sheet(
                wish.lesson,
                title,
                wish.mode,
                seeds.fingerprint(key),
                version,
                exercises,
                (),
                roster=wish.roster is not None,
                canvas=everybody.canvas,
                shard="{}/{}".format(*wish.shard) if wish.shard[1] > 1 else "",
            ),
            mine,
            store,
            by_hand,
            lambda raw: seeds.seed(key, wish.lesson, raw),
        )
        write_reports(made, out)
    return Done(made, cached, graded, failed)


def apart(folder: Path, out: Path) -> tuple[Path, Path]:
    """Both, resolved. Raises GradingError where one lies in the other."""
    if not folder.is_dir():
        raise GradingError(f"There is no folder {folder}; name the one that holds the submissions.")
    if out.exists() and not out.is_dir():
        raise GradingError(f"{out} is not a folder; name one with --out.")
    folder, out = folder.resolve(), out.resolve()
    if folder == out or folder in out.parents or out in folder.parents:
        raise GradingError(
            f"The submissions ({folder}) and --out ({out}) must not lie in one another: what is "
            "written would be taken for submissions."
        )
    return folder, out


def of_this_lesson(out: Path, lesson: str) -> None:
    """Raises GradingError where OUT holds another lesson's grades."""
    try:
        other = json.loads((out / "grades.json").read_bytes())["lesson"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if other != lesson:
        raise GradingError(f"{out} holds the grades of lesson {other}; name another --out.")


def _results(
    wish: Wish, mine: Found, store: Store, key: bytes, version: str
) -> tuple[int, int, list[str]]:
    """See that every notebook has its result. How many had one, how many got one, what failed."""
    jobs: list[GradingJob] = []
    digests: dict[str, str] = {}
    readable = [one for one in mine.submissions if one.path is not None]
    for one in readable:
        assert one.path is not None
        seed = seeds.seed(key, wish.lesson, one.raw)
        try:
            digests[one.id] = digest(one.path, version, seed, wish.mode)
        except OSError as error:
            digests[one.id] = (
                f"unreadable {error.strerror}"  # the judge finds out itself, and says so
            )
        if store.load(one.id, digests[one.id]) is None:
            jobs.append(GradingJob(one.id, one.name, one.path, seed))
    failed = _grade(wish, jobs, digests, store, done=len(readable) - len(jobs)) if jobs else []
    return len(readable) - len(jobs), len(jobs), failed


def _grade(
    wish: Wish, jobs: Sequence[GradingJob], digests: dict[str, str], store: Store, done: int
) -> list[str]:
    """Grade jobs in slots and keep each result at once; the names of those that failed."""
    run = wish.out / "run"
    total, failed = done + len(jobs), []
    try:
        with (
            Progress(total, done) as progress,
            Slots(wish.lesson, wish.mode, wish.judge, run / "slots.log") as slots,
        ):
            for answer in slots.grade(jobs, max(1, min(wish.jobs, len(jobs)))):
                job = answer.job
                grade = answer.grade
                if grade is None:
                    failed.append(job.name)
                    grade = _stands_for(job, wish)
                store.save(job.id, digests[job.id], grade, failed=answer.grade is None)
                _note_time(run, job, answer.seconds, answer.crashes)
                done += 1
                progress.step(job.name)
    except KeyboardInterrupt:
        raise Interrupted(done, total) from None
    return failed


def _stands_for(job: GradingJob, wish: Wish) -> dict[str, object]:
    """What is kept where the grader itself failed: no points, outcome "crashed", and why."""
    from helpers.instructor.grading.assemble import without_points

    exercises = columns(wish.lesson)
    grade = without_points(job.name, wish.lesson, job.seed, wish.mode, exercises, "crashed", FAILED)
    return grade.as_json()


def _note_time(run: Path, job: GradingJob, seconds: float, crashes: int) -> None:
    """Add a line to the times. They are no result: no two runs have the same."""
    told = {
        "id": job.id,
        "submission": job.name,
        "seconds": round(seconds, 3),
        "crashes": crashes,
        "host": socket.gethostname(),
    }
    with open(run / "timings.jsonl", "ab") as file:
        file.write(json.dumps(told).encode("ascii") + b"\n")
