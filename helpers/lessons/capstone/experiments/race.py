"""The comparison itself: searches, runs and their times, written into a logbook.

What the logbook holds is not run again: a kernel that was restarted goes on where the last one
stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from helpers.lessons.capstone.algorithms.runs import Look, Run
from helpers.lessons.capstone.experiments.logbook import Logbook
from helpers.lessons.capstone.experiments.settings import (
    BUDGET,
    SEARCHED,
    SETTINGS,
    TARGET,
    TUNING_SEEDS,
    WAYS,
    Setting,
)
from helpers.lessons.capstone.experiments.ways import train

Timed = Callable[[Callable[[], Run], float], tuple[float, float]]
ResultOf = Callable[[float, int], tuple[float, float]]
BestRate = Callable[[ResultOf, Sequence[float], Sequence[int], int], float]
Bar = Callable[[Sequence[Any], str], Iterable[Any]]  # shows how far it is, with a label
Table = dict[str, list[float]]


def _none(items: Sequence[Any], label: str) -> Iterable[Any]:
    return items


class NoPredictions(RuntimeError):
    """Somebody wants to run before anything is predicted."""


def logbook(path: str | None) -> Logbook:
    """The logbook of this file, or, for None, one that is lost with the kernel."""
    if path is None:
        print("Nothing of this is kept: the logbook is a file once your own predictions are there.")
    return Logbook(path)


def predict(book: Logbook, predictions: Mapping[str, Any]) -> list[str]:
    """Write predictions down, unless they are; returns the questions that are still open."""
    given = {question: value for question, value in predictions.items() if value is not None}
    known = book.of("prediction")
    if given and (not known or known[-1]["given"] != given):
        book.add("prediction", given=given)
    return [question for question, value in predictions.items() if value is None]


def search(
    book: Logbook, timed: Timed, best_rate: BestRate, setting: Setting, bar: Bar = _none
) -> dict[str, float]:
    """Each way's learning rate for a setting, on one budget, on the clock.

    Vertical slices take synchronous training's: their weights are the same. Raises NoPredictions.
    """
    _predicted(book)
    found: dict[str, float] = {}
    for way in bar(WAYS[:-1], f"searching for {setting.name}"):
        known = book.of("search", setting=setting.name, way=way)
        if known:
            found[way] = known[-1]["rate"]
            continue
        trainings: list[tuple[float, int, float | None, float]] = []

        def result_of(
            rate: float, seed: int, way: str = way, kept: Any = trainings
        ) -> tuple[float, float]:
            seconds, end = timed(lambda: train(way, setting.on_clock(), rate, seed), TARGET)
            kept.append((rate, seed, written(seconds), end))
            return seconds, end

        found[way] = best_rate(result_of, list(SEARCHED), list(TUNING_SEEDS), BUDGET)
        book.add("search", setting=setting.name, way=way, rate=found[way], trainings=trainings)
    return found | {WAYS[-1]: found[WAYS[0]]}


def race(
    book: Logbook,
    timed: Timed,
    setting: Setting,
    rates: Mapping[str, float],
    seeds: Sequence[int],
    bar: Bar = _none,
) -> tuple[Table, Table]:
    """Train every way on every seed: seconds to the target, infinity for never, and errors at the
    end in %, each by way. Ways take turns, so that what else the machine does hits all of them.

    Raises NoPredictions.
    """
    _predicted(book)
    todo = [(seed, way) for seed in seeds for way in WAYS]
    for seed, way in bar(todo, f"{setting.name}: {len(todo)} trainings"):
        if book.of("run", setting=setting.name, way=way, seed=seed, rate=rates[way]):
            continue
        runs: list[Run] = []

        def trains(way: str = way, seed: int = seed, runs: list[Run] = runs) -> Run:
            runs.append(train(way, setting, rates[way], seed))
            return runs[-1]._replace(looks=list(runs[-1].looks))  # whoever changes that, has it

        seconds, end = timed(trains, TARGET)
        looks = [[round(x, 6) for x in look] for look in runs[-1].looks]
        what = {"setting": setting.name, "way": way, "seed": seed, "rate": rates[way]}
        found = {"seconds": written(seconds), "end": end, "began": round(runs[-1].began, 6)}
        book.add("run", **what, **found, looks=looks, target=TARGET)
    return tables(book, setting.name)


def tables(book: Logbook, setting: str) -> tuple[Table, Table]:
    """The runs of a setting: seconds and ends by way, in the order of the seeds; the last run of
    a seed counts."""
    latest = {(e["way"], e["seed"]): e for e in book.of("run", setting=setting)}
    seeds = sorted({seed for _, seed in latest})
    ways = [w for w in WAYS if seeds and all((w, seed) in latest for seed in seeds)]
    times = {way: [_seconds(latest[way, seed]) for seed in seeds] for way in ways}
    return times, {way: [float(latest[way, seed]["end"]) for seed in seeds] for way in ways}


def results(
    book: Logbook, settings: Sequence[str] = tuple(SETTINGS)
) -> dict[str, tuple[Table, Table]]:
    """The tables of the settings in which two ways or more ran; says which others are missing."""
    found = {name: tables(book, name) for name in settings}
    ran = {name: both for name, both in found.items() if len(both[0]) > 1}
    missing = [name for name in found if name not in ran]
    if missing:
        print(f"Not in the logbook yet: runs in the setting {', '.join(missing)}.")
    return ran


def predicted_times(
    timed: Timed, setting: Setting, rates: Mapping[str, float], seeds: Sequence[int]
) -> Table:
    """Seconds to the target by the cost model, by way, for each seed.

    The model is the clock: real gradients decide how many updates a way needs, and stated seconds
    of computing and of links how long they take.
    """
    clock = setting.on_clock()
    return {
        way: [timed(partial(train, way, clock, rates[way], seed), TARGET)[0] for seed in seeds]
        for way in WAYS
    }


def run_of(entry: Mapping[str, Any]) -> Run:
    """An entry's run."""
    return Run(float(entry["began"]), [Look(*map(float, look)) for look in entry["looks"]])


def written(seconds: float) -> float | None:
    """Seconds as a logbook holds them: None for never."""
    return seconds if math.isfinite(seconds) else None


def _seconds(entry: Mapping[str, Any]) -> float:
    return math.inf if entry["seconds"] is None else float(entry["seconds"])


def _predicted(book: Logbook) -> None:
    if not book.of("prediction"):
        raise NoPredictions(
            "There is no prediction in the logbook. Write yours down first: what is predicted "
            "after the results is none."
        )
