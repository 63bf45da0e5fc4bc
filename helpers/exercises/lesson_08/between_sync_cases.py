"""The cases of exercise 08.5: who makes a step in each round, and what it should come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.lesson_08 import line
from helpers.exercises.spec import Case

# aggregate, workers, servers, and for each round the workers that make a step in it. A round is
# either `aggregate` workers on the current version, or one worker that comes too late.
_TWO_OF_THREE = (2, 3, 1, ((0, 2), (1,), (1, 2), (0,)))
_SHAPES = (
    _TWO_OF_THREE,
    (1, 1, 1, ((0,), (0,))),
    (2, 2, 2, ((0, 1), (0, 1))),
    (3, 5, 1, ((0, 2, 4), (1,), (3,), (1, 3, 4))),
)
_HIDDEN = (
    (2, 3, 2, ((1, 2), (0,), (0, 1), (2,))),
    (1, 2, 1, ((1,), (0,), (0,), (1,))),
    (3, 4, 1, ((0, 1, 3), (2,), (1, 2, 3))),
)


def cases(seed: int) -> list[Case]:
    """2 of 3 workers first, then 1 of 1, 2 of 2 and 3 of 5. Hidden: one of three others."""
    random = rng(seed, "08.5")
    made = []
    for aggregate, workers, servers, rounds in _SHAPES if not seed else (_HIDDEN[seed % 3],):
        rows, start, rate = line.world(random, workers)
        want = _rounds(rows, start, rate, aggregate, rounds)
        spare = f", {workers - aggregate} spare" if workers > aggregate else ""
        made.append(
            Case(
                f"With {aggregate} of {count(workers, 'worker')}{spare}",
                ((servers, aggregate, rows, start, rate, [list(r) for r in rounds]),),
                facts={
                    "aggregate": aggregate,
                    "workers": workers,
                    "servers": servers,
                    "rounds": rounds,
                    "want": want,
                    "sum": line.step(
                        start, [line.gradient(rows[w], start) for w in rounds[0]], rate, 1.0
                    ),
                },
            )
        )
    return made


def _rounds(
    rows: line.Rows,
    start: line.Weights,
    rate: float,
    aggregate: int,
    rounds: Sequence[Sequence[int]],
) -> list[dict[str, Any]]:
    """The state after each round: a worker's step is that of the token that it took last."""
    weights, step, queue = start, 0, list[int]()
    mine = [0] * len(rows)
    want = []
    for workers in rounds:
        fresh = [w for w in workers if mine[w] == step]
        if len(fresh) == aggregate:
            each = [line.gradient(rows[w], weights) for w in fresh]
            weights, step = line.step(weights, each, rate, 1 / aggregate), step + 1
            queue += [step] * len(rows)
        for worker in workers:
            mine[worker] = queue.pop(0)
        late = len(workers) - len(fresh)
        want.append({"step": step, "tokens": len(queue), "weights": weights, "late": late})
    return want
