"""Exercises side by side over terms: what is compared with what, and what has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from helpers.instructor.report.cells import number
from helpers.instructor.statistics.shares import Change, Share
from helpers.instructor.statistics.terms import Tally, Term

PASSED, WRONG, OPEN = "passed", "wrong", "not attempted"


@dataclass(frozen=True)
class Row:
    """One thing that is counted of an exercise. shares: one a term, None where it was not there.

    changes: of each term but the first, from the last one before that had the exercise; None where
    there was none. mistake: whether `what` is a mistake's name.
    """

    what: str
    shares: tuple[Share | None, ...]
    mistake: bool = False

    @property
    def changes(self) -> tuple[Change | None, ...]:
        changes: list[Change | None] = []
        before: Share | None = None
        for share in self.shares:
            changes.append(Change(before, share) if before and share else None)
            before = share or before
        return tuple(changes[1:])

    def verdict(self, change: Change | None) -> str:
        """ "better", "worse", or "" where it is not clear: more of what passed is better."""
        if change is None or not change.clear:
            return ""
        return "better" if (change.clear == "more") == (self.what == PASSED) else "worse"


@dataclass(frozen=True)
class Over:
    """One exercise over the terms. number: its last. tallies: one a term. rows: passed, wrong, not
    attempted, then the mistakes, the most frequent first. notes: how it changed, in sentences."""

    number: str
    title: str
    tallies: tuple[Tally | None, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def compare(terms: Sequence[Term]) -> list[Over]:
    """The exercises in the last term's order, then those that it does not have any more.

    What has the same title is the same exercise, whatever its number is by now. One that the
    instructor reads is left out.
    """
    titles = dict.fromkeys(
        tally.title for term in reversed(terms) for tally in term.tallies if not tally.is_read
    )
    return [_over(title, terms) for title in titles]


def _over(title: str, terms: Sequence[Term]) -> Over:
    found = tuple(next((t for t in term.tallies if t.title == title), None) for term in terms)
    last = [tally for tally in found if tally is not None][-1]
    rows = [
        _row(PASSED, found, lambda tally: tally.passed),
        _row(WRONG, found, lambda tally: tally.wrong),
        _row(OPEN, found, lambda tally: tally.not_attempted),
    ]
    names = {name for tally in found if tally for name in tally.mistakes}
    mistakes = [_of_mistake(name, found) for name in names]
    mistakes.sort(key=lambda row: (-_overall(row), row.what))
    return Over(last.number, title, found, (*rows, *mistakes), tuple(_notes(found, terms)))


def _row(what: str, tallies: Sequence[Tally | None], count: Callable[[Tally], int]) -> Row:
    shares = [Share(count(tally), tally.judged) if tally else None for tally in tallies]
    return Row(what, tuple(shares))


def _of_mistake(name: str, tallies: Sequence[Tally | None]) -> Row:
    return replace(_row(name, tallies, lambda tally: tally.mistakes.get(name, 0)), mistake=True)


def _overall(row: Row) -> float:
    """The share over all terms together."""
    there = [share for share in row.shares if share]
    return sum(s.count for s in there) / max(1, sum(s.of for s in there))


def _notes(found: Sequence[Tally | None], terms: Sequence[Term]) -> list[str]:
    """How the exercise is another one than it was, as far as the grades tell."""
    there = [(t, term.label) for t, term in zip(found, terms, strict=True) if t is not None]
    notes = []
    if len({tally.number for tally, _ in there}) > 1:
        notes.append(f"Its number: {', '.join(f'{t.number} in {label}' for t, label in there)}.")
    if len({tally.points for tally, _ in there}) > 1:
        given = ", ".join(f"{number(t.points)} in {label}" for t, label in there)
        notes.append(f"Its points: {given}.")
    for one, label in there:
        if left := one.not_judged + one.by_hand:
            notes.append(f"Not judged in {label}, or only by hand: {left}, not counted here.")
    for tally, term in zip(found, terms, strict=True):
        if tally is not None:
            continue
        numbers = {t.number for t, _ in there}
        other = next((t.title for t in term.tallies if t.number in numbers), "")
        instead = f": the exercise of that number was {other!r} then" if other else ""
        notes.append(f"Not in {term.label}{instead}.")
    return notes
