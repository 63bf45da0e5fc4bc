"""Drivers for lesson 16: what a search draws, and what it decides while its workers come and go.

A job stands as the tuple (trial, rung, resource). Nothing here knows what is right.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import wraps
from typing import Any

import numpy as np

from helpers.algorithms.search.ranges import Choice, LogUniform, Uniform
from helpers.algorithms.search.rungs import Job
from helpers.exercises.drives.arguments import CHANGED, call_with_tensors
from helpers.exercises.drives.calling import Function, failed, inside, made, there, wrong_signature
from helpers.exercises.drives.values import Remote, plain
from helpers.exercises.random_states import seed_there, states_there
from helpers.exercises.spec import Case, Observation

_CALLS = 400  # of one search: more than any needs


_KINDS = {"linear": Uniform, "log": LogUniform, "choice": Choice}


def draws(fn: Function, case: Case) -> Observation:
    """Call `fn(space, trial, seed)` again and again.

    A case's arguments are (ranges, trials, seed): for each name a kind and what it is made of. The
    global random states are others in each part. `values[0]` is `[first, again, turned, other,
    {"random": alone}, salted, far]`: what the trials gave in turn; some of them once more, from
    the last to the first; the same ones from a space that names its ranges in the other order; the
    trials of the next seed; whether the global random states were always left alone; some once
    more where `hash` gives other numbers for text, as it does in every other process; and those of
    `far(seed)`, pair by pair. A trial gives `[[name, value], …]` by names.
    """
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    ranges, trials, seed = case.args[0]
    space = {name: made(fn, _KINDS[kind], *given) for name, (kind, *given) in ranges.items()}
    turned = {name: space[name] for name in reversed(space)}
    alone = True

    def ask(part: int, its: Mapping[str, Any], its_trials: Iterable[int], its_seed: int) -> Any:
        nonlocal alone
        seed_there(fn, part)
        before = states_there(fn)
        told = [plain(fn(dict(its), trial, its_seed)) for trial in its_trials]
        alone = alone and states_there(fn) == before
        return [sorted(map(list, one.items())) if type(one) is dict else one for one in told]

    few = range(min(trials, 6) - 1, -1, -1)
    try:
        first = ask(0, space, range(trials), seed)
        other = ask(1, space, range(trials // 2), seed + 1)
        again = ask(2, space, few, seed)
        third = ask(3, turned, few, seed)
        there(fn, salt, True)
        try:
            salted = ask(4, space, few, seed)
        finally:
            there(fn, salt, False)
        apart = [ask(5, space, [trial], its) for pair in far(seed) for trial, its in pair]
    except Exception as error:
        return failed(error, fn)
    far_ones = [one for each in apart for one in each]
    found = [first, again, third, other, {"random": alone}, salted, far_ones]
    return Observation(values=[found])


_PRODUCTS = (1000, 1024, 4096, 10_000, 65_536, 100_000)
_HASH = builtins.hash


def far(seed: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of (trial, seed), far apart, that are easily taken for one.

    The first pair are the same digits behind one another; then come those of a product of the
    seed, and of a product of the trial.
    """
    glued = ((10, seed), (0, 10 * seed + 1))
    of_seed = [((many, seed), (0, seed + 1)) for many in _PRODUCTS]
    of_trial = [((1, seed), (0, seed + many)) for many in (100, *_PRODUCTS)]
    return [glued, *of_seed, *of_trial]


def salt(other: bool) -> None:
    """Let `hash` give other numbers for what holds text, or the usual ones."""

    def salted(value: Any, /) -> int:
        return _HASH((1, value)) if _holds_text(value) else _HASH(value)

    builtins.hash = salted if other else _HASH


def _holds_text(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return any(map(_holds_text, value))
    return isinstance(value, str | bytes)


@inside
def decisions(fn: Function, case: Case) -> Observation:
    """Drive `fn(trials, least, most, factor)`, a search, with workers; `values[0]` is a list.

    A case's arguments: those four, workers, losses[trial][rung], order. All free workers ask for a
    job, the first worker first; then some report, by the next list in `order`, and all who are free
    ask again, and so on to the end. An item is `[reports, decided]`: the jobs that were reported
    and their losses, and what the free workers were told since, a job or None each. What is no
    job ends the list.
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
        while len(turns) < _CALLS:
            told: list[Any] = []
            turns.append([reports, told])
            for worker in range(workers):
                if worker not in busy:
                    job = search.next()
                    told.append(spelled(job))
                    if job is not None:
                        busy[worker] = job
                    if not _is_job(told[-1], losses):
                        return Observation(values=[turns])
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
    scalars = [
        isinstance(each, np.ndarray) and each.dtype.kind in "iu" and each.ndim == 0 for each in told
    ]
    return tuple(int(each) if whole else each for each, whole in zip(told, scalars, strict=True))


def _is_job(job: Any, losses: Sequence[Sequence[float]]) -> bool:
    """Whether it is None, or a job whose loss there is."""
    if job is None:
        return True
    if type(job) is not tuple or len(job) != 3 or [type(each) for each in job] != [int] * 3:
        return False
    trial, rung, _ = job
    return 0 <= trial < len(losses) and 0 <= rung < len(losses[trial])


class InTurn:
    """A search that gives its trials out one after the other, and each once more on the next rung
    when the losses of the rung before are there. It notes what it was told.

    It believes everything it is told, as searches do that know nothing of lost workers.
    """

    def __init__(self, trials: int) -> None:
        self.waiting = [Job(trial, 0, 1) for trial in range(trials)]
        self.trials = trials
        self.told: list[Any] = []
        self.losses: list[dict[int, float]] = [{}, {}]
        self.resources = [1, 3]
        self.given = 0

    def next(self) -> Job | None:
        """What a free worker is to do, or None."""
        if not self.waiting:
            return None
        self.given += 1
        return self.waiting.pop(0)

    def report(self, job: Job, loss: float) -> None:
        """A job's loss."""
        self.told.append([spelled(job), plain(loss)])
        first = [told for told, _ in self.told if told[1] == 0]
        if len(first) == self.trials and first[-1] == spelled(job):
            self.waiting += [Job(trial, 1, 3) for trial in range(0, self.trials, 2)]

    def done(self) -> bool:
        """Whether nothing waits and everything given was told of."""
        return not self.waiting and len(self.told) >= self.given


@inside
def ledger_turns(fn: Function, case: Case) -> Observation:
    """Drive `fn(search)` around an `InTurn`, with workers that come and go; `values[0]` is a list.

    A case's arguments: trials, script. The script's steps: ("next", w): worker w asks, ("report",
    w, n, loss): it reports the n-th job that it had, ("gone", w, n): this is given up; ("stray", w,
    "report", loss) and ("stray", w, "gone") are of a job that nobody was given. A step of an n-th
    job that it never had is left out. An item of the list is `[step, job, answer, told, done]`:
    the step's job, what came of it, "refused" for a ValueError,
    "wordless" for one without text; what the search inside has been
    told so far; and what `done()` says.
    """
    trouble = wrong_signature(fn, 1)
    if trouble:
        return trouble
    trials, script = case.args[0]
    search, turns = InTurn(trials), []
    had: dict[int, list[Any]] = {}
    try:
        ledger = fn(search)
        for kind, worker, *more in script:
            jobs = had.setdefault(worker, [])
            if kind == "next":
                job = answer = ledger.next()
                if job is not None:
                    jobs.append(job)
            elif kind == "stray":
                job, loss = Job(trials + 1, 0, 1), more[1:]
                answer = _asked(ledger.report if loss else ledger.give_up, job, loss)
            elif not -len(jobs) <= more[0] < len(jobs):
                continue
            else:
                job = jobs[more[0]]
                answer = _asked(ledger.give_up if kind == "gone" else ledger.report, job, more[1:])
            step = [kind, worker, *more]
            done = plain(ledger.done())
            turns.append([step, spelled(job), spelled(answer), list(search.told), done])
            if job is not None and type(spelled(job)) is not tuple:
                break
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[turns])


def _asked(call: Any, job: Any, loss: Sequence[float]) -> Any:
    try:
        call(job, *loss)
    except ValueError as error:
        return "refused" if str(error).strip() else "wordless"
    return None


def call_kept(fn: Function, case: Case) -> Observation:
    """As `call_with_tensors`, with a look at lists inside lists too."""
    if isinstance(fn, Remote):
        return call_with_tensors(fn, case)
    given: list[tuple[Any, Any]] = []

    @wraps(fn)
    def noting(*args: Any) -> Any:
        given.extend((arg, deepcopy(arg)) for arg in args if isinstance(arg, list))
        return fn(*args)

    seen = call_with_tensors(noting, case)
    if not seen.trouble and any(arg != was for arg, was in given):
        value = seen.values[0]
        its = type(value) is dict and CHANGED in value
        seen.values = [value if its else {CHANGED: 0, "returned": value}]
    return seen


def call_rung(fn: Function, case: Case) -> Observation:
    """As `call_kept`, of a dictionary, which is looked at in another process too, and a number."""
    if not isinstance(fn, Remote):
        return call_kept(fn, case)
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    losses, factor = case.args[0]
    try:
        held = made(fn, dict, list(losses.items()))
        value = plain(fn(held, factor))
        alike = there(fn, items_of, held) == items_of(losses)
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[value if alike else {CHANGED: 0, "returned": value}])


def items_of(losses: Mapping[int, float]) -> list[list[str]]:
    """Keys and values as texts, of which NaN is one like any other."""
    return sorted([repr(key), repr(value)] for key, value in losses.items())
