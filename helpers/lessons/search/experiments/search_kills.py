"""Workers of a search killed at random moments: is a trial lost, does one count twice, who wins?"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

import psutil

from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments import search_clock
from helpers.lessons.search.experiments.crew import Nursery, Train
from helpers.lessons.search.experiments.search_processes import Run, Search, on_processes, replayed

LEAST_GAP, MOST_GAP = 0.03, 0.25
WAYS = ("waits", "clock", "as they come")


class Kills(NamedTuple):
    """Some searches in which workers were killed, beside one in which none was.

    kills: that took place. idle: of them, in which the worker had no job. lost: jobs of the calm
    search that are missing; twice: jobs that were counted again; other: searches whose best three
    are not the calm one's, or, where the order of arrival decides, whose log does not lead to the
    same losses again. left: workers that were still there at the end.
    """

    way: str
    kills: int
    searches: int
    idle: int
    lost: int
    twice: int
    other: int
    left: int


def killed(
    make: Callable[[], Search],
    train: Train,
    way: str = "waits",
    kills: int = 50,
    workers: int = 3,
    seed: int = 0,
    timeout: float = 300.0,
    nursery: Nursery | None = None,
) -> Kills:
    """Search again and again until so many workers were killed, at moments drawn from the seed.

    make: gives a fresh search. way: what makes two runs comparable. "waits": the search decides
    by complete rungs, such as `SuccessiveHalving`. "clock": losses are taken in the order of the
    virtual clock. "as they come": the order of arrival decides, and each run is held against its
    own log, and all losses against those that training gives without a worker. timeout: seconds
    for each search. nursery: as in `on_processes`. Raises ValueError for another way, and
    what `on_processes` raises.
    """
    if way not in WAYS:
        raise ValueError(f"There is no way {way!r}; there are: {', '.join(WAYS)}.")
    if nursery is None:
        with Nursery() as own:
            return killed(make, train, way, kills, workers, seed, timeout, own)
    speeds = search_clock.speeds(workers, seed=seed) if way == "clock" else None
    chance = random.Random(seed)
    calm = on_processes(make(), train, workers, timeout, speeds=speeds, nursery=nursery)
    runs: list[Run] = []
    while (left := kills - sum(run.kills for run in runs)) > 0:
        gaps = (chance.uniform(LEAST_GAP, MOST_GAP) for _ in range(left))
        run = on_processes(
            make(), train, workers, timeout, speeds=speeds, kills=list(accumulate(gaps)),
            seed=chance.randrange(2**32), nursery=nursery,
        )  # fmt: skip
        runs.append(run)
    jobs = [[report.job for report in run.reports] for run in runs]
    truth = calm_jobs(calm, way)
    return Kills(
        way,
        kills=sum(run.kills for run in runs),
        searches=len(runs),
        idle=sum(gone.job is None for run in runs for gone in run.gone),
        lost=sum(len(truth - set(each)) for each in jobs),
        twice=sum(len(each) - len(set(each)) for each in jobs),
        other=sum(not same(run, calm, way, make, train) for run in runs),
        left=len(psutil.Process(nursery.process.pid).children(recursive=True)),
    )


def calm_jobs(calm: Run, way: str) -> set[Job]:
    """What every search has to do: all that the calm one did, or its first rung."""
    jobs = {report.job for report in calm.reports}
    return {job for job in jobs if job.rung == 0} if way == "as they come" else jobs


def same(run: Run, calm: Run, way: str, make: Callable[[], Search], train: Train) -> bool:
    """Whether a search came out as it should, whoever was killed."""
    if way != "as they come":
        return run.losses == calm.losses and run.top(3) == calm.top(3)
    again = replayed(make(), run.log)
    alone = {report.job: train(report.job, None)[0] for report in run.reports}
    right = all(report.loss == alone[report.job] for report in run.reports)
    return again.losses == run.losses and right
