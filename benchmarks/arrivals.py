"""Servers and workers without gradients: when each would arrive, and how many updates late.

A timing-only run takes the seconds that each worker computes, step by step, and follows every
gradient through the server's link: in, one after the other, each for `push` seconds; the answer
out, one after the other, each for `pull` seconds; `latency` more each way. Exactly what
`helpers.train` does on its virtual clock, as many times quicker as gradients take to compute.

A run ends with the last gradient before a worker has used up its times.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

FEW = 40  # workers: up to here a heap is quicker than windows of numpy
MANY = 4000  # numbers: from here on numpy sorts them quicker where their order may change


@dataclass(frozen=True)
class Arrivals:
    """Gradients as they reach an asynchronous server, each of them an update.

    seconds: of each arrival, (updates,). workers: whose gradients they are, (updates,).
    """

    seconds: np.ndarray
    workers: np.ndarray

    @cached_property
    def staleness(self) -> np.ndarray:
        """For each gradient, the updates made since its worker was given its weights: (updates,).

        A worker is given the weights that its last gradient has made, at first those of the start.
        """
        order = np.argsort(self.workers, kind="stable")
        whose = self.workers[order]
        before = np.empty_like(order)
        before[1:] = order[:-1]
        before[np.flatnonzero(np.diff(whose, prepend=-1))] = -1
        late = np.empty_like(order)
        late[order] = order - before - 1
        return late


@dataclass(frozen=True)
class Steps:
    """Updates of a synchronous server. seconds: of each, (updates,). dropped: gradients so far
    that came too late, at each update: (updates,)."""

    seconds: np.ndarray
    dropped: np.ndarray


def asynchronous(
    times: np.ndarray, push: float = 0.0, pull: float = 0.0, latency: float = 0.0
) -> Arrivals:
    """Every gradient is applied when it comes, and its worker goes on with new weights.

    times: (steps, workers) seconds, such as a model's `table`. push, pull: seconds that a
    gradient and the weights occupy the server's link, bytes over bandwidth. latency: seconds.
    """
    _check(times, push, pull, latency)
    by_heap = times.shape[1] <= FEW
    return (_by_heap if by_heap else _by_windows)(times, push, pull, latency)


def synchronous(
    times: np.ndarray,
    aggregate: int | None = None,
    push: float = 0.0,
    pull: float = 0.0,
    latency: float = 0.0,
    spell: float | None = None,
) -> Steps:
    """An update takes `aggregate` gradients of its step, those of all workers if None.

    A worker that is late finishes, learns that its step is over, pulls, and goes on with the
    present step. spell: the seconds that a row of `times` lasts on the clock, for all steps that
    begin in it, as with `FittedStragglers`; None: each step of a worker takes its next row. The
    other arguments are those of `asynchronous`.
    """
    _check(times, push, pull, latency)
    workers = times.shape[1]
    needed = workers if aggregate is None else aggregate
    if not 1 <= needed <= workers:
        raise ValueError(f"An update can take 1 to {workers} gradients of a step, not {needed}.")
    ends = _ends(times, spell)
    given = _first_weights(workers, pull)
    heap = [(ends(w, given[w] + latency), w, w, 0) for w in range(workers)]
    heapq.heapify(heap)
    into, out, number, version, late = 0.0, given[-1], workers, 0, 0
    held: list[int] = []
    seconds: list[float] = []
    dropped: list[int] = []
    try:
        while True:
            moment, _, worker, began = heapq.heappop(heap)
            into = max(moment, into) + push
            arrived = into + latency
            if began < version:
                late += 1
                released = [worker]
            else:
                held.append(worker)
                if len(held) < needed:
                    continue
                version += 1
                seconds.append(arrived)
                dropped.append(late)
                released, held = sorted(held), []
            for worker in released:
                out = max(arrived, out) + pull
                number += 1
                heapq.heappush(heap, (ends(worker, out + latency), number, worker, version))
    except StopIteration:
        return Steps(np.array(seconds), np.array(dropped))


def _ends(times: np.ndarray, spell: float | None) -> Callable[[int, float], float]:
    """When a worker's step ends that begins now; StopIteration once its times are used up."""
    if spell is None:
        take = [iter(column).__next__ for column in times.T.tolist()]
        return lambda worker, now: now + take[worker]()
    if not spell > 0:
        raise ValueError(f"A row of times lasts some seconds on the clock, not {spell:g}.")
    rows = times.tolist()

    def end(worker: int, now: float) -> float:
        row = int(now / spell)
        if row >= len(rows):
            raise StopIteration
        return float(now + rows[row][worker])

    return end


def _by_heap(times: np.ndarray, push: float, pull: float, latency: float) -> Arrivals:
    """One gradient after the other: the next is the smallest of a heap."""
    workers = times.shape[1]
    # A round's two latencies are part of its time, and `out` is earlier by one: fewer sums a step.
    take = [iter(column).__next__ for column in (times + 2 * latency).T.tolist()]
    # The second entry says who comes first where two finish at once: who began first.
    given = [moment - latency for moment in _first_weights(workers, pull)]
    heap = [(given[w] + take[w](), w, w) for w in range(workers)]
    heapq.heapify(heap)
    into, out, number = 0.0, given[-1], workers
    passed: list[float] = []
    order: list[int] = []
    passes, comes, replace = passed.append, order.append, heapq.heapreplace
    try:
        while True:
            moment, _, worker = heap[0]
            if moment < into:
                moment = into
            into = moment = moment + push
            passes(moment)
            comes(worker)
            if moment < out:
                moment = out
            out = moment = moment + pull
            number += 1
            replace(heap, (moment + take[worker](), number, worker))
    except StopIteration:
        return Arrivals(np.array(passed) + latency, np.array(order))


def _by_windows(times: np.ndarray, push: float, pull: float, latency: float) -> Arrivals:
    """As many gradients at once as are sure to come before any that follows from them.

    Sorted by when their workers finish, the pending gradients go through both links by a
    cumulative maximum, and each gives the moment at which its worker finishes next. Those that
    finish before the earliest of these moments form the window. It holds at most one gradient of
    a worker, and with times that are alike most of them.
    """
    steps, workers = times.shape
    flat = np.append(np.ascontiguousarray(times.T).ravel(), np.inf)  # worker after worker
    place = np.arange(workers) * steps  # in flat, of the step that each pending worker is at
    given = _first_weights(workers, pull)
    ends = np.array(given) + latency + flat[place]
    in_turn, out_turn = np.arange(workers) * push, np.arange(workers) * pull
    into, out, windows = 0.0, given[-1], 0
    seconds, places = [], []
    while True:
        order = _in_order(ends)
        ends, place = ends[order], place[order]
        through = _queue(ends, into, push, in_turn)
        arrived = through + latency if latency else through
        answered = _queue(arrived, out, pull, out_turn)
        follow = answered + latency + flat[place + 1]
        window = 1 + int(np.count_nonzero(ends[1:] <= np.minimum.accumulate(follow)[:-1]))
        windows += 1
        last = False
        if windows >= steps:  # before, nobody can be at the last of its times
            spent = np.flatnonzero(place[:window] % steps == steps - 1)
            if len(spent):
                window, last = int(spent[0]) + 1, True
        seconds.append(arrived[:window])
        places.append(place[:window])
        if last:
            return Arrivals(np.concatenate(seconds), np.concatenate(places) // steps)
        into, out = through[window - 1], answered[window - 1]
        ends = np.concatenate((ends[window:], follow[:window]))
        place = np.concatenate((place[window:], place[:window] + 1))


def _first_weights(workers: int, pull: float) -> list[float]:
    """When each worker's first weights have passed the link, one worker after the other."""
    return np.cumsum(np.full(workers, float(pull))).tolist()


def _in_order(ends: np.ndarray) -> np.ndarray:
    """The order of the ends. Equal ones stay in the order of their beginnings."""
    if len(ends) > MANY:
        order = ends.argsort()
        if np.diff(ends[order]).all():
            return order
    return ends.argsort(kind="stable")


def _queue(ready: np.ndarray, free: float, each: float, turn: np.ndarray) -> np.ndarray:
    """When each message has passed a link that is free from `free` on.

    ready: when each could start, ascending. each: seconds a message. turn: (0, 1, 2, …) × each.
    """
    if not each:
        return ready  # nobody is ready before the last one has passed
    start = ready - turn
    start[0] = max(start[0], free)
    np.maximum.accumulate(start, out=start)
    start += turn
    start += each
    return start


def _check(times: np.ndarray, push: float, pull: float, latency: float) -> None:
    if times.ndim != 2 or not times.size:
        raise ValueError(f"times has the shape {times.shape}; give (steps, workers).")
    if not times.min() >= 0:
        raise ValueError("A step takes 0 seconds or more; some of the times are below 0.")
    if min(push, pull, latency) < 0:
        raise ValueError("push, pull and latency are seconds, 0 or more.")
