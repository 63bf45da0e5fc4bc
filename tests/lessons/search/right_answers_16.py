"""Right answers of lesson 16 in another style than the course's own."""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.lessons.search.algorithms.rungs import Job, rungs

# --- 16.1: a trial that can be drawn again --------------------------------------------------------


def draw_by_python(space: Any, trial: int, seed: int = 0) -> Any:
    """Python's generator, seeded with a text; a float for each name in turn."""
    own = random.Random(f"{seed}/{trial}")
    return {name: space[name].at(own.random()) for name in sorted(space)}


def draw_by_spawning(space: Any, trial: int, seed: int = 0) -> Any:
    """A child of the seed's sequence, by its key; numpy's floats."""
    child = np.random.SeedSequence(seed, spawn_key=(trial,))
    places = iter(np.random.Generator(np.random.Philox(child)).random(len(space)))
    found: dict[str, Any] = {}
    for name in sorted(space, reverse=True):
        found[name] = space[name].at(next(places))
    return found


# --- 16.2: who goes on ----------------------------------------------------------------------------


def promoted_by_numpy(losses: dict[int, float], factor: int) -> Any:
    """numpy sorts NaN to the end, and keeps equals where it is asked to; an array."""
    trials = np.array(sorted(losses), dtype=int)
    values = np.array([losses[trial] for trial in trials.tolist()])
    return trials[np.argsort(values, kind="stable")][: len(trials) // factor]


def promoted_by_heap(losses: dict[int, float], factor: int) -> tuple[int, ...]:
    """Takes the smallest one by one; a tuple."""
    heap = [(math.isnan(v), -math.inf if math.isnan(v) else v, t) for t, v in losses.items()]
    heapq.heapify(heap)
    return tuple(heapq.heappop(heap)[2] for _ in range(int(len(losses) / factor)))


# --- 16.3: nobody waits ---------------------------------------------------------------------------


class AshaByNumpy:
    """Arrays by rung and trial; numbers as numpy has them."""

    def __init__(self, trials: int, least: int, most: int, factor: int = 3) -> None:
        self.resources = np.array(rungs(least, most, factor))
        self.factor, self.begun = factor, 0
        self.known = np.zeros((len(self.resources), trials), bool)
        self.left = np.zeros_like(self.known)
        self.losses = np.zeros(self.known.shape)

    def report(self, job: Job, loss: float) -> None:
        """Note it."""
        self.known[job.rung, job.trial] = True
        self.losses[job.rung, job.trial] = loss

    def next(self) -> Job | None:
        """From the top."""
        for rung in range(len(self.resources) - 2, -1, -1):
            trials = np.flatnonzero(self.known[rung])
            order = trials[np.argsort(self.losses[rung, trials], kind="stable")]
            for trial in order[: len(order) // self.factor]:
                if not self.left[rung, trial]:
                    self.left[rung, trial] = True
                    return Job(trial, rung + 1, self.resources[rung + 1])
        self.begun += 1
        if self.begun > self.known.shape[1]:
            return None
        return Job(self.begun - 1, 0, self.resources[0])


# --- 16.4: lost workers ---------------------------------------------------------------------------


class LedgerOfLists:
    """Lists and a deque: `remove` of a list raises the ValueError by itself."""

    def __init__(self, search: Any) -> None:
        self.search = search
        self.jobs: list[Job] = []
        self.lost: deque[Job] = deque()

    def next(self) -> Job | None:
        """The lost ones first."""
        job: Job | None = self.lost.popleft() if self.lost else self.search.next()
        self.jobs += [job] if job else []
        return job

    def report(self, job: Job, loss: float) -> bool:
        """Says that it counted."""
        self.jobs.remove(job)
        self.search.report(job, loss)
        return True

    def give_up(self, job: Job) -> None:
        """To the end of the lost ones."""
        self.jobs.remove(job)
        self.lost.append(job)

    def done(self) -> bool:
        """Nothing anywhere."""
        return len(self.jobs) + len(self.lost) == 0 and self.search.done()


# --- 16.5: how good is the chosen one? ------------------------------------------------------------


def chosen_by_rows(right: Any, parts: Any) -> Any:
    """Notes for each row whether its judge's model was right; numpy's mean."""
    table, hit = np.asarray(right), np.zeros(right.shape[1])
    for part in parts:
        others = np.setdiff1d(np.arange(table.shape[1]), part)
        counts = [int(table[model][others].sum()) for model in range(len(table))]
        hit[part] = table[counts.index(max(counts))][part]
    return hit.mean()


# --- 16.6: better, or luckier? --------------------------------------------------------------------


def p_value_by_scipy(first: Any, second: Any) -> Any:
    """scipy's own test of a fair toss."""
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    apart = [a for a, b in zip(first, second, strict=True) if a != b]
    return binomtest(sum(apart), len(apart)).pvalue if apart else 1


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("16.1", draw_by_python),
    ("16.1", draw_by_spawning),
    ("16.2", promoted_by_heap),
    ("16.2", promoted_by_numpy),
    ("16.3", AshaByNumpy),
    ("16.4", LedgerOfLists),
    ("16.5", chosen_by_rows),
    ("16.6", p_value_by_scipy),
]
