"""Exercise 07.2, how many of the workers should be spare.

`choose_spares(times, iterations) -> (b, hours)`: times has a row a step and a column a worker;
iterations[N] says how many updates training takes when N gradients make one. The claim: the b and
the hours of the N with the least hours, where hours are iterations times the mean time to the N-th
gradient of all workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, listing, number, short
from helpers.exercises.drives import plain_call
from helpers.exercises.lesson_07 import choose_wrong as wrong
from helpers.exercises.lesson_07.kth import step_times
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-5


def cases(seed: int) -> list[Case]:
    """Seed 0: 12 workers of which 2 are often late, then 1, 2, 3 and 5; else other workers."""
    random = rng(seed, "07.2")
    made = [_case(random, 12, 2, 4, 0.05), _case(random, 1, 0, 1, 0.3)]
    made.append(_case(random, 7, None, 1, 0.6, every=3))
    for workers in (2, 3, 5):
        rest = float(random.uniform(0.2, 2.0))
        made.append(_case(random, workers, None, 1, rest, known=min(workers, 4)))
    if seed:
        made = []
        for workers in (12, 1, 2, 3, 5, 20):
            spares = int(random.integers(1, workers // 4 + 1)) if workers > 9 else None
            low = max(workers // 3, 1)
            made.append(_case(random, workers, spares, low, 0.05, known=min(workers, 19)))
        made += [_case(random, workers, None, 1, 0.6, every=2) for workers in (8, 13)]
    return made


def _case(
    random: np.random.Generator,
    workers: int,
    spares: int | None,
    low: int,
    rest: float,
    known: int | None = None,
    every: int = 1,
) -> Case:
    """One case. spares: how many are to be the best choice, where that is asked for.

    known: the largest N of which the updates are known; all workers unless told. every: how far
    apart these N are; where that is more than 1, the largest stands first.
    """
    times = step_times(random, 40, workers, late=0.01)
    if spares is not None:  # as many machines that are often late
        late = random.random((40, spares)) < 0.8
        times[:, workers - spares :] += np.round(3.0 * late, 3)
    iterations = {
        n: int(60_000 * (rest + workers / n) / (rest + 1))
        for n in range(low, (known or workers) + 1)[:: -every if every > 1 else 1]
    }
    ways = hours_by_way(times, iterations)
    return Case(
        f"With {count(workers, 'worker')} and "
        + (f"N in {listing(iterations)}" if every > 1 else f"N from {low}")
        + (f" to {max(iterations)}" if max(iterations) < workers else ""),
        ((times, iterations),),
        facts={"ways": ways, "workers": workers},
    )


def hours_by_way(times: np.ndarray, iterations: dict[int, int]) -> dict[str, dict[int, float]]:
    """Hours by N: as asked for, and as answers with one thing wrong would have them."""
    ranked, last = np.sort(times, axis=1), times.shape[1]
    ways = {
        "right": {n: ranked[:, n - 1].mean() for n in iterations},
        "waits for all": {n: ranked[:, last - 1].mean() for n in iterations},
        "no spares": {n: times[:, :n].max(axis=1).mean() for n in iterations},
        "one late": {n: ranked[:, min(n, last - 1)].mean() for n in iterations},
    }
    return {
        name: {n: float(iterations[n] * seconds / 3600) for n, seconds in way.items()}
        for name, way in ways.items()
    }


def _best(way: dict[int, float]) -> int:
    return min(way, key=lambda n: way[n])


def _answer(seen: Observation) -> tuple[float, float]:
    """What was returned, as two numbers; raises where it is something else."""
    spares, hours = seen.values[0]
    got = number(spares), number(hours)
    if got[0] is None or got[1] is None:
        raise TypeError
    return got[0], got[1]


def _close(got: float, want: float) -> bool:
    return abs(got - want) <= _TOLERANCE * abs(want)


def claim(case: Case, seen: Observation) -> str | None:
    """The best number of spares and its hours."""
    right = case.facts["ways"]["right"]
    best = _best(right)
    want = case.facts["workers"] - best
    spares, hours = _answer(seen)
    if spares != want:
        return (
            f"{case.name}, you spare {short(spares)} and need {short(hours)} h; sparing {want}, "
            f"training takes {right[best]:.3g} h."
        )
    if not _close(hours, right[best]):
        return f"{case.name}, b = {want} is right, but it takes {right[best]:.4g} h."
    return None


def _gives_n(case: Case, seen: Observation) -> str | None:
    right = case.facts["ways"]["right"]
    (got, hours), best = _answer(seen), _best(right)
    if got != best or not _close(hours, right[best]) or case.facts["workers"] == 2 * best:
        return None
    return (
        f"{case.name}, you gave N = {best}, how many gradients make an update. The spares are the "
        f"other workers: b = {case.facts['workers'] - best}."
    )


def _other_way_round(case: Case, seen: Observation) -> str | None:
    right, (first, second) = case.facts["ways"]["right"], _answer(seen)
    best = _best(right)
    if not _close(first, right[best]) or second != case.facts["workers"] - best:
        return None
    return f"{case.name}, both numbers are right, the other way round: b first, then the hours."


def _counts_others(case: Case, seen: Observation) -> str | None:
    right, times = case.facts["ways"]["right"], case.args[0][0]
    (got, hours), best, workers = _answer(seen), _best(right), case.facts["workers"]
    counted = {
        len(right): "the number of entries in `iterations`",
        max(right): "the largest N in `iterations`",
        len(times): "the number of steps, the rows of `times`",
    }
    what = counted.get(int(got) + best)
    if what is None or got == workers - best or not _close(hours, right[best]):
        return None
    return (
        f"{case.name}, your b = {short(got)} is what N = {best} leaves of {what}. The workers are "
        f"the columns of `times`, {workers}: b = {workers - best}."
    )


def _unknown_n(case: Case, seen: Observation) -> str | None:
    if seen.kind != "KeyError":
        return None
    known = case.args[0][1]
    gaps = len(known) <= max(known) - min(known)
    has = listing(known) if gaps else f"{min(known)} to {max(known)}"
    return (
        f"{case.name}, `iterations` has no entry {seen.text}, only {has}. "
        "Go through those that it has: `for n in iterations`."
    )


def _not_hours(case: Case, seen: Observation) -> str | None:
    right = case.facts["ways"]["right"]
    hours, want = _answer(seen)[1], right[_best(right)]
    for factor, unit in ((3600, "seconds"), (60, "minutes")):
        if _close(hours, want * factor):
            return f"{case.name}, {short(hours)} are {unit}: an hour has 3600 s."
    return None


def _hours_alone(case: Case, seen: Observation) -> str | None:
    value = seen.values[0]
    if type(value) in (list, tuple) and len(value) == 2:
        return None
    return (
        f"{case.name}, your function gave {describe(value)}; return two numbers, b and the hours."
    )


def _by_way(way: str, words: str) -> Callable[[Case, Observation], str | None]:
    """A recogniser for answers with the hours of another way, and what to say to them."""

    def look(case: Case, seen: Observation) -> str | None:
        spares, hours = _answer(seen)
        other, workers = case.facts["ways"][way], case.facts["workers"]
        best = _best(other)
        if spares not in (workers - best, best) or not _close(hours, other[best]):
            return None
        return f"{case.name}, you spare {short(spares)} and need {short(hours)} h: {words}"

    return look


def _chosen_by(choose: Callable[[Case], int], words: str) -> Callable[..., str | None]:
    """A recogniser for answers that take the right hours of another N."""

    def look(case: Case, seen: Observation) -> str | None:
        spares, hours = _answer(seen)
        n = choose(case)
        right = case.facts["ways"]["right"]
        if spares != case.facts["workers"] - n or not _close(hours, right[n]):
            return None
        return f"{case.name}, you spare {short(spares)} and need {short(hours)} h: {words}"

    return look


def _shortest_step(case: Case) -> int:
    return min(case.facts["ways"]["right"])


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    right = cases[0].facts["ways"]["right"]
    best = _best(right)
    return (
        f"Passed: {best} + {cases[0].facts['workers'] - best} workers need {right[best]:.1f} h, "
        f"waiting for all {max(right)} would take {right[max(right)]:.1f} h."
    )


EXERCISE = Exercise(
    number="07.2",
    title="Choose b",
    stars=2,
    minutes=12,
    points=3,
    function="choose_spares",
    asks=(
        "the number of spare workers b and the hours of the N with the least hours: iterations[N] "
        "times the mean time to the N-th gradient, in hours."
    ),
    cases=cases,
    drive=plain_call,
    builds_on=("07.1",),
    claim=claim,
    mistakes=(
        Mistake("not two numbers", _hours_alone),
        Mistake("an N that is not known", _unknown_n, unfinished=True),
        Mistake("the other way round", _other_way_round),
        Mistake("not in hours", _not_hours),
        Mistake("N instead of b", _gives_n),
        Mistake("counts something else than workers", _counts_others),
        Mistake(
            "waits for all",
            _by_way(
                "waits for all",
                "that is the N with the fewest updates, which wins only if every step waited for "
                "the last gradient. With N of N + b a step is over when gradient N is there.",
            ),
        ),
        Mistake(
            "workers taken away",
            _by_way(
                "no spares",
                "that takes workers away instead of sparing them: N workers, and each step waits "
                "for all of these. With spares all workers run, and the first N to come count.",
            ),
        ),
        Mistake(
            "the next gradient",
            _by_way("one late", "that waits for gradient N + 1; the step is over with the N-th."),
        ),
        Mistake(
            "steps alone",
            _chosen_by(
                _shortest_step,
                "that N has the shortest step, but it needs the most of them. Compare the product.",
            ),
        ),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("N instead of b", wrong.gives_n, hint="you gave N = 10"),
        WrongAnswer("hours first", wrong.hours_first, hint="the other way round"),
        WrongAnswer("counts from the largest N", wrong.from_the_largest, hint="of the largest N"),
        WrongAnswer("counts entries", wrong.from_the_entries, hint="of the number of entries"),
        WrongAnswer("counts steps", wrong.from_the_steps, hint="of the number of steps"),
        WrongAnswer("every N from 1", wrong.every_n, hint="only 4 to 12"),
        WrongAnswer("every N between", wrong.every_n_between, hint="only 7, 4 and 1"),
        WrongAnswer("waits for all", wrong.waits_for_all, hint="waited for the last gradient"),
        WrongAnswer("no spares", wrong.no_spares, hint="takes workers away"),
        WrongAnswer("shortest step", wrong.shortest_step, hint="has the shortest step"),
        WrongAnswer("in seconds", wrong.in_seconds, hint="an hour has 3600 s"),
        WrongAnswer("one late", wrong.one_late, hint="waits for gradient N + 1"),
    ),
    ranked=False,
)
