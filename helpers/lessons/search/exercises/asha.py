"""Exercise 16.3, what a free worker does next, decided at once.

The claim, decision by decision: the topmost rung first; there the best trial that is among the
⌊n/η⌋ best of what is known now and was not promoted yet; else the next new trial; else nothing.
Where the class has `promoted` and `done`, who has left each rung stands there, and the end is seen.
The file is long because it tells the reason of every wrong decision. Source: Li et al., "A System
for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from helpers.checks.compare import count, describe, listing, short
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.search.algorithms.asha import Asha as reference
from helpers.lessons.search.algorithms.rungs import rungs
from helpers.lessons.search.exercises.promoted import reference as ranked
from helpers.lessons.search.exercises.turns import decisions

Turn = list[Any]


def cases(seed: int) -> list[Case]:
    """3 workers first, then 1, 2 and 5; losses that change from rung to rung, some no number, and
    once all but one."""
    random = rng(seed, "16.3")
    made = []
    for trials, least, most, factor, workers in (
        (13, 2, 9, 2, 3),
        (8, 1, 4, 2, 1),
        (14, 3, 30, 3, 2),
        (17, 1, 9, 2, 5),
        (2, 5, 40, 3, 3),
        (1, 2, 9, 3, 2),
        (6, 1, 4, 2, 2),
    ):
        trials += int(random.integers(0, 6)) if seed and trials > 2 else 0
        known: list[dict[int, float]] = [{} for _ in rungs(least, most, factor)]
        quality = random.random(trials)
        losses = [
            [round(float(1 + q - at / 4 + 0.5 * random.normal()), 2) for at in range(len(known))]
            for q in quality
        ]
        for trial in range(1, trials) if (factor, workers) == (2, 2) else range(3, trials, 7):
            losses[trial] = [math.nan] * len(known)
        many = [int(n) for n in random.choice([1, (workers + 1) // 2, workers], 4 * trials)]
        order = [random.integers(0, 1000, n).tolist() for n in many]
        name = f"With {count(trials, 'trial')}, {count(workers, 'worker')} and η = {factor}"
        args = (trials, least, most, factor, workers, losses, order)
        want = decisions(reference, Case(name, (args,))).values[0]
        # For each turn and rung the trials whose loss is known then, the best first.
        ranks = []
        for reports, *_ in want:
            for (trial, rung, _), loss in reports:
                known[rung][trial] = loss
            ranks.append([ranked(each, 1) for each in known])
        made.append(Case(name, (args,), facts={"want": want, "ranks": ranks}))
    return made


def _apart(case: Case, seen: Observation) -> tuple[int, int, Turn, Turn] | None:
    """The first decision that is not as it should be: the number of its turn, its place in that,
    the turn, and what that should be."""
    turns: Iterator[Any] = zip_longest(seen.values[0], case.facts["want"], fillvalue=[[], []])
    for at, (got, want) in enumerate(turns):
        for place, (one, other) in enumerate(zip_longest(got[1], want[1], fillvalue=())):
            if one != other:
                return at, place, got, want
    return None


def _decided(told: Sequence[Any]) -> str:
    """What the free workers were told, in words."""
    words = [
        f"Job({', '.join(map(describe, job))})"
        if type(job) is tuple and len(job) == 3
        else describe(job)
        for job in told
    ]
    return " and ".join(words) or "nothing"


def _reported(turn: Turn) -> str:
    """What came before a decision."""
    told = [f"trial {job[0]} reported {short(loss)} on rung {job[1]}" for job, loss in turn[0]]
    return f"after {listing(told)}" if told else "at the start"


def _reasons(case: Case, at: int, job: Any, place: int) -> Iterator[str]:
    """Why `job` is the wrong decision at a place of turn `at`. The first reason is the plainest,
    and those behind it may be none."""
    wants, (trials, least, _, factor) = case.facts["want"], case.args[0][:4]
    asked = wants[at][1][place]
    decided = [each for turn in wants[:at] for each in turn[1]] + wants[at][1][:place]
    before = [each for each in decided if each is not None]
    ranks: list[list[int]] = case.facts["ranks"][at]  # who is known on each rung, the best first
    if job is not None:
        if type(job) is not tuple or [type(each) for each in job] != [int] * 3:
            yield "`next` gives a `Job` of three whole numbers, or None"
        rung, steps = job[1], least * factor ** job[1]
        if not 0 <= rung < len(ranks):
            yield f"the rungs are 0 to {len(ranks) - 1}"
        if job[2] != steps:
            yield f"on rung {rung} trials are trained up to {steps} steps, `self.resources[{rung}]`"
    if job is None or job[1] == 0:
        begun = sum(each[1] == 0 for each in before)
        if asked is None:
            yield f"all {trials} trials have begun"
        elif asked[1] > 0:
            trial, rung = asked[0], asked[1] - 1
            n = len(ranks[rung])
            yield (
                f"trial {trial} is number {ranks[rung].index(trial) + 1} of the {n} known on rung "
                f"{rung}, so it is among the ⌊{n}/{factor}⌋ = {n // factor} best, and it has not "
                "left this rung yet"
            )
        elif job is None:
            yield f"nobody can go on, and only {begun} of {trials} trials have begun"
        yield f"{begun} trials have begun, so the next new one is trial {begun}"
    trial, rung = job[0], job[1] - 1
    if any(each[:2] == job[:2] for each in before):
        yield f"trial {trial} left rung {rung} before"
    if trial not in ranks[rung]:
        yield f"no loss of trial {trial} is known on rung {rung}"
    n, rank = len(ranks[rung]), ranks[rung].index(trial) + 1
    if rank > n // factor:
        yield (
            f"trial {trial} is number {rank} of the {n} known on rung {rung}, and only the "
            f"⌊{n}/{factor}⌋ = {n // factor} best go on"
        )
    if asked is not None and asked[1] > job[1]:
        yield f"trial {asked[0]} can leave rung {asked[1] - 1}, which is higher, so it goes first"
    if asked is not None and asked[1] == job[1]:
        yield f"trial {asked[0]} can leave rung {rung} as well and is the better one"


def claim(case: Case, seen: Observation) -> str | None:
    """Every decision, in order."""
    found = _apart(case, seen)
    if found is None:
        return _kept_wrong(case, seen)
    at, place, got, want = found
    reason = next(_reasons(case, at, got[1][place], place), "")
    return (
        f"{_reported(want)} you decide {_decided(got[1])}; it should be {_decided(want[1])}"
        f"{f': {reason}' if reason else ''}."
    )


def _kept_wrong(case: Case, seen: Observation) -> str | None:
    """What the search keeps that is not so, of one that decides rightly."""
    for got, want in zip(seen.values[0], case.facts["want"], strict=True):
        (left, done), (should, over) = got[2], want[2]
        if left not in (None, should):
            return (
                f"{_reported(want)} you decide rightly, and `self.promoted` holds {left}; it "
                f"should be {should}: of each rung the trials that have gone on from it."
            )
        if done not in (None, over):
            return (
                f"{_reported(want)} you decide rightly, and `done()` is {done}; it should be "
                f"{over}. It goes by `self.begun` and `self.promoted`."
            )
    return None


def compared(case: Case, seen: Observation) -> Any:
    """The decisions; of one that decides rightly, what it keeps."""
    if _apart(case, seen) is None:
        return [turn[2] for turn in seen.values[0]]
    return [turn[:2] for turn in seen.values[0]]


def _no_such_trial(case: Case, seen: Observation) -> str | None:
    """A trial too many, with which the list ends, as there is no loss of it."""
    trials, job = case.args[0][0], seen.values[0][-1][1][-1]
    if job is None or job[0] < trials:
        return None
    return (
        f"trial {job[0]} begins: they are numbered from 0, and no more than {trials} begin. Then "
        "`next` gives None."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first wrong decision."""
    found = _apart(case, seen) if seen.values else None
    if found is None:
        return {}
    _, place, got, want = found
    job = got[1][place] or (0, 0, 0)
    trials, _, _, factor = case.args[0][:4]
    when = _reported(want)
    decided = f"{when} you decide {_decided(got[1])} instead of {_decided(want[1])}"
    many = {"factor": factor, "trials": trials, "last": trials - 1}
    return {"when": when, "decided": decided, "trial": job[0], "below": job[1] - 1, **many}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    jobs = [job for turn in seen[0].values[0] for job in turn[1] if job is not None]
    up = sum(job[1] > 0 for job in jobs)
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {up} of {len(jobs)} jobs are "
        "promotions, and no worker waited while trials were left to begin."
    )


class Plain:
    """The exercise's own, for patches: jobs are the tuples that they stand as."""

    def __init__(self, trials: int, least: int, most: int, factor: int = 3) -> None:
        self.trials, self.factor, self.resources = trials, factor, rungs(least, most, factor)
        self.losses: list[dict[int, float]] = [{} for _ in self.resources]
        self.promoted: list[set[int]] = [set() for _ in self.resources]
        self.begun = 0

    def report(self, job: tuple[int, int, int], loss: float) -> None:
        self.losses[job[1]][job[0]] = loss

    def done(self) -> bool:
        given = self.begun + sum(map(len, self.promoted))
        return given == sum(map(len, self.losses)) and copy.deepcopy(self).next() is None

    def next(self) -> tuple[int, int, int] | None:
        return self.promotion() or self.beginning()

    def promotion(self) -> tuple[int, int, int] | None:
        for rung in reversed(range(len(self.resources) - 1)):
            for trial in self.best(rung):
                if trial not in self.promoted[rung]:
                    self.promoted[rung].add(trial)
                    return trial, rung + 1, self.resources[rung + 1]
        return None

    def best(self, rung: int) -> list[int]:
        return ranked(self.losses[rung], self.factor)

    def beginning(self) -> tuple[int, int, int] | None:
        if self.begun == self.trials:
            return None
        self.begun += 1
        return self.begun - 1, 0, self.resources[0]


WRONG = """
waits for the rung
    | return ranked(self.losses[rung], self.factor) => known = self.losses[rung];
        whole = len(known) == self.trials // self.factor**rung;
        return ranked(known, self.factor) if whole else []
    {decided}: you promote only when the whole rung is known. Promote by what is known now.
the bottom rung first
    | reversed(range(len(self.resources) - 1)) => range(len(self.resources) - 1)
    {decided}: you look at the lowest rung first. From the top down, trials that are nearly through
    go on first.
promotes twice
    | self.promoted[rung].add(trial) => pass
    {when} you promote trial {trial} from rung {below}, and it was promoted from there already. Note
    in `self.promoted`, at the rung that it leaves, who has gone on.
notes who goes on where it goes to
    | self.promoted[rung] *=> self.promoted[rung + 1]
    you note who goes on in `self.promoted[rung + 1]`, at the rung that it goes to. What stands
    there has gone on *from* that rung: it is `self.promoted[rung]`.
takes the promoted ones out first
    | return ranked(self.losses[rung], self.factor) => known = self.losses[rung];
        left = [trial for trial in ranked(known, 1) if trial not in self.promoted[rung]];
        return left[: len(known) // self.factor]
    {decided}: you take the ⌊n/{factor}⌋ best of those that were not promoted, so that each
    promotion makes room for a worse trial. Find the best of all that are known first, and then who
    of them is left.
the best one alone
    | self.best(rung) => self.best(rung)[:1]
    {decided}: you look at the best trial of the rung alone. Where that was promoted already, the
    next ones among the best 1/{factor} may still be waiting.
the worst of the best
    | self.best(rung) => self.best(rung)[::-1]
    {decided}: of those that may go on you take the worst first. The best one goes first.
new trials first
    | self.promotion() or self.beginning() => self.beginning() or self.promotion()
    {decided}: you begin new trials as long as there are any. A promotion goes first; a new trial
    begins where nobody can be promoted.
never begins another
    | or self.beginning() => or (None if self.losses[0] else self.beginning())
    {decided}: where nobody can be promoted, a new trial begins, as long as there is one.
one at least
    | ranked(self.losses[rung], self.factor)
        => ranked(self.losses[rung], 1)[: max(1, len(self.losses[rung]) // self.factor)]
    {decided}: you promote the best of a rung though ⌊n/{factor}⌋ of what is known there is 0.
of all trials
    | ranked(self.losses[rung], self.factor)
        => ranked(self.losses[rung], 1)[: self.trials // self.factor ** (rung + 1)]
    {decided}: you count 1/{factor} of all {trials} trials. Only those count whose loss on this rung
    is known.
one rung short
    | len(self.resources) - 1 => len(self.resources) - 2
    {decided}: trials go on from every rung but the last one, to the last one too.
beyond the top
    | len(self.resources) - 1 => len(self.resources)
    `list index out of range`: from the last rung nobody goes on, so look at the rungs below it
    alone, `range(len(self.resources) - 1)`.
the old rung's steps
    | self.resources[rung + 1] => self.resources[rung]
    {decided}: a job says up to how many steps the trial is trained on its new rung,
    `self.resources[rung + 1]`.
the old rung
    | trial, rung + 1 => trial, rung
    {decided}: who goes on is trained on the next rung, `rung + 1`.
one trial too many
    | == self.trials => == self.trials + 1
    ? no more than
begins the same again
    | self.begun += 1 => self.begun = 1
    {decided}: `self.begun` counts the trials that have begun. Raise it with each.
counts trials from 1
    | self.begun - 1 => self.begun
    {decided}: trials are numbered from 0, so that the last one of {trials} is {last}.
"""

EXERCISE = Exercise(
    number="16.3",
    title="Nobody waits for a whole rung",
    size=Size(stars=3, minutes=15, points=4),
    function="Asha",
    asks=(
        "`next` gives from the topmost rung down the best trial that is among the ⌊n/η⌋ best of "
        "what is known there now and was not promoted yet; else a new trial; else None."
    ),
    cases=cases,
    drive=decisions,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("16.3", WRONG, Plain),
    mistakes=(Mistake("one trial too many", _no_such_trial),),
    ranked=False,
    builds_on=("16.2",),
)
