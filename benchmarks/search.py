"""Many models at once: the hand-written search beside Optuna's, wrong promotions, and kills.

Both search the same 27 trials on as many processes, by the same rungs. What they train is not the
same: Optuna decides about a trial once, and so trains a few more or fewer. Starting processes is
left out of both.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise

from benchmarks.report import Report
from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving
from helpers.lessons.search.experiments.search_kills import killed
from helpers.lessons.search.experiments.search_models import (
    FACTOR,
    LEAST,
    MOST,
    TRIALS,
    Models,
    Synthetic,
)
from helpers.lessons.search.experiments.search_optuna import on_optuna
from helpers.lessons.search.experiments.search_processes import Search, on_processes
from helpers.lessons.search.experiments.search_promotions import Loss, expected, share, shuffled

WORKERS = 2
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
        study = on_optuna(TRIALS, WORKERS, "halving", drawn=True, timeout=300)
        found[optuna].append(study.seconds)
        steps[optuna].append(study.steps)
    for name, seconds in found.items():
        report.add(case, name, seconds, f"{statistics.median(steps[name]):g} steps")
    each = {name: [s / n for s, n in zip(found[name], steps[name], strict=True)] for name in found}
    for name in MADE:
        ratios = [theirs / ours for ours, theirs in zip(each[name], each[optuna], strict=True)]
        told = f"{name}, Optuna's seconds a trained step beside its own"
        report.claim(told, statistics.median(ratios), 1.0)


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
            wrong = share(trials, crew, loss_of, range(seeds), least, FACTOR * least)
            falls.append(wrong.share)
            table.append(
                {
                    "trials": trials,
                    "workers": crew,
                    "seeds": seeds,
                    "promoted": wrong.promoted,
                    "wrong": wrong.wrong,
                    "share": wrong.share,
                    "expected": expected(trials)[0],
                }
            )
        drops = min(a / b for a, b in pairwise(falls))
        ends = f"{100 * falls[0]:.1f} to {100 * falls[-1]:.1f} %"
        text = f"{name} losses, {crew} workers: wrong share from {ends}, the least drop"
        report.claim(text, drops, 1.0)
    report.extra[f"wrong promotions, {name} losses"] = table


def synthetic(seed: int) -> Loss:
    """Losses of a seed without training; a rung says what the next one will."""
    return Synthetic(seed).loss


def measure_kills(report: Report, kills: int = KILLS) -> None:
    """Workers killed at random moments, in each search."""
    for name, waits in WAITS.items():
        found = killed(MADE[name], Models().train, waits, kills, timeout=600)
        case = f"{name}: {found.kills} kills in {found.searches} searches"
        report.claim(f"{case}, jobs lost", found.lost, 0, False, "")
        report.claim(f"{case}, counted twice", found.twice, 0, False, "")
        report.claim(f"{case}, came out otherwise", found.other, 0, False, "")
        report.claim(f"{case}, workers left", found.left, 0, False, "")
