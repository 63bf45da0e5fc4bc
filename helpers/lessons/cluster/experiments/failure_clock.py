"""A job that fails, on a virtual clock: it works, saves, fails, restarts and works again.

Where everybody restarts there are two ways to the same seconds. `run` goes from event to event and
tells what the job did. `share` is for the many thousand failures that a mean needs: each failure
begins the same game anew, so all gaps between failures are worked out at once. A test holds the two
to the same share. `quorum` is for replica groups, of which the failed one alone restarts.

What is taken for granted: failures come at random, one after another, exponentially distributed,
each of any GPU; a failure is noticed when it comes; a save that is interrupted is worth nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Job:
    """What a job is like, in seconds.

    gpu_hours: mean hours between two failures of one GPU. gpus: in the job. save: for which
    training stands still at each checkpoint. restart: from a failure until what failed works
    again. behind: from the end of a save, when training goes on, until the checkpoint is complete;
    0 for a save that all wait for. groups: replica groups, of which the failed one alone restarts;
    1: everybody restarts. stall: for which the other groups stand still at a failure.
    """

    gpu_hours: float
    gpus: int
    save: float
    restart: float
    behind: float = 0.0
    groups: int = 1
    stall: float = 0.0

    def __post_init__(self) -> None:
        seconds = self.save, self.restart, self.behind, self.stall
        if not (self.gpu_hours > 0 and self.gpus >= 1 and min(seconds) >= 0):
            raise ValueError(
                "A job has 1 GPU or more, these fail after more than 0 hours, and nothing takes "
                f"less than 0 s: not {self}."
            )
        if not 1 <= self.groups <= self.gpus:
            raise ValueError(f"{self.gpus} GPUs make 1 to {self.gpus} groups, not {self.groups}.")

    @property
    def mtbf(self) -> float:
        """Mean seconds between two failures of the job: the rates of its GPUs add up."""
        return 3600 * self.gpu_hours / self.gpus

    def on(self, gpus: int) -> Job:
        """The same on another number of GPUs, in groups of the same size."""
        size = self.gpus / self.groups
        groups = 1 if self.groups == 1 else max(1, round(gpus / size))
        return replace(self, gpus=gpus, groups=groups)


class Luck(NamedTuple):
    """When failures come, and where: the same luck for every job makes jobs comparable.

    gaps: from one failure to the next, (failures,), in units of the mean. places: which GPU fails,
    from 0 to 1, (failures,).
    """

    gaps: np.ndarray
    places: np.ndarray


def luck(failures: int, seed: int = 0) -> Luck:
    """Failures at random: exponentially distributed gaps, and any GPU alike."""
    random = np.random.default_rng(seed)
    return Luck(random.exponential(size=failures), random.random(failures))


class Span(NamedTuple):
    """What the job did for a while: "work", "save", "restart" or "lost" work."""

    what: str
    begin: float
    end: float


@dataclass
class Run:
    """A job from its start to its last failure.

    seconds: that passed. useful: seconds of work that are left. spans: what it did.
    """

    seconds: float
    useful: float
    spans: list[Span] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The effective share of time."""
        return self.useful / self.seconds


def run(job: Job, interval: float, failures: Luck, spans: bool = False) -> Run:
    """A job where everybody restarts, from event to event.

    interval: seconds of work between two saves. spans: whether to tell what it did, for a picture.
    The job begins with a restart, as if it had failed just before, and ends with the last failure.
    What was not in a complete checkpoint at a failure is lost.
    """
    _check(job, interval)
    found = Run(0.0, 0.0)
    for gap in (failures.gaps * job.mtbf).tolist():
        begin, end = found.seconds, found.seconds + gap
        now = safe = begin + job.restart  # all before `safe` is in a checkpoint
        did = [Span("restart", begin, min(now, end))]
        while now < end:
            saves, trains = now + interval, now + interval + job.save
            did.append(Span("work", now, min(saves, end)))
            if saves < end and job.save:
                did.append(Span("save", saves, min(trains, end)))
            if trains + job.behind <= end:
                safe, found.useful = trains, found.useful + interval
            now = trains
        found.seconds = end
        found.spans += [
            one._replace(what="lost") if one.what == "work" and one.begin >= safe else one
            for one in (did if spans else [])
        ]
    return found


def quorum(job: Job, failures: Luck) -> float:
    """The effective share of time where only the group with the failed GPU restarts.

    All groups begin with a restart. Nothing is done again, as long as one group is left.
    """
    groups = np.minimum((failures.places * job.groups).astype(int), job.groups - 1).tolist()
    times = np.cumsum(failures.gaps * job.mtbf).tolist()
    back = [job.restart] * job.groups  # when each group takes part again, or has
    changes = [(job.restart, job.groups, 0)]  # when, groups that come or go, reasons to stand still
    for time, group in zip(times, groups, strict=True):
        if back[group] <= time:
            changes += [(time, -1, 1), (time + job.stall, 0, -1)]
        else:  # it fails again before it was back
            changes.append((back[group], -1, 0))
        back[group] = time + job.restart
        changes.append((back[group], 1, 0))
    at, come, stands = np.array(sorted(changes)).T
    at = np.minimum(at, times[-1])
    working = np.where(np.cumsum(stands) > 0, 0.0, np.cumsum(come))[:-1]
    return float((working * np.diff(at)).sum() / (job.groups * times[-1]))


def share(job: Job, interval: float | np.ndarray, failures: Luck) -> np.ndarray:
    """The effective share of time where everybody restarts, for each interval.

    interval: seconds of work between two saves, one or (intervals,). Returns: as many shares. The
    same as `run`'s, for all gaps between failures at once. Raises ValueError for a job of several
    groups, whose failures depend on each other.
    """
    if job.groups != 1:
        raise ValueError(
            f"Everybody restarts in a job of 1 group; for {job.groups} there is `quorum`."
        )
    intervals = np.atleast_1d(np.asarray(interval, dtype=float))
    gaps = failures.gaps * job.mtbf
    found = np.empty(intervals.shape)
    for at, seconds in enumerate(intervals.tolist()):
        _check(job, seconds)
        saves = np.floor((gaps - job.restart - job.behind) / (seconds + job.save))
        found[at] = seconds * np.maximum(saves, 0).sum() / gaps.sum()
    return found if np.ndim(interval) else found[0]


def best_on_clock(job: Job, failures: Luck) -> tuple[float, float]:
    """The interval that is best on the clock, and the share of time with it.

    Wide steps find where about, with a tenth of the failures; narrow ones around it, all with the
    same failures, go into a curve of the fourth degree in the interval's logarithm, whose highest
    point it is. So the clock's own luck is smoothed, and no formula is asked.
    """
    few = Luck(*(each[: max(1000, len(each) // 10)] for each in failures))
    shortest = max(job.behind - job.save, job.mtbf * 1e-4, 1e-3)
    wide = np.geomspace(shortest, 4 * job.mtbf, 61)
    about = float(wide[np.argmax(share(job, wide, few))])
    near = np.geomspace(max(shortest, about / 1.8), about * 1.8, 41)
    places = np.log(near / about)
    curve = np.polynomial.Polynomial.fit(places, share(job, near, failures), 4)
    fine = np.linspace(places[0], places[-1], 2001)
    top = int(np.argmax(curve(fine)))
    return about * math.exp(fine[top]), float(curve(fine[top]))


def _check(job: Job, interval: float) -> None:
    if not interval > 0 or interval + job.save < job.behind:
        raise ValueError(
            f"Work between two saves takes more than 0 s, and a checkpoint is complete before the "
            f"next save: {interval} s are too short for {job}."
        )
