"""The cases of exercise 17.6: gradients whose sum in another order has other bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.spec import Case

PLAIN, _CANCELLING = 4, 24  # elements of a gradient
_LARGE = {"float32": 2.0**40, "float64": 2.0**70}  # to which adding a small one changes nothing


def cases(seed: int) -> list[Case]:
    """Rank r has every N-th part; then ranks without a part, and parts that lie anywhere.

    Seed 0: 3 ranks with 20 parts, then 1, 2 and 5 ranks, in float64 and float32.
    """
    random = rng(seed, "17.6")
    more = 3 * int(random.integers(0, 3)) if seed else 0  # the first has unequal ranks
    settings = [
        (3, 20 + more, "float64", False),
        (1, 20 + more, "float32", False),
        (2, 18 + more, "float32", False),
        (5, 21 + more, "float64", False),
        (5, 3, "float32", False),
        (3, 11 + more, "float64", True),
        (1, 1, "float64", False),
    ]
    return [_case(random, *setting) for setting in settings]


def _case(random: Any, ranks: int, parts: int, kind: str, anywhere: bool) -> Case:
    owner, order = [part % ranks for part in range(parts)], list(range(parts))
    if anywhere:
        owner = random.integers(0, ranks, parts).tolist()
        owner[:2] = [ranks - 1, 0]  # not as every N-th
    random.shuffle(order)  # of the parts in each rank's `mine`
    table = _gradients(random, owner, ranks, kind)
    like = random.uniform(1, 9, table.shape[1]).astype(kind)
    args = tuple(
        ({part: table[part] for part in order if owner[part] == rank}, parts, like)
        for rank in range(ranks)
    )
    where = ", which lie anywhere" if anywhere else ""
    name = f"On {count(ranks, 'rank')} with {count(parts, 'part')} in {kind}{where}"
    facts = {"table": table, "owner": owner, "want": _in_order(table)}
    return Case(name, args, ranks, facts=facts)


def _gradients(random: Any, owner: Sequence[int], ranks: int, kind: str) -> np.ndarray:
    """A row for each part. In most columns two numbers cancel that swallow whatever is added to
    them, so what is left tells in which order they were added; the others hold many magnitudes."""
    parts = len(owner)
    table = random.integers(1, 10, (parts, PLAIN + _CANCELLING)).astype(kind)
    sizes = 10.0 ** random.integers(-3, 3, (parts, PLAIN))
    table[:, :PLAIN] = sizes * random.standard_normal((parts, PLAIN))
    for column in range(PLAIN, table.shape[1] if parts > 1 else 0):
        first, second = sorted(random.choice(parts, 2, replace=False).tolist())
        if column % 2 and parts > 2 * ranks:  # both on one rank, which adds nothing else to them
            rank = int(random.choice([r for r in range(ranks) if owner.count(r) > 1]))
            own = [part for part in range(parts) if owner[part] == rank]
            first, second = sorted(random.choice(own, 2, replace=False).tolist())
            table[own, column] = 0
        table[first, column], table[second, column] = _LARGE[kind], -_LARGE[kind]
    if kind == "float64" and parts > 2:  # what float32 has no digit for
        table[0, PLAIN], table[1, PLAIN] = 2.0**24 + 1, -(2.0**24)
        table[2:, PLAIN] = random.integers(1, 10, parts - 2)
    return np.asarray(table)


def _in_order(table: np.ndarray) -> np.ndarray:
    total = np.zeros_like(table[0])
    for row in table:
        total = total + row
    return np.asarray(total)
