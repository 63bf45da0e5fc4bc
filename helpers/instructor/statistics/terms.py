"""What `grades.json` of a term says of each exercise, counted. No name of a student is kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.instructor.grades import NOT_JUDGED
from helpers.instructor.grading import GradingError
from helpers.instructor.grading.files import printable
from helpers.instructor.grading.run import FAILED
from helpers.instructor.report.class_view import UNNAMED

OPEN = ("not attempted", "missing")
BY_HAND = "by hand"
UNDECIDED = (BY_HAND, NOT_JUDGED)


@dataclass(frozen=True)
class Tally:
    """One exercise in one term, counted over the submissions that were handed in and judged.

    wrong: whatever was attempted and is not right. mistakes: how often each was made, by its name.
    by_hand: of how many only the instructor knows. not_judged: of how many nobody does. Neither is
    among the judged.
    """

    number: str
    title: str
    points: float
    judged: int
    passed: int
    wrong: int
    not_attempted: int
    by_hand: int
    not_judged: int
    mistakes: Mapping[str, int]

    @property
    def is_read(self) -> bool:
        """Whether it is an exercise that the instructor reads."""
        return self.by_hand > 0 and not self.passed and not self.wrong


@dataclass(frozen=True)
class Term:
    """One term. label: of its folder. grader: the version that graded. stamp: where there was no
    sandbox, what has to be said of the grades."""

    label: str
    lesson: str
    title: str
    grader: str
    stamp: str
    handed_in: int
    tallies: tuple[Tally, ...]


def read_terms(folders: Sequence[Path]) -> list[Term]:
    """The terms in these folders, in their order. Raises GradingError."""
    if not folders:
        raise GradingError("Name the folders of the terms, for instance grade stats 2025 2026.")
    resolved = [folder.resolve() for folder in folders]
    for one in resolved:
        if resolved.count(one) > 1:
            raise GradingError(f"{one} is named twice; name each term once.")
    labels = _labels(resolved)
    terms = [_term(*both) for both in zip(resolved, labels, strict=True)]
    for term, folder in zip(terms, resolved, strict=True):
        if term.lesson != terms[0].lesson:
            raise GradingError(
                f"{resolved[0]} holds the grades of lesson {terms[0].lesson}, and {folder} those "
                f"of lesson {term.lesson}: name terms of one lesson."
            )
    return terms


def _labels(folders: Sequence[Path]) -> list[str]:
    """What terms are called: the ends of their folders' names that tell them apart."""
    most = max(len(folder.parts) for folder in folders)
    for count in range(1, most + 1):
        found = ["/".join(folder.parts[-count:]) for folder in folders]
        if len(set(found)) == len(found):
            return [printable(label) for label in found]
    return [printable(str(folder)) for folder in folders]


def _term(folder: Path, label: str) -> Term:
    path = folder / "grades.json"
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise GradingError(
            f"{folder} holds no grades ({path.name}: {error.strerror}); name a folder that "
            "./course grade wrote."
        ) from None
    except ValueError:
        raise GradingError(f"{path} is damaged; grade that term once more.") from None
    try:
        return _counted(data, label, folder)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise GradingError(
            f"{path} is not what ./course grade writes; name the folder of a term's grades."
        ) from None


def _counted(data: dict[str, Any], label: str, folder: Path) -> Term:
    if data["shard"]:
        raise GradingError(
            f"{folder} holds part {data['shard']} of a class; join its parts by grade merge first."
        )
    present = [one for one in data["submissions"] if one["handed_in"]]
    tallies = tuple(_tally(column, present) for column in data["exercises"])
    lesson, title, grader = (str(data[name]) for name in ("lesson", "title", "grader"))
    stamp = str(data.get("warning", ""))
    return Term(label, lesson, title, grader, stamp, len(present), tallies)


def _tally(column: Mapping[str, Any], present: Sequence[Mapping[str, Any]]) -> Tally:
    number = str(column["number"])
    found = [(one, e) for one in present for e in one["exercises"] if e["number"] == number]
    if len(found) != len(present):
        raise ValueError(f"{number} is not in every submission")
    # In earlier terms everything at which the grader itself failed is said to have crashed.
    decided = [e for one, e in found if e["outcome"] not in UNDECIDED and one["note"] != FAILED]
    by_hand = sum(e["outcome"] == BY_HAND for _, e in found)
    counts = Counter(str(one["outcome"]) for one in decided)
    unnamed: Mapping[str, str] = {str(outcome): said for outcome, said in UNNAMED.items()}
    attempted = [one for one in decided if one["outcome"] in unnamed]
    mistakes = Counter(str(one["mistake"]) or unnamed[one["outcome"]] for one in attempted)
    return Tally(
        number,
        str(column["title"]),
        float(column["points"]),
        len(decided),
        counts["passed"],
        len(attempted),
        sum(counts[outcome] for outcome in OPEN),
        by_hand,
        len(found) - len(decided) - by_hand,
        dict(mistakes),
    )
