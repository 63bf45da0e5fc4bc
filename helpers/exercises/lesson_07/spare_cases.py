"""The cases of exercise 07.3: workers that arrive in some order, and what each turn should do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.spec import Case

RATE = 0.25


def cases(seed: int) -> list[Case]:
    """Seed 0: 2 of 3 workers, then 3 of 5, 1 of 1, 1 of 2 and 3 of 3; else other orders."""
    random = rng(seed, "07.3")
    shapes = [(3, 2), (5, 3), (1, 1), (2, 1), (3, 3)]
    if seed:
        shapes = [(4, 3), (6, 4), (1, 1), (2, 1), (3, 3), (7, 2)]
    made = []
    for number, (workers, aggregate) in enumerate(shapes):
        goals = np.round(random.uniform(-4, 4, (workers, 3)), 2)
        goals[:, 0] += 1 + np.arange(workers)  # no two means agree by chance
        order = arrivals(random, workers, aggregate, 6 * workers, telling=not number)
        want = turns(goals, order, aggregate)
        made.append(
            Case(
                f"With N={aggregate} of {count(workers, 'worker')}",
                ((goals, RATE, (aggregate,), order),),
                facts={"want": want, "workers": workers, "aggregate": aggregate},
            )
        )
    return made


def arrivals(
    random: np.random.Generator, workers: int, aggregate: int, turns: int, telling: bool
) -> list[int]:
    """Workers in an order in which they can arrive. telling: the late one comes soon."""
    computing, held, order = dict.fromkeys(range(workers), 0), list[int](), list[int]()
    version = 0
    while len(order) < turns:
        late = [w for w, started in computing.items() if started < version]
        worker = int(random.choice(sorted(computing)))
        if telling and late and random.random() < 0.5:
            worker = late[0]
        started = computing.pop(worker)
        order.append(worker)
        if started < version:
            computing[worker] = version
            continue
        held.append(worker)
        if len(held) == aggregate:
            version += 1
            computing |= dict.fromkeys(held, version)
            held = []
    return order


def turns(goals: np.ndarray, order: Sequence[int], aggregate: int) -> list[dict[str, Any]]:
    """What the driver sees of a right rule, for workers that arrive in this order."""
    weights, version = np.zeros(goals.shape[1]), 0
    at = {worker: (weights, 0) for worker in range(len(goals))}
    held: list[int] = []
    seen: list[dict[str, Any]] = []
    for worker in order:
        mine = at[worker][1]
        release, applied, dropped = list[int](), list[list[int]](), list[list[int]]()
        if mine < version:
            release, dropped = [worker], [[worker, mine, version - mine]]
        else:
            held.append(worker)
        if len(held) == aggregate:
            mean = sum(at[w][0] - goals[w] for w in held) / aggregate
            applied = [[w, version, 0] for w in held]
            weights, version, release, held = weights - RATE * mean, version + 1, held, []
        at |= {w: (weights, version) for w in release}
        seen.append(
            {
                "worker": worker,
                "version": mine,
                "weights": weights,
                "made": version,
                "release": sorted(release),
                "applied": sorted(applied),
                "dropped": dropped,
            }
        )
    return seen
