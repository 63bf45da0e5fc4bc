"""What replicas would do, and which gradient a step must have used: for judging 04.1 to 04.3."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from helpers.exercises.drives_frameworks_runs import element_losses
from helpers.exercises.drives_training import network
from helpers.exercises.spec import Case, Observation

Arrays = list[np.ndarray]
Rows = tuple[np.ndarray, np.ndarray]


def random_weights(random: np.random.Generator, sizes: tuple[int, ...]) -> Arrays:
    """[W₁, b₁, W₂, b₂, …] of a network with these layer sizes, float64."""
    made: Arrays = []
    for before, after in pairwise(sizes):
        made.append(random.standard_normal((after, before)) / before**0.5)
        made.append(random.standard_normal(after))
    return made


def loss_and_gradients(
    weights: Arrays, rows: Rows, exchanged: bool = False
) -> tuple[float, Arrays]:
    """The mean loss over these rows, and its gradient.

    exchanged: the loss of outputs for targets, and the other way round.
    """
    model = network([torch.from_numpy(w) for w in weights])
    inputs, targets = map(torch.from_numpy, rows)
    pair = (model(inputs), targets)
    loss = element_losses(*(pair[::-1] if exchanged else pair)).mean()
    found = torch.autograd.grad(loss, list(model.parameters()))
    return loss.item(), [g.numpy() for g in found]


def gradients(weights: Arrays, rows: Rows, exchanged: bool = False) -> Arrays:
    """The gradient of the mean loss over these rows."""
    return loss_and_gradients(weights, rows, exchanged)[1]


def as_float32(value: float) -> float:
    """A learning rate or a momentum as Keras keeps it, whatever the weights' type."""
    return float(np.float32(value))


def together(steps: Sequence[Sequence[Rows]]) -> list[Rows]:
    """For each step, the rows of all ranks as one batch."""
    return [
        (np.concatenate([x for x, _ in step]), np.concatenate([y for _, y in step]))
        for step in steps
    ]


def alone(
    start: Arrays,
    steps: Sequence[Rows],
    rate: float,
    momentum: float = 0.0,
    momenta: Arrays | None = None,
) -> list[tuple[Arrays, Arrays]]:
    """The weights and the momenta of one process after each step, each on all rows.

    The momenta are as Keras counts them: v ← momentum · v − rate · g, then w ← w + v.
    """
    weights, found = start, []
    moving = momenta or [np.zeros_like(w) for w in start]
    for rows in steps:
        slopes = gradients(weights, rows)
        moving = [momentum * v - rate * g for v, g in zip(moving, slopes, strict=True)]
        weights = [w + v for w, v in zip(weights, moving, strict=True)]
        found.append((weights, moving))
    return found


def mean(lists: Sequence[Arrays], weights: Sequence[float] | None = None) -> Arrays:
    """Several ranks' arrays, each times its weight, summed; the plain mean where none are given."""
    weights = weights or [1 / len(lists)] * len(lists)
    return [
        np.sum([w * a for w, a in zip(weights, same, strict=True)], axis=0)
        for same in zip(*lists, strict=True)
    ]


def used_gradient(before: Arrays, after: Arrays, rate: float) -> Arrays:
    """The gradient that the first step of plain SGD must have used."""
    return [(b - a) / rate for b, a in zip(before, after, strict=True)]


def factor(got: Sequence[Any], want: Arrays) -> float | None:
    """How many times `want` the arrays `got` are; None where they are no multiple of it."""
    if len(got) != len(want) or any(np.shape(g) != w.shape for g, w in zip(got, want, strict=True)):
        return None
    mine = np.concatenate([np.ravel(g) for g in got]).astype(float)
    wanted = np.concatenate([np.ravel(w) for w in want])
    times = float(mine @ wanted / (wanted @ wanted))
    rest = float(np.abs(mine - times * wanted).max())
    return times if rest <= 1e-6 * float(np.abs(mine).max() or 1.0) else None


def is_near(value: float | None, *wanted: float) -> bool:
    """Whether a factor is one of these."""
    return value is not None and any(abs(value - w) <= 1e-6 * abs(w) for w in wanted)


def nbytes(arrays: Arrays) -> int:
    """Bytes of some arrays."""
    return sum(a.nbytes for a in arrays)


def averages(seen: Observation, steps: int, tensors: int) -> float:
    """How many averages of all gradients were made in a step; 0 where it is one or none.

    tensors: bytes of all gradients. Ranks other than 0 send for nothing else than an average.
    """
    most = max(seen.bytes[1:], default=0)
    return most / steps / tensors if most > steps * (tensors + 100) + 1000 else 0.0


def often(times: float) -> str:
    """How often in whole numbers, rounded down: "twice", "3 times"."""
    return {1: "more than once", 2: "twice"}.get(int(times), f"{int(times)} times")


def keras_2(case: Case, seen: Observation) -> str | None:
    """Keras 3's call, where the optimizer is tf_keras's."""
    if seen.kind != "AttributeError" or "attribute 'apply'" not in seen.text:
        return None
    return (
        f"{case.name}, the optimizer has no `apply`: it is of tf_keras (Keras 2), which says "
        "`optimizer.apply_gradients(zip(gradients, model.trainable_variables))`."
    )


def is_rounded(got: Sequence[Arrays], want: Arrays) -> bool:
    """Whether weights are nearly right, as after a step with gradients in 16 bits."""
    return all(
        all(np.shape(g) == w.shape and np.abs(g - w).max() < 1e-3 for g, w in pairs)
        for pairs in (list(zip(each, want, strict=True)) for each in got)
    )
