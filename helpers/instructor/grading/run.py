"""`./course grade FOLDER`: from a folder of submissions to results and reports."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers.instructor.grades import NOT_JUDGED, Mode, SubmissionGrade
from helpers.instructor.grading import GradingError, Interrupted, overrides, seeds
from helpers.instructor.grading.assemble import (
    Found,
    Load,
    columns,
    found,
    sheet,
    without_points,
)
from helpers.instructor.grading.discover import lesson_file
from helpers.instructor.grading.files import owned
from helpers.instructor.grading.overrides import Overrides
from helpers.instructor.grading.progress import Progress
from helpers.instructor.grading.slots import Answer, GradingJob, Slots
from helpers.instructor.grading.store import Store, contents, digest, grader_version
from helpers.instructor.report.sheet import Column, Sheet
from helpers.instructor.report.write import write_reports

JUDGE = "helpers.instructor.judge:Judge"
FAILED = (
    "The grader itself failed at this notebook, twice. That says nothing about the answers: they "
    "have no grade yet."
)


@dataclass(frozen=True)
class Wish:
    """What an instructor asked for. shard: (I, N), the I-th of N parts. judge: "module:name".
    mistakes: a table of the class's own (`helpers.instructor.mistakes`), "" for none."""

    folder: Path
    lesson: str
    out: Path
    jobs: int
    mode: Mode = "bubblewrap"
    shard: tuple[int, int] = (1, 1)
    roster: Path | None = None
    key: Path | None = None
    judge: str = JUDGE
    mistakes: str = ""


@dataclass(frozen=True)
class Done:
    """What a run did. failed: names of submissions at which the grader itself failed."""

    sheet: Sheet
    cached: int
    graded: int
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Terms:
    """What every grade of a run goes by: the exercises, the key, the version of the grader."""

    wish: Wish
    title: str
    columns: tuple[Column, ...]
    key: bytes
    version: str

    @property
    def points(self) -> dict[str, float]:
        """What each exercise gives at most."""
        return {column.number: column.points for column in self.columns}

    def seed(self, raw: str) -> int:
        """Of the hidden cases of a submission, by its name on disk."""
        return seeds.seed(self.key, self.wish.lesson, raw)

    def digest(self, notebook: bytes, raw: str) -> str:
        """What the result of a submission with these contents belongs to."""
        return digest(notebook, self.version, self.seed(raw), self.wish.mode)

    def sheet(self, all_of_them: Found, load: Load, by_hand: Overrides) -> Sheet:
        """The sheet of these submissions. load: the grade of an id, where there is one."""
        wish = self.wish
        empty = Sheet(
            wish.lesson,
            self.title,
            wish.mode,
            seeds.fingerprint(self.key),
            self.version,
            self.columns,
            (),
            roster=wish.roster is not None,
            canvas=all_of_them.canvas,
            shard="{}/{}".format(*wish.shard) if wish.shard[1] > 1 else "",
        )
        return sheet(empty, all_of_them, load, by_hand, self.seed)

    def keep(self, store: Store, answer: Answer, digest: str) -> SubmissionGrade:
        """Keep what came of a job, and how long it took."""
        job, grade = answer.job, answer.grade or _stands_for(answer.job, self.wish)
        kept = store.save(job.id, digest, grade.as_json(), failed=not answer.is_whole)
        _note_time(self.wish.out / "run", job, answer.seconds, answer.crashes)
        return kept


def terms(wish: Wish) -> Terms:
    """What a run goes by. Raises GradingError."""
    title = lesson_file(wish.lesson)[3:].removesuffix(".ipynb").replace("_", " ").capitalize()
    version = grader_version(wish.lesson, wish.judge)
    if wish.mistakes:
        version = hashlib.sha256(f"{version} {wish.mistakes}".encode()).hexdigest()[:16]
    return Terms(wish, title, columns(wish.lesson), seeds.load_key(wish.key), version)


def grade(wish: Wish) -> Done:
    """Grade what is not graded yet, then write the reports.

    Raises GradingError where something is wrong before grading, Interrupted after Ctrl-C. Killed at
    any moment, it goes on from there when it is called again, and gives the same.
    """
    folder, out = apart(wish.folder, wish.out)
    # All that may be wrong with what was asked for comes first: then OUT is not even made.
    everybody = found(folder, wish.lesson, wish.roster)
    by = terms(wish)
    with owned(out):
        of_this_lesson(out, wish.lesson)
        overrides.ensure(out)
        by_hand = overrides.read(out, [one.name for one in everybody.submissions], by.points)
        mine = everybody.part(*wish.shard)
        store = Store(out)
        store.prepare()
        cached, graded, failed = _results(by, mine, store)
        made = by.sheet(mine, store.load, by_hand)
        write_reports(made, out)
    return Done(made, cached, graded, failed)


def apart(folder: Path, out: Path) -> tuple[Path, Path]:
    """Both, resolved. Raises GradingError where one lies in the other."""
    if not folder.is_dir():
        raise GradingError(f"There is no folder {folder}; name the one that holds the submissions.")
    return beside(folder, out)


def beside(folder: Path, out: Path) -> tuple[Path, Path]:
    """Both, resolved, whether they are there or not. Raises GradingError as `apart` does."""
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


def _results(by: Terms, mine: Found, store: Store) -> tuple[int, int, list[str]]:
    """See that every notebook has its result. How many had one, how many got one, what failed."""
    jobs: list[GradingJob] = []
    digests: dict[str, str] = {}
    readable = [one for one in mine.submissions if one.path is not None]
    for one in readable:
        assert one.path is not None
        try:
            digests[one.id] = by.digest(contents(one.path), one.raw)
        except OSError as error:
            digests[one.id] = unreadable(error)
        if store.load(one.id, digests[one.id]) is None:
            jobs.append(GradingJob(one.id, one.name, one.path, by.seed(one.raw)))
    failed = _grade(by, jobs, digests, store, done=len(readable) - len(jobs)) if jobs else []
    return len(readable) - len(jobs), len(jobs), failed


def unreadable(error: OSError) -> str:
    """The digest of what cannot be read: the judge finds out itself, and says so."""
    return f"unreadable {error.strerror}"


def _grade(
    by: Terms, jobs: Sequence[GradingJob], digests: dict[str, str], store: Store, done: int
) -> list[str]:
    """Grade jobs in slots and keep each result at once; the names of those that failed."""
    wish, total, failed = by.wish, done + len(jobs), []
    log = wish.out / "run" / "slots.log"
    try:
        with (
            Progress(total, done) as progress,
            Slots(wish.lesson, wish.mode, wish.judge, log, wish.mistakes) as slots,
        ):
            for answer in slots.grade(jobs, max(1, min(wish.jobs, len(jobs)))):
                if answer.grade is None:
                    failed.append(answer.job.name)
                by.keep(store, answer, digests[answer.job.id])
                done += 1
                progress.step(answer.job.name)
    except KeyboardInterrupt:
        raise Interrupted(done, total) from None
    return failed


def _stands_for(job: GradingJob, wish: Wish) -> SubmissionGrade:
    """What is kept where the grader itself failed: nothing is judged, and why."""
    exercises = columns(wish.lesson)
    return without_points(job.name, wish.lesson, job.seed, wish.mode, exercises, NOT_JUDGED, FAILED)


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
