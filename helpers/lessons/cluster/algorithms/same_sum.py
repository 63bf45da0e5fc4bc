"""A sum of gradients with the same bits on any number of ranks.

Floats round at each addition, so a sum depends on its order; and in an all-reduce of what each rank
has summed, the order depends on how many ranks there are. A job that loses a node and goes on with
fewer then trains something else, if only in the last bit at first. Here a batch is cut into a fixed
number of parts, and their gradients are added in the order of the parts, whoever computed them.

The price: all parts' gradients are sent, where one sum a rank would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from helpers.lessons.messages.algorithms.collectives import all_reduce_ring

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


def ordered_sum(comm: Comm, mine: Mapping[int, Tensor], parts: int, like: Tensor) -> Tensor:
    """The sum of all parts' gradients, on every rank: 0 + part 0 + part 1 + … in this order.

    mine: the gradients of the parts that this rank has computed, by the part's number; none where
    it has no part. It stays as it is. parts: that there are; each is on one rank. like: a tensor of
    a gradient's shape and type, such as the weights, also for ranks without a part.
    Every rank brings a table with a row a part, filled where the part is its own; an all-reduce
    adds the tables. Each number meets only zeros there, and adding zero rounds nothing.
    Example: for parts 1e16, 1.0 and −1e16 the sum is 0.0, on one rank and on three.
    """
    table = own_rows(mine, parts, like)
    all_reduce_ring(comm, table)
    return sum_of_rows(table)


def own_rows(mine: Mapping[int, Tensor], parts: int, like: Tensor) -> Tensor:
    """A table with a row for each part, (parts, *like.shape): those in `mine`, zeros elsewhere.

    Raises ValueError for a part that there is not, or one of another shape or type than `like`.
    """
    table = torch.zeros(parts, *like.shape, dtype=like.dtype, device=like.device)
    for part, gradient in mine.items():
        if not 0 <= part < parts:
            raise ValueError(f"There is no part {part}: they are 0 to {parts - 1}.")
        if gradient.shape != like.shape or gradient.dtype != like.dtype:
            raise ValueError(
                f"Part {part} is {tuple(gradient.shape)} in {gradient.dtype}, but a gradient is "
                f"{tuple(like.shape)} in {like.dtype}, as `like` is."
            )
        table[part] = gradient.detach()
    return table


def sum_of_rows(table: Tensor) -> Tensor:
    """The rows of a table added one after the other, from zeros on.

    `table.sum(0)` promises no order, and takes another one for tables of another size.
    """
    total = torch.zeros_like(table[0])
    for row in table:
        total += row
    return total
