"""The cases of exercise 13.4: a small network cut into stages, and what the whole one gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.lesson_13.told import seconds
from helpers.exercises.spec import Case

FORWARD, BACKWARD = 1e-3, 2e-3
LATENCY = 1e-4
_RATE, _ROWS = 0.1, 2

Told = list[tuple[str, int]]


def cases(seed: int) -> list[Case]:
    """Seed 0: 1F1B and GPipe on 3 ranks, then 1, 2 and 5; else other numbers, and other cuts."""
    random, made = rng(seed, "13.4"), list[Case]()
    shapes = [(3, 4, "1F1B", 1), (3, 3, "GPipe", 1), (1, 3, "1F1B", 2), (2, 4, "1F1B", 2)]
    shapes += [(5, 3, "1F1B", 1), (2, 2, "one after the other", 1)]
    if seed:
        shapes = [(3, int(random.integers(3, 7)), "1F1B", 1), (2, 3, "GPipe", 2)]
        shapes += [(n, int(random.integers(2, 6)), "1F1B", 1) for n in (1, 5)]
        shapes += [(4, int(random.integers(2, 5)), "GPipe", 1)]
    for ranks, microbatches, schedule, steps in shapes:
        told = [_schedule(schedule, r, ranks, microbatches) for r in range(ranks)]
        whole = len(made) != 3  # numbers, as tokens are
        made.append(_case(random, told, microbatches, schedule, steps, whole))
    return made


def _schedule(name: str, stage: int, stages: int, microbatches: int) -> Told:
    """One stage's instructions."""
    there = [("F", i) for i in range(microbatches)]
    back = [("B", i) for i in range(microbatches)]
    if name == "GPipe":
        return there + back[::-1]
    ahead = min(stages - stage - 1, microbatches) if name == "1F1B" else 0
    pairs = [each for both in zip(there[ahead:], back, strict=False) for each in both]
    return there[:ahead] + pairs + back[microbatches - ahead :]


def _case(
    random: np.random.Generator,
    told: list[Told],
    microbatches: int,
    schedule: str,
    steps: int,
    whole: bool,
) -> Case:
    ranks = len(told)
    weights = _weights(random, ranks)
    first, last = weights[0][0].shape[1], weights[-1][-1].shape[0]
    tokens = random.integers(-2, 3, (steps, microbatches, _ROWS, first))
    inputs: np.ndarray = tokens if whole else tokens / 2
    targets = random.standard_normal((steps, microbatches, _ROWS, last))
    none = [None] * steps
    args = tuple(
        (
            weights[rank],
            told[rank],
            [list(batch) for batch in inputs] if rank == 0 else none,
            [list(wanted) for wanted in targets] if rank == ranks - 1 else none,
            _RATE,
            (FORWARD, BACKWARD),
        )
        for rank in range(ranks)
    )
    pieces = count(microbatches, "microbatch", "microbatches")
    name = f"On {count(ranks, 'rank')} with {pieces} ({schedule})" + (
        "" if whole else " and inputs of floats"
    )
    clock = {"latency": LATENCY, "bandwidth": float("inf")}
    facts = {
        "microbatches": microbatches,
        "told": told,
        "seconds": steps * seconds(told, FORWARD, BACKWARD, LATENCY),
        "steps": _dense(weights, inputs, targets),
        "widths": [group[-1].shape[0] for group in weights],
    }
    return Case(name, args, ranks, clock, facts)


def _weights(random: np.random.Generator, ranks: int) -> list[list[np.ndarray]]:
    """For each rank [W, b] of one or two layers, of widths that differ."""
    made, width = [], 3
    for rank in range(ranks):
        group: list[np.ndarray] = []
        for _ in range(2 if rank % 2 == 0 else 1):
            out = int(random.integers(2, 6))
            group += [0.7 * random.standard_normal((out, width)), 0.3 * random.standard_normal(out)]
            width = out
        made.append(group)
    return made


def _dense(
    weights: list[list[np.ndarray]], inputs: np.ndarray, targets: np.ndarray
) -> list[dict[str, Any]]:
    """What the whole network gives in each step, of all microbatches at once.

    "loss": their mean. "gradients": each rank's.
    """
    import torch

    flat = [torch.tensor(each, requires_grad=True) for group in weights for each in group]
    found = []
    for batch, wanted in zip(inputs, targets, strict=True):
        out, want = (torch.tensor(np.concatenate(each)) for each in (batch, wanted))
        for at in range(0, len(flat), 2):
            out = (torch.tanh(out) if at else out.double()) @ flat[at].T + flat[at + 1]
        loss = ((out - want) ** 2 * (1 + want**2)).mean()  # the driver's
        gradients = torch.autograd.grad(loss, flat)
        left = iter([each.numpy() for each in gradients])
        grouped = [[next(left) for _ in group] for group in weights]
        found.append({"loss": loss.item(), "gradients": grouped})
        with torch.no_grad():
            for each, gradient in zip(flat, gradients, strict=True):
                each -= _RATE * gradient
    return found
