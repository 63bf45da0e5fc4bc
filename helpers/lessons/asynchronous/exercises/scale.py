"""Exercise 06.4, late gradients scaled so that rate times staleness keeps within a limit.

`class ScaleByStaleness(Cure)` with `arrive`: a gradient that is τ updates late is handed on at
min(1, limit/τ) of its size. Source for limit 1: Zhang et al. (2015), section 3.2.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.checks.common import WORLDS, fails_with
from helpers.checks.compare import short
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.asynchronous.algorithms.stale_cures import ScaleByStaleness as reference
from helpers.lessons.asynchronous.exercises import turns
from helpers.lessons.asynchronous.exercises.cures import COMMON, PARTS, around_others, handing_turns


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers, some fresh, some within the limit and some beyond; else
    others. Two workers have no limit given: it is 1."""
    random, made = rng(seed, "06.4"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        limit = {1: 1, 2: 1, 3: 2}.get(workers, 3)
        wanted = {0, limit, limit + 2} if workers > 1 else {0}
        order = turns.arrivals(random, seed, workers, 2 * workers + 6, wanted)
        words = " and no limit given" if workers == 2 else f" and a limit of {limit}"
        extra = () if workers == 2 else (limit,)
        made.append(turns.case(words, handing_turns, random, order, workers, extra, reference))
    return made + around_others(handing_turns, random, (1,), reference, "and a limit of 1")


def _limit(case: Case) -> int:
    return int((*case.args[0][2], 1)[0])


def claim(case: Case, seen: Observation) -> str | None:
    """min(1, limit/τ) of the gradient handed on, and the decision of the rule inside returned."""
    return turns.fault(case, seen)


def _another_part(case: Case, seen: Observation) -> str | None:
    number, got, want = turns.first_difference(case, seen)
    if got is None or want is None or case.options:
        return None
    if not turns.same({**got, "weights": want["weights"]}, want):
        return None
    before = [0 * want["weights"], *(turn["weights"] for turn in case.facts["want"])]
    late, limit = turns.late(case.facts["want"])[number - 1], _limit(case)
    with np.errstate(all="ignore"):
        moved = (got["weights"] - before[number - 1]) / (want["weights"] - before[number - 1])
    if not np.allclose(moved, moved[0], 1e-6) or abs(moved[0] - 1) < 1e-5:
        return None
    part = moved[0] * limit / max(late, limit)
    where = f"worker {want['worker']}’s gradient at turn {number} is {turns.updates(late)} late"
    if late <= limit:
        return f"{where}, and you hand on {short(part)} of it: up to the limit it is all."
    return (
        f"{where}, and you hand on {short(part)} of it, which times τ is {short(part * late)}: "
        f"find the part for which that is {limit}: limit/τ, which is {limit}/{late} here."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the turn, and the limit."""
    return {**turns.numbers(case, seen), "limit": _limit(case)}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    late, limit = turns.late(seen[0].values[0]), _limit(cases[0])
    parts = ", ".join("1" if each <= limit else f"{limit}/{each}" for each in late)
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, the gradients were "
        f"{', '.join(map(str, late))} updates late, and so much of each was handed on: {parts}."
    )


_no_division = fails_with(
    "",
    "a gradient is 0 updates late and you divide by 0: what is no later than the limit "
    "is handed on as it is.",
    kind="ZeroDivisionError",
)


WRONG = """
the limit is not used
    | staleness / self.limit => staleness
    worker {worker}’s gradient at turn {turn} is {late} late, and you divide by that whatever the
    limit is: then rate times staleness is the rate times 1, and it may be {limit} times that.
falls at once
    | max(staleness / self.limit, 1) => (staleness if staleness > self.limit else 1)
    worker {worker}’s gradient at turn {turn} is {late} late and you divide by that, though one that
    is {limit} late counts whole: rate times staleness may stay at the rate times {limit}.
divides by what is over
    | staleness / self.limit => staleness - self.limit
    ? find the part
divides by zero
    | max(staleness / self.limit, 1) => (staleness / self.limit)
    worker {worker}’s gradient at turn {turn} is {late} late, and you divide by a number below 1, or
    by 0, which makes it larger or infinite: no part is above 1.
divides by the version
    | staleness / self.limit => version / self.limit
    you take the gradient’s version for τ, so that all gradients shrink as training goes on:
    `self.push(worker, version).staleness` is τ.
not scaled
    | / max(staleness / self.limit, 1) =>
    worker {worker}’s gradient at turn {turn} is {late} late and counts whole. `gradient * part` is
    a new tensor: hand on that.
scales in place
    | gradient / max( => gradient.div_(max(
    | limit, 1) => limit, 1))
    at turn {turn} the cure around yours finds another gradient than it handed on: you wrote into it
    (`/=`, `*=`, or a method with `_`). Make a new one.
the decision is lost
    | return self.rule => self.rule
    | 1), version) => 1), version); return Decision(release=(worker,))
    the update at turn {turn} is in nobody’s books: return what `self.rule.arrive(...)` decides
    instead of a decision of your own.
1 / τ
    | / max(staleness / self.limit, 1) => * min(self.limit / staleness, 1)
    ? what is no later than the
"""

EXERCISE = Exercise(
    number="06.4",
    title="Scale by staleness",
    size=Size(stars=2, minutes=12, points=3),
    function="ScaleByStaleness",
    asks=(
        "of a gradient that is τ updates late as much is handed on as keeps rate times staleness "
        "at the rate times `limit`, and never more than all; with its own version."
    ),
    cases=cases,
    drive=handing_turns,
    claim=claim,
    mistakes=(
        *turns.KINDS,
        Mistake("divides by zero, and Python says so", _no_division, unfinished=True),
        Mistake("another part", _another_part),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("06.4", WRONG + COMMON, (reference, *PARTS)),
    ranked=False,
)
