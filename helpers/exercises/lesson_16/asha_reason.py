"""Why a decision of ASHA's is wrong (16.3), said of the first wrong one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.spec import Case

Turn = list[Any]


def why(case: Case, at: int, got: Turn, want: Turn) -> str:
    """A reason for the first wrong decision of turn `at`, "" where there is none to be told.

    The case's facts say what was to be decided in each turn, "want", and for each turn and rung
    the trials known there, the best first, "ranks".
    """
    pairs = zip(got[1], want[1], strict=False)
    place = next((i for i, (one, two) in enumerate(pairs) if one != two), None)
    if place is None:
        return ""
    job, asked = got[1][place], want[1][place]
    trials, least, _, factor = case.args[0][:4]
    turns = case.facts["want"][:at]
    before = [each for turn in turns for each in turn[1] if each is not None]
    before += [each for each in want[1][:place] if each is not None]
    ranks: list[list[int]] = case.facts["ranks"][at]
    if job is not None:
        odd = _no_job(job, len(ranks), least, factor)
        if odd:
            return odd
    if job is None or job[1] == 0:
        return _passed_over(job, asked, before, ranks, trials, factor)
    return _promoted(job, asked, before, ranks, factor)


def _no_job(job: Any, rungs: int, least: int, factor: int) -> str:
    """What is wrong with a job by itself: its rung, or its steps."""
    if type(job) is not tuple or [type(each) for each in job] != [int] * 3:
        return "`next` gives a `Job` of three whole numbers, or None"
    if not 0 <= job[1] < rungs:
        return f"the rungs are 0 to {rungs - 1}"
    steps = least * factor ** job[1]
    if job[2] != steps:
        return (
            f"on rung {job[1]} trials are trained up to {steps} steps, `self.resources[{job[1]}]`"
        )
    return ""


def _passed_over(
    job: Any,
    asked: Any,
    before: Sequence[Any],
    ranks: Sequence[Sequence[int]],
    trials: int,
    factor: int,
) -> str:
    """None, or a new trial, where something else was to be decided."""
    begun = sum(each[1] == 0 for each in before)
    if asked is None:
        return f"all {trials} trials have begun"
    if asked[1] > 0:
        trial, rung = asked[0], asked[1] - 1
        n = len(ranks[rung])
        return (
            f"trial {trial} is number {ranks[rung].index(trial) + 1} of the {n} known on rung "
            f"{rung}, so it is among the ⌊{n}/{factor}⌋ = {n // factor} best, and it has not left "
            "this rung yet"
        )
    if job is None:
        return f"nobody can go on, and only {begun} of {trials} trials have begun"
    return f"{begun} trials have begun, so the next new one is trial {begun}"


def _promoted(
    job: Any, asked: Any, before: Sequence[Any], ranks: Sequence[Sequence[int]], factor: int
) -> str:
    """A trial goes on that should not, or not now."""
    trial, rung = job[0], job[1] - 1
    if any(each[:2] == job[:2] for each in before):
        return f"trial {trial} left rung {rung} before"
    if trial not in ranks[rung]:
        return f"no loss of trial {trial} is known on rung {rung}"
    n, place = len(ranks[rung]), ranks[rung].index(trial) + 1
    if place > n // factor:
        return (
            f"trial {trial} is number {place} of the {n} known on rung {rung}, and only the "
            f"⌊{n}/{factor}⌋ = {n // factor} best go on"
        )
    if asked is not None and asked[1] > job[1]:
        return f"trial {asked[0]} can leave rung {asked[1] - 1}, which is higher, so it goes first"
    if asked is not None and asked[1] == job[1]:
        return f"trial {asked[0]} can leave rung {rung} as well and is the better one"
    return ""
