"""Many models at once: the hand-written search beside Optuna's, wrong promotions, and kills.

Both search the same 27 trials on as many processes, by the same rungs. What they train is not the
same: Optuna decides about a trial once, and so trains a few more or fewer. Starting processes is
left out of both.
"""

from __future__ import annotations

import multiprocessing
import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Report
from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving
from helpers.lessons.search.algorithms.promotions import expected, wrong_promotions
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments import search_clock
from helpers.lessons.search.experiments.search_clock import Search
from helpers.lessons.search.experiments.search_models import (
    FACTOR,
    LEAST,
    MOST,
    TRIALS,
    Models,
    Synthetic,
)
from helpers.lessons.search.experiments.search_optuna import (
    Setting,
    Study,
    on_optuna,
    opened,
)
from helpers.lessons.search.experiments.search_processes import (
    Run,
    on_processes,
    replayed,
)

Loss = Callable[[Job], float]
WORKERS = 2
SPREAD = 4.0
ROUNDS = 5
COUNTED = ((27, 1000), (81, 400), (243, 60), (729, 12), (2187, 4))  # trials, seeds
REAL = ((27, 400), (81, 100), (243, 30))
CREWS = (1, 4, 16, 64)
KILLS = 50
MADE: dict[str, Callable[[], Search]] = {
    "synchronous halving": lambda: SuccessiveHalving(TRIALS, LEAST, MOST, FACTOR),
    "ASHA": lambda: Asha(TRIALS, LEAST, MOST, FACTOR),
}
WAITS = {"synchronous halving": True, "ASHA": False}


def measure() -> Report:
    """All of it."""
    report = Report("search", "Searches: seconds beside Optuna's, wrong promotions, kills")
    measure_times(report)
    measure_promotions(report, "synthetic", synthetic, COUNTED, 1)
    models = Models()
    pool = max(trials for trials, _ in REAL)
    real = lambda seed: shuffled(models.loss, pool, seed)  # noqa: E731
    measure_promotions(report, "trained", real, REAL, LEAST)
    measure_kills(report)
    return report


def measure_times(report: Report, rounds: int = ROUNDS) -> None:
    """The same trials by each search, in turn, so that what else the machine does hits all."""
    case, optuna = f"{TRIALS} trials, {WORKERS} processes", "Optuna, halving"
    found: dict[str, list[float]] = {name: [] for name in (*MADE, optuna)}
    steps: dict[str, list[int]] = {name: [] for name in found}
    for _ in range(rounds):
        for name, make in MADE.items():
            run = on_processes(make(), Models().train, WORKERS, 300)
            found[name].append(run.seconds)
            steps[name].append(trained(run.losses, run.search.resources))
        study = with_optuna()
        found[optuna].append(study.seconds)
        steps[optuna].append(study.steps)
    for name, seconds in found.items():
        report.add(case, name, seconds, f"{statistics.median(steps[name]):g} steps")
    each = {name: [s / n for s, n in zip(found[name], steps[name], strict=True)] for name in found}
    for name in MADE:
        ratios = [theirs / ours for ours, theirs in zip(each[name], each[optuna], strict=True)]
        told = f"{name}, Optuna's seconds a trained step beside its own"
        report.claim(told, statistics.median(ratios), 1.0)


def with_optuna() -> Study:
    """Optuna's search, with the trials of the others."""
    with tempfile.TemporaryDirectory() as folder:
        journal = f"{folder}/journal.log"
        study = opened(journal, Setting(TRIALS))
        for trial in range(TRIALS):
            study.enqueue_trial(Models().settings(trial), {"trial": trial})
        return on_optuna(TRIALS, WORKERS, journal=journal)


def trained(losses: Sequence[dict[int, float]], resources: Sequence[int]) -> int:
    """Steps of all trials together."""
    last = [0, *resources]
    return sum(len(known) * (last[rung + 1] - last[rung]) for rung, known in enumerate(losses))


def measure_promotions(
    report: Report,
    name: str,
    loss_of: Callable[[int], Loss],
    counted: Sequence[tuple[int, int]],
    least: int,
    crews: Sequence[int] = CREWS,
) -> None:
    """The first rung's wrong promotions, for each number of trials and of workers.

    name: of the losses. counted: pairs of trials and seeds. least: steps of the first rung.
    """
    table = []
    for crew in crews:
        falls = []
        for trials, seeds in counted:
            promoted, wrong = promotions(trials, crew, loss_of, range(seeds), least)
            falls.append(wrong / promoted)
            table.append(
                {
                    "trials": trials,
                    "workers": crew,
                    "seeds": seeds,
                    "promoted": promoted,
                    "wrong": wrong,
                    "share": wrong / promoted,
                    "expected": expected(trials)[0],
                }
            )
        drops = min(a / b for a, b in pairwise(falls))
        ends = f"{100 * falls[0]:.1f} to {100 * falls[-1]:.1f} %"
        text = f"{name} losses, {crew} workers: wrong share from {ends}, the least drop"
        report.claim(text, drops, 1.0)
    report.extra[f"wrong promotions, {name} losses"] = table


def promotions(
    trials: int, workers: int, loss_of: Callable[[int], Loss], seeds: Sequence[int], least: int = 1
) -> tuple[float, float]:
    """Promotions out of ASHA's first rung, and those that halving does not make: means of seeds."""
    counts = []
    for seed in seeds:
        crew, loss = search_clock.speeds(workers, SPREAD, seed), loss_of(seed)
        pair = [make(trials, least, FACTOR * least, FACTOR) for make in (Asha, SuccessiveHalving)]
        for search in pair:
            search_clock.on_clock(search, crew, loss, search.resources)
        counts.append(wrong_promotions(pair[0].losses, pair[1].losses)[0])
    promoted, wrong = (statistics.mean(column) for column in zip(*counts, strict=True))
    return promoted, wrong


def shuffled(loss: Loss, pool: int, seed: int) -> Loss:
    """The losses of a search's trials in another order, some of `pool` trials that are known.

    So a few trainings serve for many searches.
    """
    order = np.random.default_rng(seed).permutation(pool)
    return lambda job: loss(job._replace(trial=int(order[job.trial])))


def synthetic(seed: int) -> Loss:
    """Losses of a seed without training; a rung says what the next one will."""
    return Synthetic(seed).loss


def measure_kills(report: Report, kills: int = KILLS) -> None:
    """Workers killed at random moments, in each search."""
    for name, waits in WAITS.items():
        found = killed(MADE[name], waits, kills)
        case = f"{name}: {found.kills} kills in {found.searches} searches"
        report.claim(f"{case}, jobs lost", found.lost, 0, False, "")
        report.claim(f"{case}, counted twice", found.twice, 0, False, "")
        report.claim(f"{case}, came out otherwise", found.other, 0, False, "")
        report.claim(f"{case}, workers left", found.left, 0, False, "")


class Kills(NamedTuple):
    """Some searches in which workers were killed, beside one in which none was.

    kills: that took place. lost: jobs of the calm search that are missing; twice: jobs that were
    counted again; other: searches that did not come out as they should. left: workers that were
    still there at the end.
    """

    kills: int
    searches: int
    lost: int
    twice: int
    other: int
    left: int


def killed(make: Callable[[], Search], waits: bool, kills: int) -> Kills:
    """Search again and again until so many workers were killed, at random moments.

    make: gives a fresh search. waits: it decides by complete rungs, so that all it does is what the
    calm search does. Otherwise the order of arrival decides: then its first rung has to be whole,
    its log has to lead to the same losses again, and they have to be those that training gives
    without a worker.
    """
    chance, options = random.Random(0), dict[str, Any](workers=3, timeout=600.0)
    calm = on_processes(make(), Models().train, **options)
    runs: list[Run] = []
    while (left := kills - sum(run.kills for run in runs)) > 0:
        moments = list(accumulate(chance.uniform(0.03, 0.25) for _ in range(left)))
        doomed: dict[str, Any] = {"kills": moments, "seed": chance.randrange(2**32)}
        runs.append(on_processes(make(), Models().train, **options, **doomed))
    jobs = [[report.job for report in run.reports] for run in runs]
    truth = {report.job for report in calm.reports if waits or report.job.rung == 0}
    right = [run.losses == calm.losses if waits else repeatable(run, make()) for run in runs]
    return Kills(
        kills=sum(run.kills for run in runs),
        searches=len(runs),
        lost=sum(len(truth - set(each)) for each in jobs),
        twice=sum(len(each) - len(set(each)) for each in jobs),
        other=right.count(False),
        left=len(multiprocessing.active_children()),
    )


def repeatable(run: Run, fresh: Search) -> bool:
    """Whether a run's log decides the same again, and each loss is that of training alone."""
    models = Models()
    true = all(report.loss == models.loss(report.job) for report in run.reports)
    return true and replayed(fresh, run.log).losses == run.losses
