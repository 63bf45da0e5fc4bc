"""Networks and what becomes of them in training: the judge's side of 03.2, 03.3 and 03.5."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from helpers.checks.compare import listing
from helpers.checks.drives.training import network
from helpers.checks.spec import Case, Mistake, Observation
from helpers.checks.trouble import waits

Arrays = list[np.ndarray]
UNEVEN = [(7, 3), (4, 1), (5, 2), (13, 5)]  # rows and ranks


def uneven(random: np.random.Generator, worlds: tuple[int, ...]) -> list[tuple[int, int]]:
    """Rows that so many ranks do not divide, as pairs of rows and ranks."""
    return [(n * int(random.integers(1, 6)) + max(n - 1, 1), n) for n in worlds]


def shared_out(
    random: np.random.Generator, rows: int, n: int, layers: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, list[slice]]:
    """A batch's inputs and targets for a network, and each rank's rows."""
    inputs, targets = (random.standard_normal((rows, layers[end])) for end in (0, -1))
    return inputs, targets, [slice(r * rows // n, (r + 1) * rows // n) for r in range(n)]


def gradients(weights: Arrays, inputs: np.ndarray, targets: np.ndarray) -> Arrays:
    """The gradient of the mean squared error over these rows, as torch computes it."""
    model = network([torch.from_numpy(w) for w in weights])
    loss = nn.functional.mse_loss(model(torch.from_numpy(inputs)), torch.from_numpy(targets))
    return [g.numpy() for g in torch.autograd.grad(loss, list(model.parameters()))]


def descend(
    weights: Arrays, batches: Sequence[tuple[np.ndarray, np.ndarray]], rate: float
) -> Arrays:
    """The weights after gradient descent, a step for each batch (inputs, targets)."""
    for batch in batches:
        steps = zip(weights, gradients(weights, *batch), strict=True)
        weights = [w - rate * g for w, g in steps]
    return weights


def _some_do_not_come(case: Case, seen: Observation) -> str | None:
    """Ranks that wait for others who have left, or never came."""
    away = [rank for rank in range(case.ranks) if rank not in seen.waiting]
    if not seen.waiting or not away:
        return None
    return (
        f"{waits(seen)}, but {'rank' if len(away) == 1 else 'ranks'} {listing(away)} did not come: "
        "every rank calls every broadcast and every all-reduce, in the same order, and none of "
        "them under `if comm.rank == 0`."
    )


SOME_DO_NOT_COME = Mistake("not every rank takes part", _some_do_not_come, unfinished=True)
