"""Workers of a search killed at random moments: is a trial lost, does one count twice, who wins?"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.crew import Train
from helpers.lessons.search.experiments.search_processes import Run, Search, on_processes, replayed

LEAST_GAP, MOST_GAP = 0.03, 0.25


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


def killed(
    make: Callable[[], Search],
    train: Train,
    waits: bool,
    kills: int = 50,
    workers: int = 3,
    timeout: float = 300.0,
) -> Kills:
    """Search again and again until so many workers were killed, at random moments.

    make: gives a fresh search. waits: it decides by complete rungs, so that all it does is what the
    calm search does. Otherwise the order of arrival decides: then its first rung has to be whole,
    its log has to lead to the same losses again, and they have to be those that training gives
    without a worker. timeout: seconds for each search. Raises what `on_processes` raises.
    """
    chance = random.Random(0)
    calm = on_processes(make(), train, workers, timeout)
    runs: list[Run] = []
    while (left := kills - sum(run.kills for run in runs)) > 0:
        moments = list(accumulate(chance.uniform(LEAST_GAP, MOST_GAP) for _ in range(left)))
        seed = chance.randrange(2**32)
        runs.append(on_processes(make(), train, workers, timeout, kills=moments, seed=seed))
    jobs = [[report.job for report in run.reports] for run in runs]
    truth = {report.job for report in calm.reports if waits or report.job.rung == 0}
    if waits:
        right = [run.losses == calm.losses and run.top(3) == calm.top(3) for run in runs]
    else:
        right = [repeatable(run, make(), train) for run in runs]
    return Kills(
        kills=sum(run.kills for run in runs),
        searches=len(runs),
        lost=sum(len(truth - set(each)) for each in jobs),
        twice=sum(len(each) - len(set(each)) for each in jobs),
        other=right.count(False),
        left=len(multiprocessing.active_children()),
    )


def repeatable(run: Run, fresh: Search, train: Train) -> bool:
    """Whether a run's log decides the same again, and each loss is that of training alone."""
    alone: dict[Job, float] = {report.job: train(report.job, None)[0] for report in run.reports}
    true = all(report.loss == alone[report.job] for report in run.reports)
    return true and replayed(fresh, run.log).losses == run.losses
