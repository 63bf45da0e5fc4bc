"""How old data is when it is learned from: counted in updates, by a formula.

Age of a rollout: the updates between the moment at which its actor took its copy of the policy and
the moment at which the learner takes the rollout up.
"""

from __future__ import annotations


def mean_staleness(actors: int, queued: float = 0.0, batch: int = 1, fetch_every: int = 1) -> float:
    """The mean age of what a learner learns from, in updates.

    An update makes every rollout one older that is begun and not yet learned from: one in the hands
    of each actor, which plays it or waits to hand it over, and those in the queue. Each update
    takes `batch` rollouts, so the mean is (actors + queued) / batch, however long anything takes;
    that is Little's law, with updates for a clock. If an actor takes a new copy only for every
    `fetch_every`-th rollout, a copy is on average (fetch_every − 1) / 2 of its own rollouts older,
    and between two of these `actors` others are learned from:

        (actors · (fetch_every + 1) / 2 + queued) / batch

    queued: rollouts that an update leaves in the queue, on average: all places of it where the
    learner is slower than all actors together, few where it is quicker.

    A worker of lesson 06 waits until its gradient is applied, and has no rollout of its own in
    flight: there it is actors − 1. Source: Little, "A Proof for the Queuing Formula L = λW" (1961).
    """
    return (actors * (fetch_every + 1) / 2 + queued) / batch
