"""A model cut into stages, a batch cut into microbatches, and parameters that stages share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers.lessons.messages.algorithms.collectives import chunk_bounds

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request


def microbatches(batch: Tensor, parts: int) -> list[Tensor]:
    """Cut a batch into microbatches that differ by one row at most, as views.

    batch: (rows, …). Raises ValueError where there are fewer rows than parts, or no parts.
    Example: 5 rows in 2 parts are 2 and 3 rows.
    """
    if len(batch) < parts:
        raise ValueError(f"{len(batch)} rows cannot be cut into {parts} microbatches of some rows.")
    return [batch[start:stop] for start, stop in chunk_bounds(len(batch), parts)]


def cut(
    model: nn.Sequential, parts: int | Sequence[int], costs: Sequence[float] | None = None
) -> list[nn.Sequential]:
    """Cut a list of layers into stages. The layers are the model's own, not copies.

    parts: how many stages, or the number of layers of each. costs: seconds (or any measure) of
    each layer; the stages are then as even as can be by these, otherwise by number of layers.
    A stage's parameters keep the names that they have in the model.
    Raises ValueError where a stage would have no layer, or where the numbers do not add up.
    Example: cut(nn.Sequential(a, b, c), [1, 2]) gives (a) and (b, c).
    """
    layers = list(model._modules.items())  # named_children gives a layer that comes twice once
    if isinstance(parts, int):
        parts = balanced([1.0] * len(layers) if costs is None else costs, parts)
    if sum(parts) != len(layers) or min(parts, default=0) < 1:
        raise ValueError(
            f"{list(parts)} layers are not a cut of {len(layers)}: every stage has at least one, "
            "and together they have all."
        )
    ends = list(accumulate(parts))
    return [
        nn.Sequential(OrderedDict(layers[end - part : end]))
        for part, end in zip(parts, ends, strict=True)
    ]


def balanced(costs: Sequence[float], parts: int) -> list[int]:
    """How many layers each stage gets, in order, so that the dearest stage is as cheap as can be.

    The slowest stage sets a pipeline's pace. By trying every last cut for every number of stages:
    layers² · stages operations. Raises ValueError where there are fewer layers than parts.
    Example: balanced([1, 1, 1, 3], 2) is [3, 1].
    """
    layers = len(costs)
    if not 1 <= parts <= layers:
        raise ValueError(f"{layers} layers cannot be cut into {parts} stages of at least one.")
    total = [0.0, *accumulate(costs)]
    # best[k]: the cheapest way to cut the first k layers, as (dearest stage, spread, cuts). The
    # spread, a sum of squares, chooses among equals.
    best: list[tuple[float, float, tuple[int, ...]]] = [
        (total[k], total[k] ** 2, (k,)) for k in range(layers + 1)
    ]
    for part in range(2, parts + 1):
        best = [
            min(
                (
                    max(best[j][0], total[k] - total[j]),
                    best[j][1] + (total[k] - total[j]) ** 2,
                    (*best[j][2], k - j),
                )
                for j in range(part - 1, k)
            )
            if k >= part
            else best[k]
            for k in range(layers + 1)
        ]
    return list(best[layers][2])


def works_in_place(stage: nn.Module) -> bool:
    """Whether a layer may write into what the stage is given, which backward may need as it was."""
    return any(getattr(layer, "inplace", False) for layer in stage.modules())


def shared_parameters(
    stages: Sequence[nn.Module], rank: int, size: int
) -> list[tuple[list[int], tuple[int, str]]]:
    """Parameters that stages of several ranks have in common, this rank's part of them.

    A parameter is shared where it is the same object, as in a tied embedding and head.
    Returns, in the same order on all ranks: (ranks that hold it, (stage, name) on this rank).
    """
    homes: dict[nn.Parameter, list[tuple[int, str]]] = {}
    for number, stage in enumerate(stages):
        for name, parameter in stage.named_parameters():
            homes.setdefault(parameter, []).append((number, name))
    found = []
    for places in homes.values():
        ranks = sorted({number % size for number, _ in places})
        if len(ranks) > 1 and rank in ranks:
            found.append((ranks, next(place for place in places if place[0] % size == rank)))
    return found


class Tie:
    """A parameter that several ranks hold: equal at the start, its gradient summed over them.

    ranks: those that hold it; the first one's value counts. parameter: this rank's copy.
    """

    def __init__(self, comm: Comm, ranks: Sequence[int], parameter: nn.Parameter) -> None:
        self.comm, self.parameter = comm, parameter
        self.root, *self.others = ranks
        if comm.rank == self.root:
            requests = [comm.isend(parameter.detach(), other) for other in self.others]
            for request in requests:
                request.wait()
        else:
            parameter.detach().copy_(comm.recv(self.root))

    def set_aside(self) -> Tensor | None:
        """Take away the gradient that is there, so that it is not summed once more."""
        before, self.parameter.grad = self.parameter.grad, None
        return before

    def sum(self, before: Tensor | None) -> list[Request]:
        """Sum this step's gradients over the ranks, and add what was set aside.

        Added up on one rank and sent back, so that all copies get the same bits. Returns the
        messages that are still on their way.
        """
        comm, parameter = self.comm, self.parameter
        if not parameter.requires_grad:
            parameter.grad = before
            return []
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        if comm.rank == self.root:
            for other in self.others:
                gradient = gradient + comm.recv(other)
            requests = [comm.isend(gradient, other) for other in self.others]
        else:
            requests = [comm.isend(gradient, self.root)]
            gradient = comm.recv(self.root)
        parameter.grad = gradient if before is None else before + gradient
        return requests
