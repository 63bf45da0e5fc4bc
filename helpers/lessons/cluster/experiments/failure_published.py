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
    from helpers.lessons.cluster.algorithms.quorum import quorum_share

    job = llama()
    seconds = chosen_for(job, interval)
    first = PublishedShare(
        "Llama 3, everybody restarts",
        job.gpus,
        load("llama3_2024_interruptions").data["effective_pct"] / 100,
        expected_share(job, seconds, effective),
        float(share(job, seconds, luck(FAILURES, seed))),
        f"saves of {job.save:.2g} s, complete {job.behind:.0f} s later, every {seconds:.0f} s; "
        f"restarts of {job.restart / 60:.1f} min",
        at_least=True,
    )
    data = load("torchft_llama_runs").data
    groups, every = data["groups"], data["every_s"]
    away = (groups - data["took_part"]) * every
    torchft = Job(every / 3600 * data["gpus"], data["gpus"], 0.0, away, 0.0, groups, data["step_s"])
    regular = Luck(np.ones(data["failures"]), luck(data["failures"], seed).places)
    second = PublishedShare(
        "torchft, one group of 30 restarts",
        torchft.gpus,
        data["effective_pct"] / 100,
        quorum_share(groups, away, torchft.stall, torchft.mtbf),
        quorum(torchft, regular),
        f"a failure every {every} s, on the clock regularly, as there, takes the step that it "
        f"comes in, {data['step_s']} s, from all, and {away:.0f} s from its group: so that "
        f"{data['took_part']} take part",
    )
    return [first, second, *_on_100_000(interval, effective, seed)]


def _on_100_000(
    interval: Interval, effective: Share, seed: int
) -> tuple[PublishedShare, PublishedShare]:
    """Salpekar et al. (2026): everybody restarts, and one replica does.

    Here the time between failures is known second-hand alone.
    """
    from helpers.lessons.cluster.algorithms.quorum import quorum_share

    data = load("ft_hsdp_100k").data
    job = settings()[4].job
    seconds = chosen_for(job, interval)
    few = in_groups(job, 60.0 * data["replicas"]["stall_min"])
    assumed = f"a failure every {BETWEEN_100K / 60:.0f} min, saves of {job.save:.0f} s"
    return (
        PublishedShare(
            "100 000 GPUs, everybody restarts",
            job.gpus,
            data["restart"]["effective_pct"] / 100,
            expected_share(job, seconds, effective),
            float(share(job, seconds, luck(FAILURES, seed))),
            f"{assumed}, for which all wait, restarts of {job.restart / 60:.0f} min",
        ),
        PublishedShare(
            "100 000 GPUs, one replica restarts",
            job.gpus,
            data["replicas"]["effective_pct"] / 100,
            quorum_share(few.groups, few.restart, few.stall, few.mtbf),
            quorum(few, luck(5000, seed)),
            f"a failure every {BETWEEN_100K / 60:.0f} min stops all for {few.stall / 60:.0f} min "
            f"and its group of {GROUP} for {few.restart / 60:.0f}",
        ),
    )


def shares_by_gpus(
    gpus: Sequence[int], interval: Interval, effective: Share, clock: bool = False
) -> dict[str, list[float]]:
    """The effective share on each number of GPUs, for Llama 3's rate of failure and its job.

    Of a job that waits for its saves, of one that goes on meanwhile, and of a quorum, which saves
    so rarely that it does not count. By the formulas, or on the clock. Raises ValueError where
    there are fewer than two groups.
    """
    from helpers.lessons.cluster.algorithms.quorum import quorum_share

    if min(gpus) < 2 * GROUP:
        raise ValueError(f"A quorum has two groups of {GROUP} or more, not {min(gpus)} GPUs.")
    goes_on = llama()
    found: dict[str, list[float]] = {}
    for name, job in (
        ("everybody restarts, all wait for saves", waits_for_saves(goes_on)),
        ("everybody restarts, saved behind training", goes_on),
    ):
        jobs = [job.on(each) for each in gpus]
        chosen = [chosen_for(each, interval) for each in jobs]
        failures = luck(FAILURES // 3, SEED)
        found[name] = [
            float(share(each, seconds, failures))
            if clock
            else expected_share(each, seconds, effective)
            for each, seconds in zip(jobs, chosen, strict=True)
        ]
    few = [in_groups(goes_on.on(each)) for each in gpus]
    found[f"the group of {GROUP} restarts"] = [
        quorum(each, luck(FAILURES // 20, SEED))
        if clock
        else quorum_share(each.groups, each.restart, each.stall, each.mtbf)
        for each in few
    ]
    return found
