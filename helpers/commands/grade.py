"""`./course grade`: what the instructor types, and what they are told."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from helpers.commands.paths import typed
from helpers.instructor.grades import Mode
from helpers.instructor.grading import GradingError, Interrupted

if TYPE_CHECKING:
    from pathlib import Path

    from helpers.instructor.grading.run import Wish
    from helpers.instructor.report.sheet import Sheet

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
    """Grade a folder, watch one, merge parts or compare terms; returns the exit status."""
    try:
        if until_idle is not None and not watch:
            raise GradingError("--until-idle says when a watch ends: give --watch, too.")
        if watch and what[0] in ("merge", "stats"):
            raise GradingError(f"--watch is for a folder of submissions, not for {what[0]}.")
        if what[0] == "stats":
            return _stats(what[1:], out)
        if out is None:
            raise GradingError("Say where the grades go, for instance --out GRADES.")
        if what[0] == "merge":
            _only_parts(shard, roster, key, mistakes)
            return _merge(what[1:], out)
        if len(what) > 1:
            raise GradingError(f"Name one folder of submissions, not {len(what)}.")
        if lesson is None:
            raise GradingError("Say which lesson it is, for instance --lesson 03.")
        wish = _wish(what[0], lesson, out, jobs, shard, sandbox, roster, key, mistakes)
        return _watch(wish, until_idle) if watch else _grade(wish)
    except GradingError as error:
        print(error, file=sys.stderr)
        return WRONG
    except Interrupted as stopped:
        print(f"\nInterrupted. {stopped} Run the same command to go on.", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("\nInterrupted. Run the same command to go on.", file=sys.stderr)
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
    from helpers.setup.machine import usable_cores

    if not re.fullmatch(r"\d{1,2}", lesson):
        raise GradingError(f"{lesson!r} is not a lesson's number; give one such as --lesson 03.")
    wish = Wish(
        typed(folder),
        lesson.zfill(2),
        typed(out),
        jobs or max(1, int(usable_cores())),
        sandbox,
        _shard(shard),
        typed(roster) if roster else None,
        typed(key) if key else None,
        JUDGE,
    )
    if sandbox == "bubblewrap":
        from helpers.instructor.sandbox import missing

        lack = missing()
        if lack:
            raise GradingError(lack)
    if mistakes:
        from helpers.instructor.mistakes import read

        wish = replace(wish, mistakes=read(typed(mistakes), wish.lesson))
    return wish


def _grade(wish: Wish) -> int:
    from helpers.instructor.grading.run import grade as run

    done = run(wish)
    figures = f"{done.graded} graded, {done.cached} unchanged since an earlier run"
    print(f"{len(done.sheet.entries)} submissions: {figures}.")
    if done.sheet.stamp:
        print(done.sheet.stamp)
    print(f"Grades: {wish.out / 'grades.csv'}\nThe class: {wish.out / 'class.html'}")
    _tell_choices(done.sheet)
    _tell_not_judged(done.sheet, wish.out)
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
    seen = watch(wish, lambda said: print(time.strftime("%H:%M:%S"), said, flush=True), until_idle)
    count = len(seen.sheet.entries) if seen.sheet else 0
    print(f"{count} submissions: {seen.graded} graded since this began.")
    if seen.sheet and seen.sheet.stamp:
        print(seen.sheet.stamp)
    if seen.sheet:
        _tell_not_judged(seen.sheet, wish.out)
    return 0


def _tell_not_judged(sheet: Sheet, out: Path, how: str = "Run the same command") -> None:
    """Name the submissions of which something is not judged, and say what to do.

    how: in which they are asked again.
    """
    names = [entry.grade.submission for entry in sheet.not_judged]
    if not names:
        return
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    print(
        f"Not judged in full: {len(names)} ({', '.join(names[:MOST_NAMES])}{more}). That says "
        f"nothing about the answers. {how}, which asks these again, or give points by hand in "
        f"{out / 'overrides.csv'}.",
        file=sys.stderr,
    )


def _tell_choices(sheet: Sheet) -> None:
    """Say which notebook was taken where there were several, or that none was."""
    from helpers.instructor.grading.discover import SEVERAL

    several = [one for one in sheet.entries if one.taken or one.grade.note.startswith(SEVERAL)]
    told = [f"{one.grade.submission}: {one.taken or one.grade.note}" for one in several]
    for line in told[:MOST_CHOICES]:
        print(line)
    if len(told) > MOST_CHOICES:
        print(f"So it is at {len(told) - MOST_CHOICES} more; the page of the class has them all.")


def _only_parts(shard: str, roster: str | None, key: str | None, mistakes: str | None) -> None:
    """Refuse what a merge could only ignore. Raises GradingError."""
    options = {
        "--shard": shard != "1/1",
        "--roster": roster,
        "--key": key,
        "--mistakes": mistakes,
    }
    given = [name for name, value in options.items() if value]
    if given:
        raise GradingError(
            f"A merge takes over what the parts hold: give {' and '.join(given)} where each part "
            "is graded, the same class list, key and mistakes for all of them."
        )


def _merge(parts: Sequence[str], out: str) -> int:
    from helpers.instructor.grading.merge import merge

    if not parts:
        raise GradingError("Name the folders of the parts, for instance grade merge part-* --out …")
    sheet = merge([typed(part) for part in parts], typed(out))
    print(f"{len(sheet.entries)} submissions of {len(parts)} parts are in {typed(out)}.")
    _tell_choices(sheet)
    _tell_not_judged(sheet, typed(out), "Grade their parts once more and join them")
    return 0


def _stats(terms: Sequence[str], out: str | None) -> int:
    from helpers.instructor.statistics.stats import statistics

    for line in statistics([typed(term) for term in terms], typed(out) if out else None):
        print(line)
    return 0


def _shard(given: str) -> tuple[int, int]:
    """ "2/5" as (2, 5). Raises GradingError."""
    found = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", given)
    if not found or int(found[1]) > int(found[2]):
        raise GradingError(
            f"--shard is {given!r}; write I/N, such as 1/8 for the first of 8 parts."
        )
    return int(found[1]), int(found[2])
