"""Exercise 07.2, how many of the workers should be spare.

`choose_spares(times, iterations) -> (b, hours)`: times has a row a step and a column a worker;
iterations[N] says how many updates training takes when N gradients make one. The claim: the b and
the hours of the N with the least hours, where hours are iterations times the mean time to the N-th
gradient of all workers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.compare import count, describe, listing, number, short, told_apart
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.spare_replicas.exercises.kth import step_times


def cases(seed: int) -> list[Case]:
    """Seed 0: 12 workers of which 2 are often late, then 1, 2, 3 and 5; else other workers.

    The last ones' hours rise and fall. In the first of these the least are of N = 1, of few updates
    of which no N takes a whole number; then millions of hours; then two N are nearly as good.
    """
    random = rng(seed, "07.2")
    made = [_case(random, 12, low=3, rest=0.05, spares=2), _case(random, 1, rest=0.3)]
    made.append(_case(random, 7, every=3))
    for workers in (2, 3, 5):
        rest = float(random.uniform(0.2, 2.0))
        made.append(_case(random, workers, rest=rest, most=4))
    if seed:
        made = []
        for workers in (12, 1, 2, 3, 5, 20):
            spares = int(random.integers(1, workers // 4 + 1)) if workers > 9 else 0
            low = max(workers // 4, 1)
            made.append(_case(random, workers, low=low, rest=0.05, spares=spares))
        made += [_case(random, workers, every=2) for workers in (8, 13)]
    made.append(_case(random, 5, hours=(0.4, 0.9, 0, 0.5, 0.6)))
    made.append(_case(random, 3, hours=(8e6, 5e6, 6e6)))
    made.append(_case(random, 7, hours=(9, 6, 8, 5, 7, 5.004, 5.5)))
    return made


def _case(
    random: np.random.Generator,
    workers: int,
    low: int = 1,
    rest: float = 0.6,
    spares: int = 0,
    most: int = 19,
    every: int = 1,
    hours: Sequence[float] = (),
) -> Case:
    """One case. spares: how many are often late, so that as many are the best choice.

    low, most: of the N of which the updates are known. every: how far apart these are; where that
    is more than 1, the largest stands first. hours: of N from 1 on, where they are asked for; 0
    where N is not known.
    """
    times = step_times(random, 40, workers, late=0.01)
    times[:, workers - spares :] += np.round(3.0 * (random.random((40, spares)) < 0.8), 3)
    iterations: dict[int, float] = {
        n: int(60_000 * (rest + workers / n) / (rest + 1))
        for n in range(low, min(workers, most) + 1)[:: -every if every > 1 else 1]
    }
    seconds = np.sort(times, axis=1).mean(axis=0)
    if hours:
        iterations = {n: float(3600 * h / seconds[n - 1]) for n, h in enumerate(hours, 1) if h}
    gaps = every > 1 or 0 in hours
    known = f"N in {listing(iterations)}" if gaps else f"N from {low}"
    known += f" to {max(iterations)}" if max(iterations) < workers else ""
    return Case(
        f"With {count(workers, 'worker')} and {known}",
        ((times, iterations),),
        facts={"hours": {n: float(iterations[n] * seconds[n - 1] / 3600) for n in iterations}},
    )


def _best(case: Case) -> tuple[int, float, int]:
    """The N with the least hours, these, and the number of spares."""
    hours = case.facts["hours"]
    best = min(hours, key=lambda n: hours[n])
    return best, hours[best], case.args[0][0].shape[1] - best


def _answer(seen: Observation) -> tuple[float, float]:
    """What was returned, as two numbers; raises where it is something else."""
    spares, hours = map(number, seen.values[0])
    if spares is None or hours is None:
        raise TypeError
    return spares, hours


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The best number of spares and its hours."""
    yield from _changed(case, seen)
    (_, least, want), (spares, hours) = _best(case), _answer(seen)
    right_hours = abs(hours - least) <= 1e-5 * abs(least)
    if spares != want and right_hours:
        yield f"the {short(hours)} h are right, and belong to b = {want}, not {short(spares)}."
    if spares != want:
        yield (
            f"you spare {short(spares)} and need {short(hours)} h; sparing {want}, training takes "
            f"{short(least)} h."
        )
    if not right_hours:
        got, right = told_apart(hours, least)
        yield f"b = {want} is right, but it takes {right} h, not {got}."


def _changed(case: Case, seen: Observation) -> Iterator[str]:
    place = changed(seen.values[0])
    if place is not None:
        what = "`iterations`" if place else "`times`"
        yield f"{what} holds other numbers now: whoever called needs it still."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what was given, and what is right."""
    (spares, hours), (best, _, right) = map(short, _answer(seen)), _best(case)
    told = f"you spare {spares} and need {hours} h"
    found = {"spares": spares, "hours": hours, "told": told, "best": best, "right": right}
    return found | {"workers": best + right}


def _unknown_n(case: Case, seen: Observation) -> Iterator[str]:
    known = case.args[0][1]
    gaps = len(known) <= max(known) - min(known)
    has = listing(known) if gaps else f"{min(known)} to {max(known)}"
    if seen.kind == "KeyError":
        yield (
            f"`iterations` has no entry {seen.text}, only {has}. Go through those that it has: "
            "`for n in iterations`."
        )


def _not_two(case: Case, seen: Observation) -> Iterator[str]:
    value = seen.values[0]
    if type(value) not in (list, tuple) or len(value) != 2:
        yield f"your function gave {describe(value)}; return b and the hours."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    (best, least, spares), (most, hours) = _best(cases[0]), max(cases[0].facts["hours"].items())
    return (
        f"Passed: {best} + {spares} workers need {least:.1f} h, "
        f"waiting for all {most} would take {hours:.1f} h."
    )


def reference(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """The course's own."""
    hours = {}
    for n in iterations:
        seconds = float(times.sort(dim=1).values[:, n - 1].mean())
        hours[n] = iterations[n] * seconds / 3600
    best = min(hours, key=lambda n: hours[n])
    return times.shape[1] - best, hours[best]


WRONG = """
exchanged
    | times.shape[1] - best, hours[best] => hours[best], times.shape[1] - best
    both are right: b first, then the hours.
in seconds
    | / 3600 =>
    {hours} are seconds: divide by 3600.
in minutes
    | / 3600 => / 60
    {hours} are minutes: divide by 60.
N for b
    | times.shape[1] - best => best
    you gave N = {best}. The spares are the others: b = {right}.
counts the largest N
    | times.shape[1] => max(iterations)
    your b = {spares} is what N = {best} leaves of the largest N. The workers are the columns of
    `times`, {workers}: b = {right}.
counts the entries
    | times.shape[1] => len(iterations)
    your b = {spares} is what N = {best} leaves of the entries in `iterations`. The workers are the
    columns of `times`, {workers}: b = {right}.
counts the steps
    | times.shape[1] => times.shape[0]
    your b = {spares} is what N = {best} leaves of the steps, the rows of `times`. The workers are
    the columns of `times`, {workers}: b = {right}.
waits for all
    | sort(dim=1).values[:, n - 1] => max(dim=1).values
    {told}: that is the N with the fewest updates and the longest step. With N of N + b a step is
    over when gradient N is there: compare the hours, every N with its own.
workers taken away
    | times.sort(dim=1).values[:, n - 1] => times[:, :n].max(dim=1).values
    {told}: that takes workers away instead of sparing them: N workers, and each step waits for all
    of these. With spares all workers run, and the first N to come count.
the next gradient
    | n - 1 => min(n, len(times[0]) - 1)
    {told}: that waits for gradient N + 1.
divided by N
    | / 3600 => / 3600 / n
    {told}: an update has N gradients already.
the median
    | mean => median
    {told}: training waits for long steps too: the mean.
steps alone
    | in iterations: => in [min(iterations)]:
    {told}: that N has the shortest step and needs the most of them. The least product of the two
    is of another.
stops where the hours rise
    | min(hours, key=lambda n: hours[n])
        => next((n for n, after in zip(hours, [*hours][1:]) if hours[after] > hours[n]), n)
    {told}: up to there the hours fall, and farther on they are less. Measured hours rise and fall:
    the least of all N in `iterations` count.
stops where they rise, from above
    | in iterations: => in [*iterations][::-1]:
    | min(hours, key=lambda n: hours[n])
        => next((n for n, after in zip(hours, [*hours][1:]) if hours[after] > hours[n]), n)
    ! stops where the hours rise
sorts the given
    | times.sort(dim=1) => times.copy_(times.sort(dim=1).values).sort(dim=1)
    ? `times` holds other numbers now
into the given
    | return => iterations.update(dict.fromkeys(iterations, hours[best])); return
    ? `iterations` holds other numbers now
every N from 1
    | in iterations: => in range(1, times.shape[1] + 1):
    ? only 3 to 12
every N between
    | in iterations: => in range(min(iterations), max(iterations) + 1):
    ? only 7, 4 and 1
the hours alone
    | times.shape[1] - best, hours[best] => hours[best]
    ? return b and the hours
"""

EXERCISE = Exercise(
    number="07.2",
    title="Choose b",
    size=Size(stars=2, minutes=12, points=3),
    function="choose_spares",
    asks=(
        "the number of spare workers b and the hours of the N with the least hours: iterations[N] "
        "times the mean time to the N-th gradient, in hours."
    ),
    cases=cases,
    drive=call_with_tensors,
    builds_on=("07.1",),
    claim=claim,
    mistakes=(
        Mistake("changes its argument", _changed),
        Mistake("not two numbers", _not_two),
        Mistake("an N that is not known", _unknown_n, unfinished=True),
    ),
    numbers=numbers,
    compared=lambda case, seen: np.array(_answer(seen), np.float32),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("07.2", WRONG, reference),
    ranked=False,
)
