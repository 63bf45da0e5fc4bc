"""Actors and one learner on a virtual clock: whose rollout is learned from when, and how old it is.

How long actors play does not depend on what they learn. So the clock runs without any network, and
gives a log; `stale_actors` plays and learns by it.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from helpers.lessons.parameter_servers.experiments.step_times import Constant, StepTimes

MODES = ("synchronous", "asynchronous", "drop", "wait")
LEARNED, PLAYED = 0, 1  # of events at the same moment, the learner's comes first


class Arrival(NamedTuple):
    """A rollout that the learner took up.

    seconds: on the clock, when it was learned from, or dropped. actor: who played it. version: of
    the copy that it was played with, in updates. staleness: the updates made from then until it
    was taken up. update: the number of the update that it went into; None if it was dropped.
    """

    seconds: float
    actor: int
    version: int
    staleness: int
    update: int | None


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
    bound: int | None = None,
    seed: int = 0,
) -> list[Arrival]:
    """The log of a run: the first so many rollouts that the learner takes up, in order.

    mode: "synchronous", A2C: all play with one policy, and the learner waits for all of them.
    "asynchronous", IMPALA: an actor hands its rollout over and goes on at once with the newest
    policy. "drop": so, too, but what is more than `bound` updates old is thrown away. "wait": an
    actor may only begin what cannot get older than `bound`: the learner takes rollouts in the order
    in which they were begun, and the one after j others goes into update ⌊j / batch⌋.

    times: seconds that actors play for a rollout, one each if None. learning: seconds the learner
    takes for one. batch: rollouts an update; synchronous, it is all actors'. queue: rollouts that
    stand before the learner while their actors go on; who finds it full waits. fetch_every: an
    actor takes a new copy for every so manieth rollout. seed: of the times. Raises ValueError for
    what no run can be. Sources: Mnih et al. (2016); Espeholt et al., "IMPALA" (2018), section 3;
    for "wait", Fu et al., "AReaL" (2025), section 5.1.
    """
    if mode == "synchronous":
        batch = actors
    _check(rollouts, actors, mode, learning, batch, queue, fetch_every, bound)
    clock = Clock(
        actors, mode, times or Constant(), learning, batch, queue, fetch_every, bound or 0, seed
    )
    return clock.run(rollouts)


class Clock:
    """The event heap, the actors, the line before the learner, and the learner."""

    def __init__(
        self,
        actors: int,
        mode: str,
        times: StepTimes,
        learning: float,
        batch: int,
        queue: int,
        fetch_every: int,
        bound: int,
        seed: int,
    ) -> None:
        self.mode, self.learning, self.batch = mode, learning, batch
        self.queue, self.fetch_every, self.bound = queue, fetch_every, bound
        self.times = [times.on_clock(actor, seed) for actor in range(actors)]
        self.now, self.version, self.begun, self.taken = 0.0, 0, 0, 0
        self.events: list[tuple[float, int, int]] = []  # when, LEARNED or PLAYED, which actor
        self.resting = list(range(actors))  # who plays nothing, the longest first
        self.playing: dict[int, Begun] = {}
        self.line: list[Begun] = []
        self.learns: list[Begun] = []  # what the learner is at
        self.rollouts, self.copies = [0] * actors, [0] * actors
        self.log: list[Arrival] = []

    def run(self, rollouts: int) -> list[Arrival]:
        """Go on until so many rollouts were learned from or dropped."""
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
        if self.mode == "drop":
            old = [one for one in self.line if self.version - one.version > self.bound]
            self.line = [one for one in self.line if one not in old]
            self.log += [self.arrival(one, None) for one in old]
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
        self.log += [self.arrival(one, self.version) for one in self.learns]
        self.learns = []
        self.version += 1

    def arrival(self, one: Begun, update: int | None) -> Arrival:
        """A rollout as the log names it."""
        return Arrival(self.now, one.actor, one.version, self.version - one.version, update)


def counted_staleness(log: list[Arrival]) -> float:
    """The mean over all rollouts that were learned from, in updates."""
    found = [arrival.staleness for arrival in log if arrival.update is not None]
    return sum(found) / len(found)


def _check(
    rollouts: int,
    actors: int,
    mode: str,
    learning: float,
    batch: int,
    queue: int,
    fetch_every: int,
    bound: int | None,
) -> None:
    if mode not in MODES:
        raise ValueError(f"There is no mode {mode!r}; there are {', '.join(MODES)}.")
    for name, value in (("rollouts", rollouts), ("actors", actors), ("batch", batch)):
        if value < 1:
            raise ValueError(f"{name}={value} is not possible; give 1 or more.")
    if learning < 0 or queue < 0 or fetch_every < 1:
        raise ValueError(
            f"learning={learning} and queue={queue} are 0 or more, fetch_every={fetch_every} is 1 "
            "or more."
        )
    if mode in ("drop", "wait") and (bound is None or bound < 0):
        raise ValueError(f'mode="{mode}" needs bound=, the updates that a rollout may be old.')
    if mode in ("synchronous", "asynchronous") and bound is not None:
        raise ValueError(f'mode="{mode}" has no bound; "drop" and "wait" have.')
    if mode in ("synchronous", "wait") and fetch_every > 1:
        raise ValueError(f'With mode="{mode}" an actor takes a new copy for each of its rollouts.')
    if mode in ("asynchronous", "drop") and batch > actors + queue:
        raise ValueError(
            f"{actors} actors and {queue} places in the queue never hold the {batch} rollouts that "
            "an update waits for."
        )
