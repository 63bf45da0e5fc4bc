"""Actors and one learner on a virtual clock: whose rollout is learned from when, and how old it is.

How long actors play does not depend on what they learn. So the clock runs without any network, and
gives a log; `stale_actors` plays and learns by it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import NamedTuple

from helpers.lessons.parameter_servers.experiments.step_times import Constant, StepTimes

LEARNED, PLAYED = 0, 1  # of events at the same moment, the learner's comes first


class Arrival(NamedTuple):
    """A rollout that the learner took up.

    seconds: on the clock, when it was learned from. actor: who played it. version: of the copy that
    it was played with, in updates. staleness: the updates made from then until it was taken up.
    update: the number of the update that it went into.
    """

    seconds: float
    actor: int
    version: int
    staleness: int
    update: int


class Begun(NamedTuple):
    """A rollout that an actor has begun. number: among all that were begun."""

    number: int
    actor: int
    version: int


def arrivals(
    rollouts: int,
    actors: int = 8,
    mode: str = "asynchronous",
    *,
    times: StepTimes | None = None,
    learning: float = 0.05,
    batch: int = 1,
    queue: int = 0,
    fetch_every: int = 1,
    bound: int = 0,
    seed: int = 0,
) -> list[Arrival]:
    """The log of a run: the first so many rollouts that the learner takes up, in order.

    mode: "synchronous", A2C: all play with one policy, and the learner waits for all of them.
    "asynchronous", IMPALA: an actor hands its rollout over and goes on at once with the newest
    policy. "wait": an actor may only begin what cannot get older than `bound` updates: the learner
    takes rollouts in the order in which they were begun, and the one after j others goes into
    update ⌊j / batch⌋.

    times: seconds that actors play for a rollout, one each if None. learning: seconds the learner
    takes for one. batch: rollouts an update; synchronous, it is all actors'. queue: rollouts that
    stand before the learner while their actors go on; who finds it full waits. fetch_every: an
    actor takes a new copy for every so manieth rollout. seed: of the times. Sources: Mnih et al.
    (2016); Espeholt et al., "IMPALA" (2018), section 3; for "wait", Fu et al., "AReaL" (2025),
    section 5.1.
    """
    clocks = [(times or Constant()).on_clock(actor, seed) for actor in range(actors)]
    batch = actors if mode == "synchronous" else batch
    return Clock(clocks, mode, learning, batch, queue, fetch_every, bound).run(rollouts)


@dataclass
class Clock:
    """The event heap, the actors, the line before the learner, and the learner.

    times: each actor's seconds for a rollout, given what the clock shows. The rest as in
    `arrivals`.
    """

    times: list[Callable[[float], float]]
    mode: str
    learning: float
    batch: int
    queue: int
    fetch_every: int
    bound: int

    def __post_init__(self) -> None:
        actors = len(self.times)
        self.now, self.version, self.begun, self.taken = 0.0, 0, 0, 0
        self.events: list[tuple[float, int, int]] = []  # when, LEARNED or PLAYED, which actor
        self.resting = list(range(actors))  # who plays nothing, the longest first
        self.playing: dict[int, Begun] = {}
        self.line: list[Begun] = []
        self.learns: list[Begun] = []  # what the learner is at
        self.rollouts, self.copies = [0] * actors, [0] * actors
        self.log: list[Arrival] = []

    def run(self, rollouts: int) -> list[Arrival]:
        """Go on until so many rollouts were learned from."""
        self.let_begin()
        while len(self.log) < rollouts:
            self.now, kind, actor = heapq.heappop(self.events)
            if kind == LEARNED:
                self.finish()
            else:
                self.line.append(self.playing.pop(actor))
                self.resting.append(actor)
            self.take_up()
            self.let_begin()
        return self.log[:rollouts]

    def let_begin(self) -> None:
        """Let every actor that rests go on, if it may."""
        for actor in list(self.resting):
            if not self.may_begin(actor):
                continue
            self.resting.remove(actor)
            if self.rollouts[actor] % self.fetch_every == 0:
                self.copies[actor] = self.version
            self.playing[actor] = Begun(self.begun, actor, self.copies[actor])
            self.begun += 1
            self.rollouts[actor] += 1
            end = self.now + self.times[actor](self.now)
            heapq.heappush(self.events, (end, PLAYED, actor))

    def may_begin(self, actor: int) -> bool:
        """Whether an actor that rests need not wait."""
        if self.mode == "synchronous":
            return not self.learns and actor not in {begun.actor for begun in self.line}
        if self.mode == "wait":
            return self.begun // self.batch - self.version <= self.bound
        return actor not in {begun.actor for begun in self.line[self.queue :]}

    def take_up(self) -> None:
        """If the learner is free and a batch stands in line, let it learn."""
        if self.learns:
            return
        if self.mode in ("synchronous", "wait"):
            self.line.sort()
        first = self.line[: self.batch]
        if len(first) < self.batch:
            return
        if self.mode == "wait" and first[-1].number != self.taken + self.batch - 1:
            return
        self.learns, self.line = first, self.line[self.batch :]
        self.taken += self.batch
        heapq.heappush(self.events, (self.now + self.batch * self.learning, LEARNED, -1))

    def finish(self) -> None:
        """The learner has made an update."""
        now, made = self.now, self.version
        self.log += [
            Arrival(now, one.actor, one.version, made - one.version, made) for one in self.learns
        ]
        self.learns = []
        self.version += 1


def counted_staleness(log: Sequence[Arrival]) -> float:
    """The mean over all rollouts of a log, in updates."""
    return mean(arrival.staleness for arrival in log)
