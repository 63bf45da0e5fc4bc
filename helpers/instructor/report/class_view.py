"""What the class page shows, counted: the distribution, each exercise's mistakes, what was slow."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.instructor.grades import NOT_JUDGED, OUTCOMES, ExerciseGrade, Outcome
from helpers.instructor.report.cells import number
from helpers.instructor.report.sheet import Column, Entry, Sheet

MOST_BARS = 10
MOST_SLOW = 20
UNNAMED: dict[Outcome, str] = {
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
    ends = [min(i * width, sheet.max) for i in range(bars + 1)]
    return [
        Bar(number(ends[i]), number(ends[i + 1]), counts[i], round(100 * counts[i] / most, 2))
        for i in range(bars)
    ]


@dataclass(frozen=True)
class Failure:
    """One way in which an exercise failed. who: the submissions, as (id, name)."""

    outcome: Outcome
    mistake: str
    who: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ExerciseView:
    """One exercise. passed: of those judged. outcomes: (outcome, how many, percent of the class),
    those that there are.
    """

    column: Column
    passed: int
    judged: int
    outcomes: list[tuple[Outcome, int, float]]
    failures: list[Failure]


def exercises(sheet: Sheet) -> list[ExerciseView]:
    """How each exercise went, and which mistakes were made, the most frequent first."""
    views = []
    for index, column in enumerate(sheet.columns):
        graded = [(entry, entry.grade.exercises[index]) for entry in sheet.entries]
        counts = Counter(one.outcome for _, one in graded)
        outcomes = [
            (outcome, counts[outcome], round(100 * counts[outcome] / len(graded), 3))
            for outcome in OUTCOMES
            if counts[outcome]
        ]
        judged = len(graded) - counts[NOT_JUDGED]
        views.append(ExerciseView(column, counts["passed"], judged, outcomes, _failures(graded)))
    return views


def _failures(graded: Sequence[tuple[Entry, ExerciseGrade]]) -> list[Failure]:
    ways: dict[tuple[Outcome, str], list[tuple[str, str]]] = {}
    for entry, one in graded:
        if one.outcome in UNNAMED:
            mistake = one.mistake or UNNAMED[one.outcome]
            ways.setdefault((one.outcome, mistake), []).append((entry.id, entry.grade.submission))
    made = [Failure(outcome, mistake, tuple(who)) for (outcome, mistake), who in ways.items()]
    return sorted(made, key=lambda one: (-len(one.who), OUTCOMES.index(one.outcome), one.mistake))


@dataclass(frozen=True)
class Unknown:
    """Answers to one exercise that did the same, and that no mistake of its spec recognised.

    told: what the first of them was told. who: as in `Failure`.
    """

    column: Column
    outcome: Outcome
    told: str
    who: tuple[tuple[str, str], ...]


def unknown(sheet: Sheet) -> list[Unknown]:
    """What answers did that the course has no name for, the most frequent first."""
    groups: dict[tuple[int, Outcome, str], list[tuple[Entry, ExerciseGrade]]] = {}
    for entry in sheet.entries:
        for index, one in enumerate(entry.grade.exercises):
            if one.did:
                groups.setdefault((index, one.outcome, one.did), []).append((entry, one))
    made = [
        Unknown(
            sheet.columns[index],
            outcome,
            group[0][1].hint,
            tuple((entry.id, entry.grade.submission) for entry, _ in group),
        )
        for (index, outcome, _), group in groups.items()
    ]
    return sorted(made, key=lambda one: (-len(one.who), one.column.number, one.told))


@dataclass(frozen=True)
class Figures:
    """The class in a few numbers. middle, mean: of those who handed something in and were judged in
    full, in points.
    """

    submissions: int
    missing: int
    crashed: int
    timed_out: int
    not_judged: int
    by_hand: int
    full: int
    middle: str
    mean: str


def figures(sheet: Sheet) -> Figures:
    """Count what the page opens with."""
    present = [entry.grade for entry in sheet.entries if entry.handed_in]
    judged = [grade for grade in present if not grade.not_judged]
    totals = [grade.total for grade in judged]

    def with_any(outcome: Outcome) -> int:
        return sum(any(one.outcome == outcome for one in grade.exercises) for grade in present)

    return Figures(
        submissions=len(present),
        missing=len(sheet.entries) - len(present),
        crashed=with_any("crashed"),
        timed_out=with_any("time-out"),
        not_judged=len(present) - len(judged),
        by_hand=sum(bool(entry.overrides) for entry in sheet.entries),
        full=sum(grade.total >= grade.max for grade in judged),
        middle=f"{statistics.median(totals):.1f}" if totals else "–",
        mean=f"{statistics.fmean(totals):.1f}" if totals else "–",
    )


@dataclass(frozen=True)
class Slow:
    """How long one submission took when it was last graded."""

    id: str
    name: str
    seconds: float
    crashes: int
    host: str


def slowest(sheet: Sheet, timings: Path) -> list[Slow]:
    """The submissions that took longest, and those that ended processes. Of a line that a killed
    run left half written, nothing is taken.
    """
    last: dict[str, dict[str, Any]] = {}
    lines = timings.read_bytes().splitlines() if timings.exists() else []
    for line in lines:
        try:
            told = json.loads(line)
            last[told["id"]] = told
        except (ValueError, KeyError, TypeError):
            continue
    here = [entry for entry in sheet.entries if entry.id in last]
    made = [
        Slow(
            entry.id,
            entry.grade.submission,
            float(last[entry.id].get("seconds", 0)),
            int(last[entry.id].get("crashes", 0)),
            str(last[entry.id].get("host", "")),
        )
        for entry in here
    ]
    return sorted(made, key=lambda one: (-one.seconds, one.name))[:MOST_SLOW]
