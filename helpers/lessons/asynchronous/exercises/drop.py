"""Exercise 06.3, dropping gradients that are too late.

`class DropStale(Cure)` with `arrive`: what is more than `limit` updates late is never used, and its
worker goes on; all else is handed on to the rule inside.
"""

from collections.abc import Sequence

from helpers.checks.common import WORLDS
from helpers.checks.compare import count
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.asynchronous.algorithms.stale_cures import DropStale as reference
from helpers.lessons.asynchronous.exercises import turns
from helpers.lessons.asynchronous.exercises.cures import COMMON, PARTS, around_others, handing_turns


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers, of which some come late; else other orders and limits.

    At last a limit of 0, which is a limit: what is late at all is dropped."""
    random, made = rng(seed, "06.3"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        limit = min(workers - 1, 2) if workers < 6 else int(random.integers(3, 6))
        wanted = {limit, limit + 1, limit + 2} if workers > 1 else {0}
        length = 4 * workers + (5 if seed else 7)
        order = turns.arrivals(random, seed, workers, length, wanted, limit)
        words = f" and a limit of {limit}"
        made.append(turns.case(words, handing_turns, random, order, workers, (limit,), reference))
    made += around_others(handing_turns, random, (1,), reference, "and a limit of 1")
    order = turns.arrivals(random, seed, 3, 12, {0, 1}, 0)
    words = " and a limit of 0"
    return [*made, turns.case(words, handing_turns, random, order, 3, (0,), reference)]


def claim(case: Case, seen: Observation) -> str | None:
    """What is later than the limit is dropped, its worker released; the rest handed on."""
    return turns.fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = seen[0].values[0]
    dropped = sum(len(turn["dropped"]) for turn in found)
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {dropped} of "
        f"{count(len(found), 'gradient')} were dropped, and everybody went on."
    )


WRONG = """
no return
    | return self.discard(worker, version) => self.discard(worker, version); return
    worker {worker}’s gradient at turn {turn} is to be dropped, and `arrive` returns None:
    `self.discard(worker, version)` gives a decision, which is what you return.
discards in vain
    | return self.discard => self.discard
    worker {worker}’s gradient at turn {turn} is {late} late, you call `self.discard` and go on to
    apply it: what `self.discard` gives is what you return.
the worker waits
    | self.discard(worker, version) => Decision(dropped=(self.push(worker, version),))
    you drop worker {worker}’s gradient at turn {turn} and release nobody: it waits for ever, and
    sooner or later everybody does. `self.discard(…)` drops and releases.
drops at the limit
    | > self.limit => >= self.limit
    worker {worker}’s gradient at turn {turn} is {late} late and you drop it: what is exactly at the
    limit still counts (>, not ≥).
not noted
    | self.discard(worker, version) => Decision(release=(worker,))
    worker {worker}’s gradient vanishes at turn {turn}: the decision has to name it in `dropped`, so
    that it can be counted. `self.discard(worker, version)` does.
drops the fresh ones
    | > self.limit => <= self.limit
    worker {worker}’s gradient at turn {turn} is only {late} late and you drop it; the comparison is
    the wrong way round.
version for staleness
    | self.push(worker, version).staleness => version
    you drop by the version of the gradient, which grows with the training: how late it is says
    `self.push(worker, version).staleness`.
applies what it drops
    | return self.discard(worker, version)
        => said = self.discard(worker, version); self.rule.arrive(worker, gradient, version); return
            said
    the gradient at turn {turn} is {late} late; your decision says that it is dropped, and the
    weights have moved all the same. Decide before you hand it on.
no limit at 0
    | if self.push => if self.limit and self.push
    worker {worker}’s gradient at turn {turn} is {late} late and you hand it on: a limit of 0 drops
    all that is late, it is not the absence of a limit.
drops nothing
    | return self.discard(worker, version) => pass
    worker {worker}’s gradient at turn {turn} is {late} late and is applied: nothing is ever
    dropped.
hands on zeros
    | return self.discard(worker, version) => gradient = 0 * gradient
    worker {worker}’s gradient at turn {turn} is {late} late and you hand on zeros: that is an
    update too, by which all others are later, and nothing is noted as dropped.
"""

EXERCISE = Exercise(
    number="06.3",
    title="Drop what is too late",
    size=Size(stars=1, minutes=8, points=2),
    function="DropStale",
    asks=(
        "a gradient that is more than `limit` updates late is dropped and its worker goes on; any "
        "other is handed on to `self.rule`."
    ),
    cases=cases,
    drive=handing_turns,
    claim=claim,
    mistakes=turns.KINDS,
    numbers=turns.numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("06.3", WRONG + COMMON, (reference, *PARTS)),
    ranked=False,
)
