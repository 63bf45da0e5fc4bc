"""ASHA with one thing wrong (16.3), and what is said of jobs that there are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from helpers.exercises.lesson_16.promoted import reference as promoted
from helpers.exercises.spec import Case, Mistake, Observation

Job = tuple[int, int, int]  # as `halving.Job`


class _Asha:
    """The exercise's own, with parts to exchange. Each is told the search, and a rung."""

    top = 1  # rungs from the highest down from which nobody goes on
    first_trial = 0
    more = 0  # trials more than were asked for

    def __init__(self, trials: int, least: int, most: int, factor: int = 3) -> None:
        self.trials, self.factor, self.resources = trials, factor, [least]
        while self.resources[-1] * factor <= most:
            self.resources.append(self.resources[-1] * factor)
        self.losses: list[dict[int, float]] = [{} for _ in range(len(self.resources) + 1)]
        self.promoted: list[set[int]] = [set() for _ in range(len(self.resources) + 1)]
        self.begun = 0

    def report(self, job: Job, loss: float) -> None:
        self.losses[job[1]][job[0]] = loss

    def next(self) -> Job | None:
        return self.promotion() or self.beginning()

    def promotion(self) -> Job | None:
        for rung in self.rungs():
            for trial in self.best(rung):
                if trial not in self.promoted[rung]:
                    self.note(rung, trial)
                    return self.job(trial, rung)
        return None

    def beginning(self) -> Job | None:
        if self.begun == self.trials + self.more:
            return None
        self.count()
        return (self.begun - 1 + self.first_trial, 0, self.resources[0])

    def rungs(self) -> Iterable[int]:
        return reversed(range(len(self.resources) - self.top))

    def best(self, rung: int) -> list[int]:
        return promoted(self.losses[rung], self.factor)

    def note(self, rung: int, trial: int) -> None:
        self.promoted[rung].add(trial)

    def job(self, trial: int, rung: int) -> Job:
        return (trial, rung + 1, self.resources[rung + 1])

    def count(self) -> None:
        self.begun += 1


def _but(**parts: Any) -> Callable[..., Any]:
    """The same with some parts exchanged."""
    return type("Asha", (_Asha,), parts)


def _waits(search: _Asha, rung: int) -> list[int]:
    whole = search.trials // search.factor**rung
    known = search.losses[rung]
    return promoted(known, search.factor) if len(known) == whole else []


def _out_first(search: _Asha, rung: int) -> list[int]:
    left = {t: v for t, v in search.losses[rung].items() if t not in search.promoted[rung]}
    return promoted(left, 1)[: len(search.losses[rung]) // search.factor]


def _of_all(search: _Asha, rung: int) -> list[int]:
    return promoted(search.losses[rung], 1)[: search.trials // search.factor ** (rung + 1)]


def _one_at_least(search: _Asha, rung: int) -> list[int]:
    return promoted(search.losses[rung], 1)[: max(1, len(search.losses[rung]) // search.factor)]


def _old_job(search: _Asha, trial: int, rung: int) -> Job:
    return (trial, rung + 1, search.resources[rung])


def _same_rung(search: _Asha, trial: int, rung: int) -> Job:
    return (trial, rung, search.resources[rung + 1])


waits = _but(best=_waits)
from_below = _but(rungs=lambda search: range(len(search.resources) - 1))
twice = _but(note=lambda search, rung, trial: None)
out_first = _but(best=_out_first)
best_alone = _but(best=lambda search, rung: _Asha.best(search, rung)[:1])
worst_of_best = _but(best=lambda search, rung: _Asha.best(search, rung)[::-1])
begins_first = _but(next=lambda search: search.beginning() or search.promotion())
begins_never = _but(next=lambda s: s.promotion() or (s.beginning() if not s.losses[0] else None))
one_at_least = _but(best=_one_at_least)
of_all = _but(best=_of_all)
one_short = _but(top=2)
beyond = _but(top=0)
old_steps = _but(job=_old_job)
old_rung = _but(job=_same_rung)
too_many = _but(more=1)
same_again = _but(count=lambda search: setattr(search, "begun", 1))
from_one = _but(first_trial=1)


def _beyond_the_top(case: Case, seen: Observation) -> str | None:
    if seen.kind != "IndexError":
        return None
    return (
        f"{case.name}, `{seen.text}`: from the last rung nobody goes on, so look at the rungs "
        "below it alone, `range(len(self.resources) - 1)`."
    )


def _no_such_trial(case: Case, seen: Observation) -> str | None:
    trials = case.args[0][0]
    for _, told in seen.values[0]:
        for job in told:
            if type(job) is tuple and len(job) == 3 and type(job[0]) is int and job[0] >= trials:
                return (
                    f"{case.name}, trial {job[0]} begins: they are numbered from 0, and no more "
                    f"than {trials} begin. Then `next` gives None."
                )
    return None


FAMILIES = (
    Mistake("beyond the top", _beyond_the_top, unfinished=True),
    Mistake("one trial too many", _no_such_trial),
)
