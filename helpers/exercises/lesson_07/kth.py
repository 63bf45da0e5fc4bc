"""Exercise 07.1, the mean time to the k-th gradient of a step.

`mean_time_to(times, k) -> float`: times has a row a step and a column a worker; in each step the
k-th gradient to come counts, whoever sends it. The claim: the mean over the steps of the k-th
smallest time of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number, short
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-5  # float32 is enough


def step_times(
    random: np.random.Generator, steps: int, workers: int, late: float = 0.1
) -> np.ndarray:
    """Made-up times: about 1.5 s, now and then (late) one much longer, one worker always slower."""
    times = 1.3 + random.gamma(4.0, 0.05, (steps, workers))
    times += random.exponential(2.0, times.shape) * (random.random(times.shape) < late)
    times[:, -1] += 0.3
    return np.round(times, 3)


def cases(seed: int) -> list[Case]:
    """Seed 0: the 4th of 5, then 1st of 1, last of 2, 2nd of 3; else other numbers."""
    random = rng(seed, "07.1")
    shapes = [(6, 5, 4), (4, 1, 1), (5, 2, 2), (7, 3, 2), (6, 5, 1)]
    if seed:
        shapes = [(int(random.integers(5, 30)), n, n - 1 or 1) for n in (8, 1, 2, 3, 5, 13)]
        shapes += [(int(random.integers(5, 30)), 20, int(random.integers(2, 20)))]
    made = []
    for steps, workers, k in shapes:
        times = step_times(random, steps, workers)
        facts = {
            "want": float(np.sort(times, axis=1)[:, k - 1].mean()),
            "others": _others(times, k),
        }
        name = f"With k={k} of {count(workers, 'worker')} over {steps} steps"
        made.append(Case(name, ((times, k),), facts=facts))
    return made


def _others(times: np.ndarray, k: int) -> dict[str, float]:
    """What answers with one thing wrong would give."""
    ranked = np.sort(times, axis=1)
    others = {
        "first workers": times[:, :k].max(axis=1).mean(),
        "fastest averaged": ranked[:, :k].mean(),
        "everyone": times.mean(),
        "worst step": ranked[:, k - 1].max(),
        "means first": np.sort(times.mean(axis=0))[k - 1],
        "over steps": np.sort(times, axis=0)[:, k - 1].mean(),
        "slowest first": ranked[:, -k].mean(),
        "last": ranked[:, -1].mean(),
        "sum": ranked[:, k - 1].sum(),
        "everything sorted": np.sort(times, axis=None)[k - 1],
    }
    if k <= len(times):
        others["row"] = ranked[k - 1].mean()
    if k < times.shape[1]:
        others["one late"] = ranked[:, k].mean()
    return {name: float(value) for name, value in others.items()}


def _same(got: float, want: float) -> bool:
    return abs(got - want) <= _TOLERANCE * abs(want)


def claim(case: Case, seen: Observation) -> str | None:
    """The mean of the k-th smallest time of every step."""
    got, want = number(seen.values[0]), case.facts["want"]
    if got is None:
        said = describe(seen.values[0])
        return f"{case.name}, your function gave {said}; one number of seconds was asked for."
    if _same(got, want):
        return None
    return f"{case.name}, the mean time is {short(got)} s; it should be {short(want)} s."


def _like(name: str, words: str) -> Callable[[Case, Observation], str | None]:
    """A recogniser for answers that give what another rule would, and what to say to them."""

    def look(case: Case, seen: Observation) -> str | None:
        got = number(seen.values[0])
        other = case.facts["others"].get(name)
        if got is None or other is None or not _same(got, other):
            return None
        k = case.args[0][1]
        facts = {"k": k, "before": k - 1, "after": k + 1, "workers": case.args[0][0].shape[1]}
        return f"{case.name}, you got {short(got)} s: {words.format(**facts)}"

    return look


def _beyond_the_last(case: Case, seen: Observation) -> str | None:
    if seen.kind != "IndexError":
        return None
    k = case.args[0][1]
    return f"{case.name}, there is no column {k}: columns count from 0, so the k-th is k − 1."


def _per_step(case: Case, seen: Observation) -> str | None:
    value = seen.values[0]
    if type(value) is not np.ndarray or value.shape != case.args[0][0].shape[:1]:
        return None
    return (
        f"{case.name}, you gave a time for each step: take their mean over the steps, one number."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    return (
        f"Passed: the 4th of 5 gradients is there after {facts['want']:.2f} s on average, the last "
        f"after {facts['others']['last']:.2f} s."
    )


def reference(times: Any, k: int) -> float:
    """The course's own."""
    return float(times.sort(dim=1).values[:, k - 1].mean())


def first_workers(times: Any, k: int) -> Any:
    """Waits for workers 0 to k − 1, not for the first k to come."""
    return times[:, :k].max(dim=1).values.mean()


def one_late(times: Any, k: int) -> Any:
    """Counts columns from 1."""
    return times.sort(dim=1).values[:, k].mean()


def fastest_averaged(times: Any, k: int) -> Any:
    """The mean of the first k instead of the k-th."""
    return times.sort(dim=1).values[:, :k].mean()


def worst_step(times: Any, k: int) -> Any:
    """The slowest step instead of the mean."""
    return times.sort(dim=1).values[:, k - 1].max()


def means_first(times: Any, k: int) -> Any:
    """Averages each worker over the steps, then ranks the workers."""
    return times.mean(dim=0).sort().values[k - 1]


def over_steps(times: Any, k: int) -> Any:
    """Sorts each worker's steps instead of each step's workers."""
    return times.sort(dim=0).values[:, k - 1].mean()


def slowest_first(times: Any, k: int) -> Any:
    """Counts from the slowest."""
    return times.sort(dim=1, descending=True).values[:, k - 1].mean()


def a_row(times: Any, k: int) -> Any:
    """The k-th step instead of the k-th worker to come."""
    return times.sort(dim=1).values[min(k, len(times)) - 1].mean()


def sums(times: Any, k: int) -> Any:
    """Never divides."""
    return times.sort(dim=1).values[:, k - 1].sum()


def all_together(times: Any, k: int) -> Any:
    """Sorts the whole table."""
    return times.flatten().sort().values[k - 1]


def no_mean(times: Any, k: int) -> Any:
    """One time a step."""
    return times.sort(dim=1).values[:, k - 1]


EXERCISE = Exercise(
    number="07.1",
    title="Time to the k-th gradient",
    stars=1,
    minutes=8,
    points=2,
    function="mean_time_to",
    asks="the k-th smallest time of each step, and of those the mean over the steps.",
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("counts columns from 1", _beyond_the_last, unfinished=True),
        Mistake("a time for each step", _per_step),
        Mistake(
            "the next one",
            _like(
                "one late",
                "that is the time to gradient number {after}. Columns count from 0: the {k}th "
                "smallest stands in column {before}.",
            ),
        ),
        Mistake(
            "the slowest step",
            _like(
                "worst step",
                "that is the slowest of all steps. Training takes them one after the other, so "
                "what counts is their mean.",
            ),
        ),
        Mistake(
            "always the same workers",
            _like(
                "first workers",
                "that waits for workers 0 to {before} in every step. No worker is special: take "
                "the first {k} to come, which are others in each step.",
            ),
        ),
        Mistake(
            "mean of the first k",
            _like(
                "fastest averaged",
                "that is the mean of the {k} quickest times. A step lasts until the last of these "
                "{k} is there: take the {k}th smallest alone.",
            ),
        ),
        Mistake(
            "workers ranked by their means",
            _like(
                "means first",
                "that ranks the workers by their mean times. The mean hides who was late when: "
                "sort within each step first, then take the mean over the steps.",
            ),
        ),
        Mistake(
            "sorted over the steps",
            _like(
                "over steps",
                "that is worker {before}'s own mean: the workers of a step are not sorted. The "
                "race is between them: sort along dim=1.",
            ),
        ),
        Mistake(
            "a row for a column",
            _like(
                "row",
                "that is the mean over the workers of one step, row {before}. The k-th gradient of "
                "every step stands in a column: `[:, k - 1]`.",
            ),
        ),
        Mistake(
            "a sum over the steps",
            _like("sum", "that is the sum over the steps. Divide by their number: take the mean."),
        ),
        Mistake(
            "all times sorted together",
            _like(
                "everything sorted",
                "that sorts the times of all steps together. Each step is a race of its own: sort "
                "along dim=1.",
            ),
        ),
        Mistake(
            "counts from the slowest",
            _like(
                "slowest first",
                "that counts from the slowest. The first gradient is the quickest worker's: sort "
                "upwards.",
            ),
        ),
        Mistake(
            "mean of all times",
            _like("everyone", "that is the mean of all times, whichever gradient is waited for."),
        ),
        Mistake(
            "waits for all",
            _like("last", "that waits for all {workers}; the step is over with gradient {k}."),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("first k workers", first_workers, hint="No worker is special"),
        WrongAnswer("one late", one_late, hint="time to gradient number 5"),
        WrongAnswer("mean of the first k", fastest_averaged, hint="mean of the 4 quickest"),
        WrongAnswer("slowest step", worst_step, hint="the slowest of all steps"),
        WrongAnswer("workers' means", means_first, hint="ranks the workers by their mean"),
        WrongAnswer("sorted over steps", over_steps, hint="worker 3's own mean"),
        WrongAnswer("a row", a_row, hint="one step, row 3"),
        WrongAnswer("sums", sums, hint="the sum over the steps"),
        WrongAnswer("all together", all_together, hint="the times of all steps together"),
        WrongAnswer("from the slowest", slowest_first, hint="counts from the slowest"),
        WrongAnswer("a time a step", no_mean, hint="a time for each step"),
    ),
    ranked=False,
)
