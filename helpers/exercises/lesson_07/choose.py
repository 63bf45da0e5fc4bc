"""Exercise 07.2, how many of the workers should be spare.

`choose_spares(times, iterations) -> (b, hours)`: times has a row a step and a column a worker;
iterations[N] says how many updates training takes when N gradients make one. The claim: the b and
the hours of the N with the least hours, where hours are iterations times the mean time to the N-th
gradient of all workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, listing, number, short, told_apart
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed
from helpers.exercises.lesson_07.kth import step_times
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-5


def cases(seed: int) -> list[Case]:
    """Seed 0: 12 workers of which 2 are often late, then 1, 2, 3 and 5; else other workers.

    The last one's hours fall three times; least they are in the middle.
    """
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
    made.append(_case(random, 7, None, 1, 0.6, hours=(9, 6, 8, 5, 7, 6.5, 8)))
    return made


def _case(
    random: np.random.Generator,
    workers: int,
    spares: int | None,
    low: int,
    rest: float,
    known: int | None = None,
    every: int = 1,
    hours: Sequence[float] = (),
) -> Case:
    """One case. spares: how many are to be the best choice, where that is asked for.

    known: the largest N of which the updates are known; all workers unless told. every: how far
    apart these N are; where that is more than 1, the largest stands first. hours: of N from 1 on,
    where they are asked for.
    """
    times = step_times(random, 40, workers, late=0.01)
    if spares is not None:  # as many machines that are often late
        late = random.random((40, spares)) < 0.8
        times[:, workers - spares :] += np.round(3.0 * late, 3)
    iterations = {
        n: int(60_000 * (rest + workers / n) / (rest + 1))
        for n in range(low, (known or workers) + 1)[:: -every if every > 1 else 1]
    }
    seconds = np.sort(times, axis=1).mean(axis=0)
    iterations |= {n: int(3600 * h / seconds[n - 1]) for n, h in enumerate(hours, 1)}
    return Case(
        f"With {count(workers, 'worker')} and "
        + (f"N in {listing(iterations)}" if every > 1 else f"N from {low}")
        + (f" to {max(iterations)}" if max(iterations) < workers else ""),
        ((times, iterations),),
        facts={
            "hours": {n: float(iterations[n] * seconds[n - 1] / 3600) for n in iterations},
            "workers": workers,
        },
    )


def _best(case: Case) -> tuple[int, float]:
    """The N with the least hours, and these."""
    hours = case.facts["hours"]
    best = min(hours, key=lambda n: hours[n])
    return best, hours[best]


def _answer(seen: Observation) -> tuple[float, float]:
    """What was returned, as two numbers; raises where it is something else."""
    spares, hours = seen.values[0]
    got = number(spares), number(hours)
    if got[0] is None or got[1] is None:
        raise TypeError
    return got[0], got[1]


def claim(case: Case, seen: Observation) -> str | None:
    """The best number of spares and its hours."""
    if found := _changed(case, seen):
        return found
    best, least = _best(case)
    want = case.facts["workers"] - best
    spares, hours = _answer(seen)
    if spares != want:
        return (
            f"{case.name}, you spare {short(spares)} and need {short(hours)} h; sparing {want}, "
            f"training takes {least:.3g} h."
        )
    if not abs(hours - least) <= _TOLERANCE * abs(least):
        got, right = told_apart(hours, least)
        return f"{case.name}, b = {want} is right, but it takes {right} h, not {got}."
    return None


def _changed(case: Case, seen: Observation) -> str | None:
    place = changed(seen.values[0])
    if place is None:
        return None
    what = "`iterations`" if place else "`times`"
    return f"{case.name}, {what} holds other numbers now: whoever called needs it still."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what was given, and what is right."""
    (spares, hours), (best, _), workers = _answer(seen), _best(case), case.facts["workers"]
    told = f"you spare {short(spares)} and need {short(hours)} h"
    found = {"spares": short(spares), "hours": short(hours), "told": told}
    return found | {"workers": workers, "best": best, "right": workers - best}


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


def _not_two(case: Case, seen: Observation) -> str | None:
    value = seen.values[0]
    if type(value) in (list, tuple) and len(value) == 2:
        return None
    return f"{case.name}, your function gave {describe(value)}; return b and the hours."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    (best, least), workers = _best(cases[0]), cases[0].facts["workers"]
    most, hours = max(cases[0].facts["hours"].items())
    return (
        f"Passed: {best} + {workers - best} workers need {least:.1f} h, "
        f"waiting for all {most} would take {hours:.1f} h."
    )


def _to(times: Any, n: int) -> Any:
    """The mean time to the n-th gradient."""
    return times.sort(dim=1).values[:, n - 1].mean()


def _search(
    seconds: Callable[[Any, int], Any] = _to,
    given: Callable[..., tuple[Any, Any]] = lambda workers, best, hours: (workers - best, hours),
    among: Callable[[Any, Any], Iterable[int]] = lambda times, iterations: iterations,
) -> Callable[..., tuple[Any, Any]]:
    """The search in parts. seconds: of a step; given: what is returned; among: which N."""

    def choose(times: Any, iterations: dict[int, int]) -> tuple[Any, Any]:
        hours = {
            n: iterations[n] * float(seconds(times, n)) / 3600 for n in among(times, iterations)
        }
        best = min(hours, key=lambda n: hours[n])
        return given(times.shape[1], best, hours[best])

    return choose


reference = _search()
_gives_n = _search(given=lambda workers, best, hours: (best, hours))
_hours_first = _search(given=lambda workers, best, hours: (hours, workers - best))
_hours_alone = _search(given=lambda workers, best, hours: hours)
_in_seconds = _search(given=lambda workers, best, hours: (workers - best, hours * 3600))
_in_minutes = _search(given=lambda workers, best, hours: (workers - best, hours * 60))
_every_n = _search(among=lambda times, iterations: range(1, times.shape[1] + 1))
_every_n_between = _search(among=lambda times, known: range(min(known), max(known) + 1))
_stops = _search(among=lambda times, known: _falling(times, known, [*known]))
_stops_down = _search(among=lambda times, known: _falling(times, known, [*known][::-1]))
_shortest_step = _search(among=lambda times, iterations: [min(iterations)])
_waits_for_all = _search(lambda times, n: times.max(dim=1).values.mean())
_takes_away = _search(lambda times, n: times[:, :n].max(dim=1).values.mean())
_next_gradient = _search(lambda times, n: _to(times, min(n + 1, times.shape[1])))


_a_gradient = _search(lambda times, n: _to(times, n) / n)
_median = _search(lambda times, n: times.sort(dim=1).values[:, n - 1].median())


def _falling(times: Any, iterations: Any, order: list[int]) -> list[int]:
    hours = [iterations[n] * float(_to(times, n)) for n in order]
    rises = (at for at in range(1, len(order)) if hours[at] > hours[at - 1])
    return order[: next(rises, None)]


def _into_the_given(times: Any, iterations: dict[int, Any]) -> Any:
    spares, hours = reference(times, iterations)
    iterations.update({n: hours for n in iterations})
    return spares, hours


def _sorts_the_given(times: Any, iterations: dict[int, Any]) -> Any:
    return reference(times.copy_(times.sort(dim=1).values), iterations)


def _counting(count_of: Callable[[Any, Any], int]) -> Callable[..., tuple[Any, Any]]:
    """The right N, taken from something else than the workers."""

    def choose(times: Any, iterations: dict[int, int]) -> tuple[Any, Any]:
        spares, hours = reference(times, iterations)
        return spares - times.shape[1] + count_of(times, iterations), hours

    return choose


_from_largest = _counting(lambda times, iterations: max(iterations))
_from_entries = _counting(lambda times, iterations: len(iterations))
_from_steps = _counting(lambda times, iterations: times.shape[0])


def _left_of(what: str) -> str:
    return (
        f"your b = {{spares}} is what N = {{best}} leaves of {what}. The workers are the columns "
        "of `times`, {workers}: b = {right}."
    )


_STOPS = (
    "{told}: there the hours stop falling, and farther on they are less. Measured hours rise and "
    "fall: compare those of every N in `iterations`."
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
    wrong=(
        WrongAnswer("exchanged", _hours_first, "both are right: b first, then the hours."),
        WrongAnswer("in seconds", _in_seconds, "{hours} are seconds: divide by 3600."),
        WrongAnswer("in minutes", _in_minutes, "{hours} are minutes: divide by 60."),
        WrongAnswer(
            "N for b", _gives_n, "you gave N = {best}. The spares are the others: b = {right}."
        ),
        WrongAnswer("counts the largest N", _from_largest, _left_of("the largest N")),
        WrongAnswer("counts the entries", _from_entries, _left_of("the entries in `iterations`")),
        WrongAnswer("counts the steps", _from_steps, _left_of("the steps, the rows of `times`")),
        WrongAnswer(
            "waits for all",
            _waits_for_all,
            "{told}: that is the N with the fewest updates, which wins only if every step waited "
            "for the last gradient. With N of N + b a step is over when gradient N is there.",
        ),
        WrongAnswer(
            "workers taken away",
            _takes_away,
            "{told}: that takes workers away instead of sparing them: N workers, and each step "
            "waits for all of these. With spares all workers run, and the first N to come count.",
        ),
        WrongAnswer("the next gradient", _next_gradient, "{told}: that waits for gradient N + 1."),
        WrongAnswer("divided by N", _a_gradient, "{told}: an update has N gradients already."),
        WrongAnswer("the median", _median, "{told}: training waits for long steps too: the mean."),
        WrongAnswer(
            "steps alone",
            _shortest_step,
            "{told}: that N has the shortest step and needs the most of them: compare the product.",
        ),
        WrongAnswer("stops where the hours rise", _stops, _STOPS),
        WrongAnswer("stops where they rise, from above", _stops_down, _STOPS),
        WrongAnswer("sorts the given", _sorts_the_given, hint="`times` holds other numbers now"),
        WrongAnswer("into the given", _into_the_given, hint="`iterations` holds other numbers now"),
        WrongAnswer("every N from 1", _every_n, hint="only 4 to 12"),
        WrongAnswer("every N between", _every_n_between, hint="only 7, 4 and 1"),
        WrongAnswer("the hours alone", _hours_alone, hint="return b and the hours"),
    ),
    ranked=False,
    unseen={"changed": "whether `iterations` changes"},
)
