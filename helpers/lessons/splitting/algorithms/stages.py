"""A model cut into stages, and a batch cut into microbatches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate

from torch import Tensor, nn

from helpers.lessons.messages.algorithms.collectives import chunk_bounds


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
