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


def cut(model: nn.Sequential, parts: int | Sequence[int]) -> list[nn.Sequential]:
    """Cut a list of layers into stages. The layers are the model's own, not copies.

    parts: how many stages, all of as many layers as can be, or the number of layers of each. A
    stage's parameters keep the names that they have in the model.
    Raises ValueError where a stage would have no layer, or where the numbers do not add up.
    Example: cut(nn.Sequential(a, b, c), [1, 2]) gives (a) and (b, c).
    """
    layers = list(model._modules.items())  # named_children gives a layer that comes twice once
    if isinstance(parts, int):
        if not 1 <= parts <= len(layers):
            raise ValueError(
                f"{len(layers)} layers cannot be cut into {parts} stages of at least one."
            )
        parts = [stop - start for start, stop in chunk_bounds(len(layers), parts)]
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


def works_in_place(stage: nn.Module) -> bool:
    """Whether a layer may write into what the stage is given, which backward may need as it was."""
    return any(getattr(layer, "inplace", False) for layer in stage.modules())
