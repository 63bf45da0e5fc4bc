"""Published figures of failures, recomputed on the clock of a job that fails."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.series import Point, Series
from helpers.lessons.cluster.algorithms.effective import effective_share
from helpers.lessons.cluster.algorithms.interval import checkpoint_interval
from helpers.lessons.cluster.experiments.failure_clock import Job, best_on_clock, luck
from helpers.lessons.cluster.experiments.failure_published import PublishedShare, published_shares
from helpers.lessons.cluster.experiments.failure_settings import FAILURES
from helpers.notebook.published import load

FORMULAS = checkpoint_interval, effective_share


def _points(rows: list[PublishedShare], within: float) -> Iterator[Point]:
    for row in rows:
        yield Point(row.name, row.clock, row.published, within, relative=False)


def llama(seed: int) -> Iterator[Point]:
    """Llama 3's effective time: 3 points."""
    return _points(published_shares(*FORMULAS, seed)[:1], 0.03)


def torchft(seed: int) -> Iterator[Point]:
    """torchft's first run: 3 points."""
    return _points(published_shares(*FORMULAS, seed)[1:2], 0.03)


def on_100_000(seed: int) -> Iterator[Point]:
    """Restarts of all and of one replica, 100 000 GPUs: 5 points."""
    return _points(published_shares(*FORMULAS, seed)[2:], 0.05)


def intervals(seed: int) -> Iterator[Point]:
    """Daly's best intervals, found on the clock: 5 %."""
    for minutes, best in load("daly2006_best_intervals").data.items():
        job = Job(float(minutes) / 60, 1, save=300.0, restart=600.0)
        found = best_on_clock(job, luck(FAILURES, seed))[0] / 60
        yield Point(f"a failure every {minutes} min", found, best, 0.05)


SERIES = (
    Series(
        "llama3_2024_interruptions",
        "share of time",
        "419 failures at random in 54 days, and what Meta does not print as others print it for "
        "jobs of that size, as failure_settings.py of lesson 17 says: saves behind training "
        "(ByteCheckpoint), restarts of 12.7 minutes (MegaScale, ByteCheckpoint), the interval by "
        "Daly's formula; the published share is a bound, more than 90 %",
        llama,
    ),
    Series(
        "torchft_llama_runs",
        "share of the work",
        "run 1: a failure every 60 s, regularly, takes a step of 10.9 s from all 30 groups, and 24 "
        "s from its own, which is fitted to the 29.6 groups that took part",
        torchft,
    ),
    Series(
        "ft_hsdp_100k",
        "share of time",
        "a failure every 18 minutes, as others cite the paper; saves of 51 s that all wait for "
        "(ByteCheckpoint, assumed), by Daly's formula; groups of 128 (assumed)",
        on_100_000,
    ),
    Series(
        "daly2006_best_intervals",
        "min",
        "saves of 5 minutes and restarts of 10, failures at random; nothing is fitted, and no "
        "formula is asked",
        intervals,
    ),
)
GOES_IN = "is what goes in, not what comes out"
ELSEWHERE = {
    "opt175b_restarts": GOES_IN,
    "kokolis2025_clusters": GOES_IN,
    "bytecheckpoint_405b": GOES_IN,
    "megascale_recovery": GOES_IN,
}
