"""Exercise 16.3, what a free worker does next, decided at once.

The claim, decision by decision: the topmost rung first; there the best trial that is among the
⌊n/η⌋ best of what is known now and was not promoted yet; else the next new trial; else nothing.
Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from helpers.algorithms.search.asha import Asha as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, listing, short
from helpers.exercises.drives_search import decisions
from helpers.exercises.lesson_16 import asha_wrong as wrong
from helpers.exercises.lesson_16.asha_reason import why
from helpers.exercises.lesson_16.promoted import reference as ranked
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

Turn = list[Any]


def cases(seed: int) -> list[Case]:
    """3 workers first, then 1, 2 and 5; losses that change from rung to rung, some no number."""
    random = rng(seed, "16.3")
    made = []
    for trials, least, most, factor, workers in (
        (13, 2, 9, 2, 3),
        (8, 1, 4, 2, 1),
        (14, 3, 30, 3, 2),
        (17, 1, 9, 2, 5),
        (2, 5, 40, 3, 3),
    ):
        trials += int(random.integers(0, 6)) if seed and trials > 2 else 0
        rungs = 1 + int(math.log(most / least) / math.log(factor) + 1e-9)
        quality = random.random(trials)
        losses = [
            [round(float(1 + q - rung / 4 + 0.5 * random.normal()), 2) for rung in range(rungs)]
            for q in quality
        ]
        for trial in range(3, trials, 7):
            losses[trial] = [math.nan] * rungs
        many = [int(n) for n in random.choice([1, (workers + 1) // 2, workers], 4 * trials)]
        order = [random.integers(0, 1000, n).tolist() for n in many]
        given = (trials, least, most, factor)
        name = f"With {count(trials, 'trial')}, {count(workers, 'worker')} and η = {factor}"
        args = (*given, workers, losses, order)
        want = decisions(reference, Case(name, (args,))).values[0]
        facts = {"want": want, "ranks": _ranks(want, rungs)}
        made.append(Case(name, (args,), facts=facts))
    return made


def _ranks(turns: Sequence[Turn], rungs: int) -> list[list[list[int]]]:
    """For each turn and rung the trials whose loss is known then, the best first."""
    known: list[dict[int, float]] = [{} for _ in range(rungs)]
    found = []
    for reports, _ in turns:
        for (trial, rung, _), loss in reports:
            known[rung][trial] = loss
        found.append([ranked(losses, 1) for losses in known])
    return found


def _apart(case: Case, seen: Observation) -> tuple[int, Turn, Turn] | None:
    """The first turn that is not as it should be: its number, what was decided, and what should."""
    turns, wants = seen.values[0], case.facts["want"]
    for at, (got, want) in enumerate(zip(turns, wants, strict=False)):
        if got[1] != want[1] or [job for job, _ in got[0]] != [job for job, _ in want[0]]:
            return at, got, want
    if len(turns) != len(wants):
        at = min(len(turns), len(wants)) - 1
        return at, turns[at], wants[at]
    return None


def _decided(told: Sequence[Any]) -> str:
    """What the free workers were told, in words."""
    return " and ".join(_job(each) for each in told) or "nothing"


def _job(job: Any) -> str:
    if job is None:
        return "None"
    if type(job) is not tuple or len(job) != 3:
        return describe(job)
    trial, rung, resource = (describe(each) for each in job)
    return f"Job({trial}, {rung}, {resource})"


def _reported(case: Case, turn: Turn) -> str:
    """What came before a decision."""
    told = [f"trial {job[0]} reported {short(loss)} on rung {job[1]}" for job, loss in turn[0]]
    return f"after {listing(told)}" if told else "at the start"


def claim(case: Case, seen: Observation) -> str | None:
    """Every decision, in order."""
    found = _apart(case, seen)
    if found is None:
        return None
    at, got, want = found
    reason = why(case, at, got, want)
    return (
        f"{case.name}, {_reported(case, want)} you decide {_decided(got[1])}; it should be "
        f"{_decided(want[1])}{f': {reason}' if reason else ''}."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first wrong decision."""
    found = _apart(case, seen)
    _, got, want = found if found else (0, seen.values[0][0], case.facts["want"][0])
    first = next((a for a, b in zip(got[1], want[1], strict=False) if a != b), None)
    job = first if type(first) is tuple and len(first) == 3 else (0, 0, 0)
    trials, least, most, factor = case.args[0][:4]
    return {
        "when": _reported(case, want),
        "got": _decided(got[1]),
        "want": _decided(want[1]),
        **{"trial": job[0], "rung": job[1], "below": job[1] - 1, "factor": factor},
        **{"trials": trials, "last": trials - 1, "least": least, "most": most},
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    jobs = [job for turn in seen[0].values[0] for job in turn[1] if job is not None]
    up = sum(job[1] > 0 for job in jobs)
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {up} of {len(jobs)} jobs are "
        "promotions, and no worker waited while trials were left to begin."
    )


EXERCISE = Exercise(
    number="16.3",
    title="Nobody waits for a whole rung",
    stars=3,
    minutes=15,
    points=4,
    function="Asha",
    asks=(
        "`next` gives from the topmost rung down the best trial that is among the ⌊n/η⌋ best of "
        "what is known there now and was not promoted yet; else a new trial; else None."
    ),
    cases=cases,
    drive=decisions,
    claim=claim,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "waits for the rung",
            wrong.waits,
            "{when} you decide {got} instead of {want}: you promote only when the whole rung is "
            "known. Promote by what is known now.",
        ),
        WrongAnswer(
            "the bottom rung first",
            wrong.from_below,
            "{when} you decide {got} instead of {want}: you look at the lowest rung first. From "
            "the top down, trials that are nearly through go on first.",
        ),
        WrongAnswer(
            "promotes twice",
            wrong.twice,
            "{when} you promote trial {trial} from rung {below}, and it was promoted from there "
            "already. Note in `self.promoted`, at the rung that it leaves, who has gone on.",
        ),
        WrongAnswer(
            "takes the promoted ones out first",
            wrong.out_first,
            "{when} you decide {got} instead of {want}: you take the ⌊n/{factor}⌋ best of those "
            "that were not promoted, so that each promotion makes room for a worse trial. Find the "
            "best of all that are known first, and then who of them is left.",
        ),
        WrongAnswer(
            "the best one alone",
            wrong.best_alone,
            "{when} you decide {got} instead of {want}: you look at the best trial of the rung "
            "alone. Where that was promoted already, the next ones among the best 1/{factor} "
            "may still be waiting.",
        ),
        WrongAnswer(
            "the worst of the best",
            wrong.worst_of_best,
            "{when} you decide {got} instead of {want}: of those that may go on you take the worst "
            "first. The best one goes first.",
        ),
        WrongAnswer(
            "new trials first",
            wrong.begins_first,
            "{when} you decide {got} instead of {want}: you begin new trials as long as there are "
            "any. A promotion goes first; a new trial begins where nobody can be promoted.",
        ),
        WrongAnswer(
            "never begins another",
            wrong.begins_never,
            "{when} you decide {got} instead of {want}: where nobody can be promoted, a new trial "
            "begins, as long as there is one.",
        ),
        WrongAnswer(
            "one at least",
            wrong.one_at_least,
            "{when} you decide {got} instead of {want}: you promote the best of a rung though "
            "⌊n/{factor}⌋ of what is known there is 0.",
        ),
        WrongAnswer(
            "of all trials",
            wrong.of_all,
            "{when} you decide {got} instead of {want}: you count 1/{factor} of all {trials} "
            "trials. Only those count whose loss on this rung is known.",
        ),
        WrongAnswer(
            "one rung short",
            wrong.one_short,
            "{when} you decide {got} instead of {want}: trials go on from every rung but the last "
            "one, to the last one too.",
        ),
        WrongAnswer(
            "beyond the top",
            wrong.beyond,
            hint="from the last rung nobody goes on",
        ),
        WrongAnswer(
            "the old rung's steps",
            wrong.old_steps,
            "{when} you decide {got} instead of {want}: a job says up to how many steps the trial "
            "is trained on its new rung, `self.resources[rung + 1]`.",
        ),
        WrongAnswer(
            "the old rung",
            wrong.old_rung,
            "{when} you decide {got} instead of {want}: who goes on is trained on the next rung, "
            "`rung + 1`.",
        ),
        WrongAnswer(
            "one trial too many",
            wrong.too_many,
            hint="no more than",
        ),
        WrongAnswer(
            "begins the same again",
            wrong.same_again,
            "{when} you decide {got} instead of {want}: `self.begun` counts the trials that have "
            "begun. Raise it with each.",
        ),
        WrongAnswer(
            "counts trials from 1",
            wrong.from_one,
            "{when} you decide {got} instead of {want}: trials are numbered from 0, so that the "
            "last one of {trials} is {last}.",
        ),
    ),
    mistakes=wrong.FAMILIES,
    ranked=False,
    builds_on=("16.2",),
)
