"""`./course grade`: what the instructor types, and what they are told."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence

from helpers.course.paths import typed
from helpers.course.setup.machine import usable_cores
from helpers.grade.grades import Mode
from helpers.grade.grading import FAILED, Grading
from helpers.grade.roster import ABSENT
from helpers.grade.run import grade as run
from helpers.grade.sandbox import missing
from helpers.grade.statistics import statistics
from helpers.grade.wish import GradingError, Wish

WRONG = 2  # the exit status where grading cannot begin
SOME_FAILED = 1
MOST_NOTES = 10  # lines about submissions that are to be looked at
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
    mistakes: str | None,
    watch: bool,
    until_idle: float | None,
) -> int:
    """Grade a folder, watch one or compare terms; returns the exit status."""
    try:
        if until_idle is not None and not watch:
            raise GradingError("--until-idle says when a watch ends: give --watch, too.")
        if watch and (what[0] == "stats" or shard != "1/1"):
            raise GradingError("--watch is for one whole folder of submissions.")
        if what[0] == "stats":
            terms, where = [typed(term) for term in what[1:]], typed(out) if out else None
            print(*statistics(terms, where), sep="\n")
            return 0
        if out is None:
            raise GradingError("Say where the grades go, for instance --out GRADES.")
        if len(what) > 1:
            raise GradingError(f"Name one folder of submissions, not {len(what)}.")
        if not re.fullmatch(r"\d{1,2}", lesson or ""):
            raise GradingError("Say which lesson it is by its number, for instance --lesson 03.")
        part = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", shard)
        if not part or int(part[1]) > int(part[2]):
            raise GradingError(f"--shard is {shard!r}; write I/N, such as 1/8 for the first of 8.")
        if sandbox == "bubblewrap" and (lack := missing()):
            raise GradingError(lack)
        number, table = str(lesson).zfill(2), ""
        if mistakes:
            from helpers.grade.mistakes import read

            table = read(typed(mistakes), number)
        wish = Wish(
            typed(what[0]),
            number,
            typed(out),
            jobs or max(1, int(usable_cores())),
            sandbox,
            (int(part[1]), int(part[2])),
            typed(roster) if roster else None,
            typed(key) if key else None,
            table,
        )
        return _grade(wish, watch, until_idle)
    except GradingError as error:
        print(error, file=sys.stderr)
        return WRONG
    except KeyboardInterrupt as stopped:
        print(f"\nInterrupted. {stopped} Run the same command to go on.", file=sys.stderr)
        return 130
    except OSError as error:  # a full disk, a file that somebody else owns
        print(
            f"{error.strerror}: {error.filename or out or ''}. What is graded stays graded: put "
            "that right and run the same command to go on.",
            file=sys.stderr,
        )
        return WRONG


def _grade(wish: Wish, watch: bool, until_idle: float | None) -> int:
    """Grade a folder, or watch it, and say what came of it."""
    if watch:
        said = f"Watching {wish.folder}; Ctrl-C ends it. The class: {wish.out / 'class.html'}"
        print(said, flush=True)
    done = run(wish, _say, watch, until_idle)
    count, (number, of) = len(done.sheet().entries), wish.shard
    part = f" in part {number} of {of}" if of > 1 else ""
    since = " since this began" if watch else f", {done.cached} unchanged since an earlier run"
    print(f"{count} submissions{part}: {done.graded} graded{since}.")
    if part:
        print("When all parts are graded, the same command without --shard writes the reports.")
    elif not watch:
        print(f"Grades: {wish.out / 'grades.csv'}\nThe class: {wish.out / 'class.html'}")
    return SOME_FAILED if _tell(done) and not watch else 0


def _say(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, flush=True)


def _tell(done: Grading) -> bool:
    """Say what is to be known of all grades, and what to look at, first who has no notebook;
    whether any submission was not judged in full."""
    sheet = done.sheet()
    if sheet.stamp:
        print(sheet.stamp)
    judged = [one for one in sheet.entries if one.taken or not one.grade.not_judged]
    noted = [one for one in judged if one.notes and one.notes != [ABSENT]]
    noted.sort(key=lambda one: (one.handed_in, one.grade.total > 0))
    if noted:
        print(f"To look at: {len(noted)} of {len(sheet.entries)} submissions.")
    for one in noted[:MOST_NOTES]:
        print(f"{one.grade.submission}: {' '.join(one.notes)}")
    if len(noted) > MOST_NOTES:
        print(f"And {len(noted) - MOST_NOTES} more; the page of the class has all.")
    for stray in sheet.strays[:MOST_NOTES]:
        print(f"In no table, since nobody is called so: {stray}")
    names = [entry.grade.submission for entry in sheet.not_judged]
    if names:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        print(
            f"Not judged in full: {len(names)} ({', '.join(names[:MOST_NAMES])}{more}). That says "
            "nothing about the answers. Run the same command, which asks these again, or give "
            f"points by hand in {done.out / 'overrides.csv'}.",
            file=sys.stderr,
        )
    failed = [one.grade.submission for one in sheet.not_judged if one.grade.note == FAILED]
    if failed:
        print(
            f"At {len(failed)} of them the grader itself failed ({', '.join(failed)}); "
            f"{done.out / 'run' / 'slots.log'} says how.",
            file=sys.stderr,
        )
    return bool(names)
