"""How often to save, in six settings of published rates: the formula beside the clock.

Rates of failure are published, times of saves and restarts rarely with them. So these come from
whoever prints them for a job of that kind, and beside each setting stands where from. What is
assumed for Llama 3, of which Meta prints neither save, restart nor interval:

- 419 unexpected interruptions in 54 days on 16 384 GPUs: one every 3.1 hours, at random. The 47
  planned ones are left out; as failures of their own they would take 0.8 points more.
- Saves as ByteCheckpoint prints them for a model of the same 405 billion parameters on 8960 GPUs:
  training stands still for 0.59 s, and the checkpoint is complete 51 s after that began. Meta says
  no more than that it kept the pause short.
- A restart takes 12.7 minutes: 10 to detect and diagnose the failure and half a minute to
  initialise communication, both MegaScale's bounds for more than 10 000 GPUs, and 129 s to load, as
  ByteCheckpoint prints. Meta prints 5 to 20 minutes for other clusters of its own.
- They save as often as the formula says.

`failure_published` sets what follows beside the published shares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from helpers.lessons.cluster.experiments.failure_clock import Job, best_on_clock, luck, share
from helpers.notebook.published import load

Interval = Callable[[float, float, float, int], float]
"""Seconds of work between two saves, of save and restart (s), hours a GPU, and GPUs."""
Share = Callable[[float, float, float, float], float]
"""The effective share of time, of interval, save, restart and mean time between failures (s)."""

FAILURES, SEEDS = 60_000, (1, 2, 3)
GROUP = 128  # GPUs that hold all weights once: 8 · 16 as Llama 3 was cut on 16 384 (table 4)
DAY, MONTH = 86_400.0, 365.25 / 12 * 86_400.0
BETWEEN_100K = 18 * 60.0  # seconds between failures, as others cite Salpekar et al. (2026)


def llama_gpu_hours() -> float:
    """Hours between two failures of one GPU, with all that hangs on it, as Llama 3's had them."""
    data = load("llama3_2024_interruptions").data
    return float(data["days"] * 24 * data["gpus"] / data["unexpected"])


def restart_seconds() -> float:
    """Detecting and diagnosing, initialising, loading."""
    recovery, saving = load("megascale_recovery").data, load("bytecheckpoint_405b").data
    return float(60 * recovery["detect_min"] + recovery["initialise_s"] + saving["load_s"])


def llama() -> Job:
    """Llama 3's job with the assumptions that stand above; everybody restarts."""
    data, saving = load("llama3_2024_interruptions").data, load("bytecheckpoint_405b").data
    stands = saving["stands_still_s"]
    behind = saving["save_s"] - stands
    return Job(llama_gpu_hours(), data["gpus"], stands, restart_seconds(), behind)


def waits_for_saves(job: Job) -> Job:
    """The same job where training stands still until the checkpoint is complete."""
    return replace(job, save=job.save + job.behind, behind=0.0)


def in_groups(job: Job, stall: float = 180.0) -> Job:
    """The same job where only the group of 128 with the failed GPU restarts.

    stall: seconds for which the others stand still; three minutes, as Salpekar et al. (2026) print
    for 100 000 GPUs.
    """
    return replace(job, groups=max(1, job.gpus // GROUP), stall=stall)


def settings() -> dict[str, Job]:
    """Six jobs by name, from one that hardly fails to one that hardly gets on."""
    waits = waits_for_saves(llama())
    opt, many = load("opt175b_restarts").data, load("ft_hsdp_100k").data
    opt_hours = opt["months"] * MONTH / 3600 * opt["gpus"] / (opt["by_hand"] + opt["automatic"])
    cluster = load("kokolis2025_clusters").data
    slow = 60.0 * cluster["save_min"], 60.0 * cluster["restart_min"][1]
    gpus, stall = many["gpus"], 60.0 * many["restart"]["stall_min"]
    return {
        # Llama 3's rate; save and restart of Kokolis et al.
        "one machine, 8 GPUs": Job(llama_gpu_hours(), 8, *slow),
        # Daly (2006), figure 3
        "Daly's, a failure a day": _daly(1440),
        # 105 restarts in 2 months; save and restart of Kokolis et al.
        "OPT-175B, 992 GPUs": Job(opt_hours, opt["gpus"], *slow),
        # its rate; all wait for ByteCheckpoint's save, 51 s
        "Llama 3, 16 384 GPUs": waits,
        # a failure every 18 minutes; restart of Salpekar et al.; save as above
        "100 000 GPUs": Job(BETWEEN_100K / 3600 * gpus, gpus, waits.save, stall),
        # Daly (2006), figure 5
        "Daly's, four failures an hour": _daly(15),
    }


def _daly(minutes: float) -> Job:
    return Job(minutes / 60, 1, save=300.0, restart=600.0)


class Compared(NamedTuple):
    """A job's interval by the formula beside the best one on the clock, in seconds.

    young: Young's first approximation. best: the mean over the seeds. share: on the clock with the
    formula's interval, and most: with the best one.
    """

    name: str
    job: Job
    formula: float
    young: float
    best: float
    share: float
    most: float

    @property
    def off(self) -> float:
        """How far the formula's interval is from the best one, as a share of that."""
        return self.formula / self.best - 1

    @property
    def lost_more(self) -> float:
        """How much more time is lost with the formula's interval, as a share of what the best one
        loses."""
        return (self.most - self.share) / (1 - self.most)


def compare(interval: Interval) -> list[Compared]:
    """The formula's interval and the best one on the clock, for each of the `settings`: three runs
    of the clock, each with another luck."""
    found = []
    lucks = [luck(FAILURES, seed) for seed in SEEDS]
    for name, job in settings().items():
        chosen = float(interval(job.save, job.restart, job.gpu_hours, job.gpus))
        best, most = np.mean([best_on_clock(job, each) for each in lucks], axis=0).tolist()
        there = float(np.mean([share(job, chosen, each) for each in lucks]))
        young = math.sqrt(2 * job.save * job.mtbf)
        found.append(Compared(name, job, chosen, young, best, there, most))
    return found


def chosen_for(job: Job, interval: Interval) -> float:
    """What the formula says for a job; at least as long as the checkpoint takes to be complete."""
    chosen = float(interval(job.save, job.restart, job.gpu_hours, job.gpus))
    return max(chosen, job.behind - job.save)


def expected_share(job: Job, seconds: float, effective: Share) -> float:
    """The expected share where everybody restarts: a checkpoint that is complete `behind` seconds
    late counts where no failure comes meanwhile, exp(−behind/mtbf) of them."""
    on_time = float(effective(seconds, job.save, job.restart, job.mtbf))
    return on_time * math.exp(-job.behind / job.mtbf)
