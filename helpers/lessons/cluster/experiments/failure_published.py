"""Published shares of effective time, beside what the formulas and the clock give.

What is taken for granted stands with each of them, and in `failure_settings`; it was settled with
the published shares known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helpers.lessons.cluster.experiments.failure_clock import Job, Luck, luck, quorum, share
from helpers.lessons.cluster.experiments.failure_settings import (
    BETWEEN_100K,
    FAILURES,
    GROUP,
    Interval,
    Share,
    chosen_for,
    expected_share,
    in_groups,
    llama,
    settings,
    waits_for_saves,
)
from helpers.notebook.published import load

SEED = 1


class PublishedShare(NamedTuple):
    """A published share of effective time, and ours.

    gpus: of the job. expected: by the formula. clock: on the clock. assumed: what ours takes for
    granted. at_least: whether the published share is a bound, "more than".
    """

    name: str
    gpus: int
    published: float
    expected: float
    clock: float
    assumed: str
    at_least: bool = False

    @property
    def apart(self) -> float:
        """The clock's less the published one."""
        return self.clock - self.published


def published_shares(
    interval: Interval, effective: Share, seed: int = SEED
) -> list[PublishedShare]:
    """Published shares of effective time beside the formula's and the clock's; Llama 3's first."""

    def everybody(name: str, job: Job, percent: float, assumed: str) -> PublishedShare:
        seconds = chosen_for(job, interval)
        expected = expected_share(job, seconds, effective)
        clock = float(share(job, seconds, luck(FAILURES, seed)))
        return PublishedShare(name, job.gpus, percent / 100, expected, clock, assumed)

    def a_group(
        name: str, job: Job, percent: float, failures: Luck, assumed: str
    ) -> PublishedShare:
        on_clock = quorum(job, failures)
        return PublishedShare(name, job.gpus, percent / 100, by_quorum(job), on_clock, assumed)

    job = llama()
    first = everybody(
        "Llama 3, everybody restarts",
        job,
        load("llama3_2024_interruptions").data["effective_pct"],
        f"saves of {job.save:.2g} s, complete {job.behind:.0f} s later, every "
        f"{chosen_for(job, interval):.0f} s; restarts of {job.restart / 60:.1f} min",
    )
    data = load("torchft_llama_runs").data
    groups, every = data["groups"], data["every_s"]
    away = (groups - data["took_part"]) * every
    torchft = Job(every / 3600 * data["gpus"], data["gpus"], 0.0, away, 0.0, groups, data["step_s"])
    regular = Luck(np.ones(data["failures"]), luck(data["failures"], seed).places)
    # Salpekar et al. (2026), of which the time between failures is known second-hand alone.
    many, large = load("ft_hsdp_100k").data, settings()["100 000 GPUs"]
    few = in_groups(large, 60.0 * many["replicas"]["stall_min"])
    minutes = f"a failure every {BETWEEN_100K / 60:.0f} min"
    return [
        first._replace(at_least=True),
        a_group(
            "torchft, one group of 30 restarts",
            torchft,
            data["effective_pct"],
            regular,
            f"a failure every {every} s, on the clock regularly, as there, takes the step that it "
            f"comes in, {data['step_s']} s, from all, and {away:.0f} s from its group: so that "
            f"{data['took_part']} take part",
        ),
        everybody(
            "100 000 GPUs, everybody restarts",
            large,
            many["restart"]["effective_pct"],
            f"{minutes}, saves of {large.save:.0f} s, for which all wait, restarts of "
            f"{large.restart / 60:.0f} min",
        ),
        a_group(
            "100 000 GPUs, one replica restarts",
            few,
            many["replicas"]["effective_pct"],
            luck(5000, seed),
            f"{minutes} stops all for {few.stall / 60:.0f} min and its group of {GROUP} for "
            f"{few.restart / 60:.0f}",
        ),
    ]


def by_quorum(job: Job) -> float:
    """The expected share where only the group with the failed GPU restarts."""
    from helpers.lessons.cluster.algorithms.quorum import quorum_share

    return quorum_share(job.groups, job.restart, job.stall, job.mtbf)


def shares_by_gpus(
    gpus: Sequence[int], interval: Interval, effective: Share, clock: bool = False
) -> dict[str, list[float]]:
    """The effective share on each number of GPUs, for Llama 3's rate of failure and its job.

    Of a job that waits for its saves, of one that goes on meanwhile, and of a quorum, which saves
    so rarely that it does not count. By the formulas, or on the clock. Raises ValueError where
    there are fewer than two groups.
    """
    if min(gpus) < 2 * GROUP:
        raise ValueError(f"A quorum has two groups of {GROUP} or more, not {min(gpus)} GPUs.")

    def everybody(job: Job) -> float:
        seconds = chosen_for(job, interval)
        if clock:
            return float(share(job, seconds, luck(FAILURES // 3, SEED)))
        return expected_share(job, seconds, effective)

    def a_group(job: Job) -> float:
        return quorum(job, luck(FAILURES // 20, SEED)) if clock else by_quorum(job)

    jobs = [llama().on(each) for each in gpus]
    return {
        "everybody restarts, all wait for saves": [everybody(waits_for_saves(j)) for j in jobs],
        "everybody restarts, saved behind training": [everybody(job) for job in jobs],
        f"the group of {GROUP} restarts": [a_group(in_groups(job)) for job in jobs],
    }
