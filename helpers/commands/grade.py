"""`./course grade`: what the instructor types, and what they are told."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from helpers.commands.paths import typed
from helpers.instructor.grades import Mode
from helpers.instructor.grading import GradingError, Interrupted

if TYPE_CHECKING:
    from helpers.instructor.grading.run import Done, Wish

WRONG = 2  # the exit status where grading cannot begin
SOME_FAILED = 1
MOST_CHOICES = 10  # lines about which notebook was taken
MOST_NAMES = 5  # of submissions that were not judged in full


def grade(
    what: Sequence[str],
    lesson: str | None,
    out: str | None,
    jobs: int | None,
    shard: str,
    sandbox: Mode,
    roster: str | None,
    key: str | None,
    mistakes: str | None = None,
    watch: bool = False,
    until_idle: float | None = None,
) -> int:
    """Grade a folder, watch one or compare terms; returns the exit status."""
    try:
        if until_idle is not None and not watch:
            raise GradingError("--until-idle says when a watch ends: give --watch, too.")
        if watch and (what[0] == "stats" or shard != "1/1"):
            with_what = "stats" if what[0] == "stats" else "one part of a class"
            raise GradingError(f"--watch is for a folder of submissions, not for {with_what}.")
        if what[0] == "stats":
            return _stats(what[1:], out)
        if out is None:
            raise GradingError("Say where the grades go, for instance --out GRADES.")
        if len(what) > 1:
            raise GradingError(f"Name one folder of submissions, not {len(what)}.")
        if lesson is None:
            raise GradingError("Say which lesson it is, for instance --lesson 03.")
        wish = _wish(what[0], lesson, out, jobs, shard, sandbox, roster, key, mistakes)
        return _watch(wish, until_idle) if watch else _grade(wish)
    except GradingError as error:
        print(error, file=sys.stderr)
        return WRONG
    except (Interrupted, KeyboardInterrupt) as stopped:
        print(f"\nInterrupted. {stopped} Run the same command to go on.", file=sys.stderr)
        return 130
    except OSError as error:  # a full disk, a file that somebody else owns
        print(
            f"{error.strerror}: {error.filename or out or ''}. What is graded stays graded: put "
            "that right and run the same command to go on.",
            file=sys.stderr,
        )
        return WRONG


def _wish(
    folder: str,
    lesson: str,
    out: str,
    jobs: int | None,
    shard: str,
    sandbox: Mode,
    roster: str | None,
    key: str | None,
    mistakes: str | None,
) -> Wish:
    """What was asked for. Raises GradingError."""
    from helpers.instructor.grading.run import JUDGE, Wish
    from helpers.instructor.sandbox import missing
    from helpers.setup.machine import usable_cores

    if not re.fullmatch(r"\d{1,2}", lesson):
        raise GradingError(f"{lesson!r} is not a lesson's number; give one such as --lesson 03.")
    number = lesson.zfill(2)
    part = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", shard)
    if not part or int(part[1]) > int(part[2]):
        raise GradingError(
            f"--shard is {shard!r}; write I/N, such as 1/8 for the first of 8 parts."
        )
    table = ""
    if mistakes:
        from helpers.instructor.mistakes import read

        table = read(typed(mistakes), number)
    if sandbox == "bubblewrap" and (lack := missing()):
        raise GradingError(lack)
    return Wish(
        typed(folder),
        number,
        typed(out),
        jobs or max(1, int(usable_cores())),
        sandbox,
        (int(part[1]), int(part[2])),
        typed(roster) if roster else None,
        typed(key) if key else None,
        JUDGE,
        table,
    )


def _grade(wish: Wish) -> int:
    from helpers.instructor.grading.run import grade as run

    done = run(wish)
    figures = f"{done.graded} graded, {done.cached} unchanged since an earlier run"
    number, of = wish.shard
    if of > 1:
        print(f"{len(done.sheet.entries)} submissions in part {number} of {of}: {figures}.")
        print("When all parts are graded, the same command without --shard writes the reports.")
    else:
        print(f"{len(done.sheet.entries)} submissions: {figures}.")
        print(f"Grades: {wish.out / 'grades.csv'}\nThe class: {wish.out / 'class.html'}")
    _tell(done, wish)
    if done.failed:
        print(
            f"At {len(done.failed)} of them the grader itself failed ({', '.join(done.failed)}); "
            f"{wish.out / 'run' / 'slots.log'} says how.",
            file=sys.stderr,
        )
    return SOME_FAILED if done.failed or done.sheet.not_judged else 0


def _watch(wish: Wish, until_idle: float | None) -> int:
    from helpers.instructor.grading.watch import watch

    print(
        f"Watching {wish.folder}; Ctrl-C ends it. The class: {wish.out / 'class.html'}", flush=True
    )
    done = watch(wish, lambda said: print(time.strftime("%H:%M:%S"), said, flush=True), until_idle)
    print(f"{len(done.sheet.entries)} submissions: {done.graded} graded since this began.")
    _tell(done, wish)
    return 0


def _tell(done: Done, wish: Wish) -> None:
    """What is to be known of all grades, of which notebook was taken, and of what is not judged."""
    from helpers.instructor.grading.discover import SEVERAL

    sheet = done.sheet
    if sheet.stamp:
        print(sheet.stamp)
    several = [one for one in sheet.entries if one.taken or one.grade.note.startswith(SEVERAL)]
    for one in several[:MOST_CHOICES]:
        print(f"{one.grade.submission}: {one.taken or one.grade.note}")
    if len(several) > MOST_CHOICES:
        print(f"So it is at {len(several) - MOST_CHOICES} more; the page of the class has all.")
    names = [entry.grade.submission for entry in sheet.not_judged]
    if names:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        print(
            f"Not judged in full: {len(names)} ({', '.join(names[:MOST_NAMES])}{more}). That says "
            "nothing about the answers. Run the same command, which asks these again, or give "
            f"points by hand in {wish.out / 'overrides.csv'}.",
            file=sys.stderr,
        )


def _stats(terms: Sequence[str], out: str | None) -> int:
    from helpers.instructor.statistics import statistics

    for line in statistics([typed(term) for term in terms], typed(out) if out else None):
        print(line)
    return 0
