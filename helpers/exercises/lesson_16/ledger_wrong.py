"""A ledger with one thing wrong (16.4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from helpers.exercises.common import fails_with
from helpers.exercises.spec import Mistake


class _Ledger:
    """The exercise's own, with parts to exchange."""

    def __init__(self, search: Any) -> None:
        self.search, self.losses, self.resources = search, search.losses, search.resources
        self.running: set[Any] = set()
        self.waiting: list[Any] = []

    def next(self) -> Any:
        again = bool(self.waiting)
        job = self.take() if again else self.search.next()
        if job is not None:
            self.note(job, again)
        return job

    def take(self) -> Any:
        return self.waiting.pop(0)

    def note(self, job: Any, again: bool) -> None:
        self.running.add(self.key(job))

    def report(self, job: Any, loss: float) -> None:
        if not self.runs(job):
            return self.refuse()
        self.reported(job)
        self.search.report(job, loss)

    def give_up(self, job: Any) -> None:
        if not self.runs(job):
            return self.refuse()
        self.lost(job)
        self.keep(job)

    def done(self) -> bool:
        return not self.running and not self.waiting and bool(self.search.done())

    def key(self, job: Any) -> Any:
        return job

    def runs(self, job: Any) -> bool:
        return self.key(job) in self.running

    def reported(self, job: Any) -> None:
        self.running.discard(self.key(job))

    def lost(self, job: Any) -> None:
        self.running.discard(self.key(job))

    def keep(self, job: Any) -> None:
        self.waiting.append(job)

    def refuse(self) -> None:
        raise ValueError("This job does not run.")


def _but(**parts: Any) -> Callable[..., Any]:
    """The same with some parts exchanged."""
    return type("Ledger", (_Ledger,), parts)


def _lost_last(ledger: _Ledger) -> Any:
    job = ledger.search.next()
    if job is None and ledger.waiting:
        job = ledger.waiting.pop(0)
    if job is not None:
        ledger.running.add(job)
    return job


def _hands_on(ledger: _Ledger, job: Any, loss: float) -> None:
    ledger.running.discard(job)
    ledger.search.report(job, loss)


def _keeps(ledger: _Ledger, job: Any) -> None:
    ledger.running.discard(job)
    ledger.waiting.append(job)


def _notes_all(ledger: _Ledger) -> Any:
    job = ledger.waiting.pop(0) if ledger.waiting else ledger.search.next()
    ledger.running.add(job)
    return job


def _notes_new(ledger: _Ledger, job: Any, again: bool) -> None:
    if not again:
        ledger.running.add(job)


def _remove(ledger: _Ledger, job: Any, loss: float) -> None:
    ledger.running.remove(job)
    ledger.search.report(job, loss)


forgets = _but(keep=lambda ledger, job: None)
lost_last = _but(next=_lost_last)
last_first = _but(take=lambda ledger: ledger.waiting.pop())
as_failed = _but(keep=lambda ledger, job: ledger.search.report(job, math.inf))
believes_all = _but(report=_hands_on)
runs_on = _but(reported=lambda ledger, job: None)
given_up_runs_on = _but(lost=lambda ledger, job: None)
not_noted = _but(note=_notes_new)
lost_when_done = _but(give_up=_keeps)


class _Known(_Ledger):
    """Refuses what it knows to be over, or lost, and nothing else."""

    def __init__(self, search: Any) -> None:
        super().__init__(search)
        self.over: set[Any] = set()

    def runs(self, job: Any) -> bool:
        return job not in self.over and job not in self.waiting

    def reported(self, job: Any) -> None:
        super().reported(job)
        self.over.add(job)


def _wordless(ledger: _Ledger) -> None:
    raise ValueError


known_alone = _Known
wordless = _but(refuse=_wordless)
silent = _but(refuse=lambda ledger: None)
by_trials = _but(key=lambda ledger, job: job[0])
none_runs = _but(next=_notes_all)
key_error = _but(report=_remove)

FAMILIES = (
    Mistake(
        "KeyError",
        fails_with(
            "",
            "`remove` of a set raises a KeyError where the job does not run. Look first whether "
            "it does, and raise a ValueError with a sentence where it does not.",
            kind="KeyError",
        ),
        unfinished=True,
    ),
)
