"""The driver of 16.3: workers that ask a search for jobs, and report."""

from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import is_array
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Observation


def decisions(fn: Function, case: Case) -> Observation:
    """Drive `fn(trials, least, most, factor)`, a search, with workers; `values[0]` is a list.

    A case's arguments: those four, workers, losses[trial][rung], order. All free workers ask for a
    job, the first worker first; then some report, by the next list in `order`, and all who are free
    ask again, and so on to the end. An item is `[reports, decided, kept]`: the jobs that were
    reported and their losses; what the free workers were told since, a job or None each; and
    what the search `keeps` then. What is no job ends the list.
    """
    trouble = wrong_signature(fn, 4)
    if trouble:
        return trouble
    *given, workers, losses, order = case.args[0]
    turns: list[Any] = []
    try:
        search = fn(*given)
        busy: dict[int, Any] = {}
        reports: list[Any] = []
        while len(turns) < 400:  # more than any search needs
            told: list[Any] = []
            turns.append([reports, told, []])
            for worker in range(workers):
                if worker not in busy:
                    job = search.next()
                    told.append(spelled(job))
                    if job is None:
                        continue
                    if not _is_job(told[-1], losses):
                        return Observation(values=[turns])
                    busy[worker] = job
            turns[-1][2] = keeps(search)
            if not busy:
                break
            reports = []
            for place in order[len(turns) % len(order)][: len(busy)]:
                job = busy.pop(sorted(busy)[place % len(busy)])
                trial, rung, _ = spelled(job)
                reports.append([spelled(job), losses[trial][rung]])
                search.report(job, losses[trial][rung])
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[turns])


def spelled(job: Any) -> Any:
    """A job in plain values, with whole numbers of any kind as int."""
    told = plain(job)
    if type(told) is not tuple:
        return told
    return tuple(int(each) if is_array(each, ()) and each.dtype.kind in "iu" else each
                 for each in told)  # fmt: skip


def keeps(search: Any) -> list[Any]:
    """Who has left each rung, by its `promoted`, and what its `done()` says; None for what is not
    there, or of another kind than the exercise's."""
    held, done = getattr(search, "promoted", None), getattr(search, "done", None)
    left = None
    if type(held) is list and all(type(each) in (set, list) for each in held):
        of = [[spelled((trial,))[0] for trial in each] for each in held]
        left = [sorted(each) for each in of if {*map(type, each)} <= {int}]
    return [left, bool(done()) if callable(done) else None]


def _is_job(job: Any, losses: Sequence[Sequence[float]]) -> bool:
    """Whether it is a job whose loss there is."""
    if type(job) is not tuple or [type(each) for each in job] != [int] * 3:
        return False
    return 0 <= job[0] < len(losses) and 0 <= job[1] < len(losses[job[0]])
