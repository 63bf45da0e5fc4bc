"""A job that fails, on a virtual clock: it works, saves, fails, restarts and works again.

Two ways to the same seconds. `run` goes from event to event and tells what every replica group did;
it takes any `Job`. `share` is for the many thousand failures that a mean needs: where everybody
restarts, each failure begins the same game anew, so all gaps between failures are worked out at
once. A test holds the two to the same share.

What is taken for granted: failures come at random, one after another, exponentially distributed,
each of any GPU; a failure is noticed when it comes; a save that is interrupted is worth nothing.
"""

from __future__ import annotations

import heapq
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
    """What a replica group did for a while: "work", "save", "stall", "restart" or "lost" work."""

    group: int
    what: str
    begin: float
    end: float


@dataclass
class Run:
    """A job from its start to its last failure.

    seconds: that passed. useful: seconds of the whole job's work that are left. wiped: how often
    no group was left, so that all went back to the checkpoint. spans: what each group did.
    """

    seconds: float
    useful: float
    wiped: int
    spans: list[Span] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The effective share of time."""
        return self.useful / self.seconds


def run(job: Job, interval: float, failures: Luck, spans: bool = False) -> Run:
    """A job from event to event. interval: seconds of work between two saves.

    spans: whether to tell what each group did, for a picture. The job begins with a restart, as if
    it had failed just before, and ends with the last failure. What was not saved then is lost where
    no group is left, and counts where one is.
    """
    return _Clock(job, interval, spans).run(failures)


class _Clock:
    """The events of one run. `now` is the time; everything before it is settled."""

    def __init__(self, job: Job, interval: float, spans: bool) -> None:
        _check(job, interval)
        self.job, self.interval = job, interval
        self.now, self.stalled_until = 0.0, 0.0
        self.back = [(job.restart, group) for group in range(job.groups)]  # a heap: who returns
        self.due = [job.restart] * job.groups  # when; a failure during a restart puts it off
        self.up = 0  # groups that are there
        self.phase, self.left = "work", interval  # and how many seconds of it are left
        self.done = 0.0  # work so far, in seconds of all groups
        self.saved = 0.0  # work in the last complete checkpoint
        self.coming: list[tuple[float, float, float]] = []  # saves: complete when, of what work
        self.begun = self.safe = 0.0  # when the last save began, and the last complete one
        self.wiped = 0
        self.spans: list[Span] | None = [] if spans else None

    def run(self, failures: Luck) -> Run:
        """Up to the last failure."""
        groups = np.minimum((failures.places * self.job.groups).astype(int), self.job.groups - 1)
        times = np.cumsum(failures.gaps * self.job.mtbf).tolist()
        for time, group in zip(times, groups.tolist(), strict=True):
            self.until(time)
            self.fail(group)
        useful = self.done if self.up else self.saved
        return Run(self.now, useful, self.wiped, self.spans or [])

    def until(self, time: float) -> None:
        """Let everything happen up to a time."""
        while True:
            working = self.up > 0 and self.now >= self.stalled_until
            happens = [time]
            if self.back:
                happens.append(self.back[0][0])
            if working:
                happens.append(self.now + self.left)
            elif self.up:
                happens.append(self.stalled_until)
            following = min(happens)
            self.note(following, working)
            if working:
                if self.phase == "work":
                    self.done += (following - self.now) * self.up / self.job.groups
                # Not left − (following − now), which may leave a rest too small to move the clock.
                ends = following == self.now + self.left
                self.left = 0.0 if ends else self.left - (following - self.now)
                self.now = following
                if self.left == 0.0:
                    self.turn()
            self.now = following
            while self.back and self.back[0][0] <= self.now:
                self.come_back()
            if self.now >= time:
                return

    def turn(self) -> None:
        """From work to saving, and from saving to work."""
        if self.phase == "work":
            self.phase, self.left, self.begun = "save", self.job.save, self.now
        if self.phase == "save" and self.left == 0.0:
            self.phase, self.left = "work", self.interval
            self.coming.append((self.now + self.job.behind, self.done, self.begun))

    def come_back(self) -> None:
        """A group takes part again."""
        when, group = heapq.heappop(self.back)
        if self.due[group] != when:
            return  # it failed again meanwhile
        self.due[group] = math.inf
        if self.up == 0:  # all that there is now is what was saved
            self.phase, self.left = "work", self.interval
        self.up += 1

    def fail(self, group: int) -> None:
        """A GPU of a group fails: this one restarts, the others take a moment."""
        if self.due[group] == math.inf:
            self.up -= 1
            self.stalled_until = self.now + self.job.stall
            if self.up == 0:
                self.lose()
        self.due[group] = self.now + self.job.restart
        heapq.heappush(self.back, (self.due[group], group))

    def lose(self) -> None:
        """Nobody is left: back to the last complete checkpoint."""
        for complete, work, begun in self.coming:
            if complete <= self.now:
                self.saved, self.safe = work, begun
        if self.spans is not None:
            self.spans = [
                one._replace(what="lost") if one.what == "work" and one.begin >= self.safe else one
                for one in self.spans
            ]
        self.coming, self.done = [], self.saved
        self.stalled_until = self.now
        self.wiped += 1

    def note(self, until: float, working: bool) -> None:
        """What each group does until then."""
        if self.spans is None or until <= self.now:
            return
        for group in range(self.job.groups):
            here = self.due[group] == math.inf
            what = (self.phase if working else "stall") if here else "restart"
            self.spans.append(Span(group, what, self.now, until))


def share(job: Job, interval: float | np.ndarray, failures: Luck) -> np.ndarray:
    """The effective share of time where everybody restarts, for each interval.

    interval: seconds of work between two saves, one or (intervals,). Returns: as many shares. The
    same as `run`'s, for all gaps between failures at once. Raises ValueError for a job of several
    groups, whose failures depend on each other.
    """
    if job.groups != 1:
        raise ValueError(
            f"Everybody restarts in a job of 1 group; for {job.groups} there is `run`."
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
