"""What the class page shows, counted: the distribution, each exercise's mistakes, what was slow."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.grade.grades import OUTCOMES, Outcome
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


@dataclass(frozen=True)
class ExerciseView:
    """One exercise. groups: the ways in which it went, the most frequent first."""

    column: Column
    groups: list[Group]

    def count(self, *outcomes: Outcome) -> int:
        """How many came to one of these, or in all."""
        chosen = outcomes or OUTCOMES
        return sum(len(group.who) for group in self.groups if group.outcome in chosen)

    @property
    def failures(self) -> list[Group]:
        return [group for group in self.groups if group.outcome in UNNAMED]


def exercises(sheet: Sheet) -> list[ExerciseView]:
    """How each exercise went, and which mistakes were made."""
    views = []
    for index, column in enumerate(sheet.columns):
        ways: defaultdict[tuple[Outcome, str], list[Entry]] = defaultdict(list)
        for entry in sheet.entries:
            one = entry.grade.exercises[index]
            ways[one.outcome, one.mistake or UNNAMED.get(one.outcome, "")].append(entry)
        groups = [Group(column, *way, who) for way, who in ways.items()]
        groups.sort(key=lambda one: (-len(one.who), OUTCOMES.index(one.outcome), one.told))
        views.append(ExerciseView(column, groups))
    return views


def unknown(sheet: Sheet) -> list[Group]:
    """Answers that did the same on the lesson's own cases and that no mistake of the spec
    recognised, the most frequent first."""
    groups: dict[tuple[int, Outcome, str], Group] = {}
    for entry in sheet.entries:
        for index, one in enumerate(entry.grade.exercises):
            if one.did:
                new = Group(sheet.columns[index], one.outcome, one.hint, [])
                groups.setdefault((index, one.outcome, one.did), new).who.append(entry)
    return sorted(groups.values(), key=lambda one: (-len(one.who), one.column.number, one.told))


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


def slowest(sheet: Sheet, times: Path) -> list[dict[str, Any]]:
    """The submissions that took longest when they were last graded."""
    found = []
    for entry in sheet.entries:
        path = times / f"{entry.id}.json"
        if path.exists():
            found.append({"name": entry.grade.submission} | json.loads(path.read_bytes()))
    return sorted(found, key=lambda one: (-one["seconds"], one["name"]))[:MOST_SLOW]
