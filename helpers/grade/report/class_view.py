"""What the class page shows, counted: the distribution, each exercise's mistakes, what was slow."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from helpers.grade.grades import OUTCOMES, ExerciseGrade, Outcome
from helpers.grade.report.sheet import Column, Entry, Sheet
from helpers.grade.report.tables import number

MOST_BARS = 10
MOST_SLOW = 20
UNNAMED: dict[str, str] = {
    "wrong": "wrong in a way that has no name",
    "error": "an exception",
    "time-out": "no end within the time",
    "crashed": "its process ended",
}


@dataclass(frozen=True)
class Bar:
    """One column of the distribution. low: where it begins, in points; high: where it ends, not
    included except in the last one. share: of the tallest one, in percent.
    """

    low: str
    high: str
    count: int
    share: float


def distribution(sheet: Sheet) -> list[Bar]:
    """How many submissions reached how many points, in columns of whole points.

    Who was not judged in full has no number of points, and is left out.
    """
    width = max(1, math.ceil(sheet.max / MOST_BARS))
    bars = max(1, math.ceil(sheet.max / width))
    totals = [entry.grade.total for entry in sheet.entries if not entry.grade.not_judged]
    counts = Counter(min(int(total // width), bars - 1) for total in totals)
    most = max(counts.values(), default=1)
    ends = [number(min(i * width, sheet.max)) for i in range(bars + 1)]
    return [
        Bar(ends[i], ends[i + 1], counts[i], round(100 * counts[i] / most, 2)) for i in range(bars)
    ]


@dataclass(frozen=True)
class Group:
    """Submissions in which an exercise came to the same. told: the mistake's name, or what the
    first of them was told of one that has none."""

    column: Column
    outcome: Outcome
    told: str
    who: list[Entry]


def alike(
    sheet: Sheet,
    same: Callable[[ExerciseGrade], str],
    told: Callable[[ExerciseGrade], str],
) -> list[Group]:
    """Who has the same of an exercise, the most frequent first. same: "" for what is left out."""
    groups: dict[tuple[int, Outcome, str], Group] = {}
    for entry in sheet.entries:
        for index, one in enumerate(entry.grade.exercises):
            if word := same(one):
                new = Group(sheet.columns[index], one.outcome, told(one), [])
                groups.setdefault((index, one.outcome, word), new).who.append(entry)

    def order(one: Group) -> tuple[int, str, int, str]:
        return -len(one.who), one.column.number, OUTCOMES.index(one.outcome), one.told

    return sorted(groups.values(), key=order)


def failures(sheet: Sheet) -> list[Group]:
    """Which mistakes were made."""

    def mistake(one: ExerciseGrade) -> str:
        return (one.mistake or UNNAMED[one.outcome]) if one.outcome in UNNAMED else ""

    return alike(sheet, mistake, mistake)


def unknown(sheet: Sheet) -> list[Group]:
    """Answers that did the same on the lesson's own cases and that no mistake of the spec
    recognised."""
    return alike(sheet, lambda one: one.did, lambda one: one.hint)


def outcomes(sheet: Sheet) -> dict[str, Counter[str]]:
    """How often each exercise, by its number, came to what."""
    return {
        column.number: Counter(entry.grade.outcomes[index] for entry in sheet.entries)
        for index, column in enumerate(sheet.columns)
    }


def figures(sheet: Sheet) -> dict[str, int | str]:
    """What the page opens with. median, mean: of those who handed something in and were judged in
    full, in points.
    """
    present = [entry.grade for entry in sheet.entries if entry.handed_in]
    judged = [grade for grade in present if not grade.not_judged]
    totals = [grade.total for grade in judged]
    with_any = Counter(outcome for grade in present for outcome in {*grade.outcomes})
    return {
        "submissions": len(present),
        "missing": len(sheet.entries) - len(present),
        "crashed": with_any["crashed"],
        "timed_out": with_any["time-out"],
        "not_judged": len(present) - len(judged),
        "by_hand": sum(bool(entry.overrides) for entry in sheet.entries),
        "full": sum(grade.total >= grade.max for grade in judged),
        "median": f"{statistics.median(totals):.1f}" if totals else "–",
        "mean": f"{statistics.fmean(totals):.1f}" if totals else "–",
    }


def slowest(sheet: Sheet) -> list[Entry]:
    """The submissions that took longest when they were last graded."""
    timed = [(one.took.seconds, one) for one in sheet.entries if one.took]
    timed.sort(key=lambda one: (-one[0], one[1].grade.submission))
    return [entry for _, entry in timed[:MOST_SLOW]]
