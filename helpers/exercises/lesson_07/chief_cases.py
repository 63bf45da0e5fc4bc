"""The cases of exercise 07.5: turns of a chief, and what each should do."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.spec import Case

RATE = 0.5


def cases(seed: int) -> list[Case]:
    """Seed 0: 2 of 3 with the default, 2 of 3 with none, 1 of 1, 5 of 2, 2 of 5; else others."""
    random = rng(seed, "07.5")
    shapes = [(2, 3, -1), (2, 3, 0), (1, 1, -1), (5, 2, 3), (2, 5, 4)]
    if seed:
        shapes = [(n - 1, n, -1) for n in (4, 6)] + [(1, 1, 0), (1, 2, 0), (3, 3, -1)]
        some = int(random.integers(3, 8))
        shapes += [(some, 2, some - 2), (3, 5, int(random.integers(1, 6)))]
    made = []
    for aggregate, total, num_tokens in shapes:
        turns = int(random.integers(4, 8))
        ready = [turn in (1, 3) or random.random() < 0.3 for turn in range(turns)]
        ready[0] = False
        means = [np.round(random.uniform(1, 9, 2), 2) if each else None for each in ready]
        weights = np.round(random.uniform(-9, 9, 2), 2)
        name = f"With {aggregate} of {count(total, 'worker')} and num_tokens={num_tokens}"
        args = (weights, RATE, aggregate, total, num_tokens, means)
        made.append(Case(name, (args,), facts=_facts(*args)))
    return made


def _facts(
    weights: np.ndarray,
    rate: float,
    aggregate: int,
    total: int,
    num_tokens: int,
    means: list[np.ndarray | None],
) -> dict[str, Any]:
    """What is wanted of each turn."""
    made, turns = 0, list[dict[str, Any]]()
    for mean in means:
        before = weights
        if mean is not None:
            weights, made = weights - rate * mean, made + 1
        new = 0 if mean is None else total if total > aggregate else aggregate
        turns.append(
            {
                "gave": mean is not None,
                "step": made,
                "weights": weights,
                "tokens": [made] * new,
                "before": before,
                "mean": mean,
            }
        )
    start = [0] * (aggregate if num_tokens < 0 else num_tokens)
    return {"start": start, "turns": turns, "aggregate": aggregate, "total": total}
