"""Which rows come next: batches, epoch after epoch, that can be gone on with from any place.

A batch is that of all ranks together, and each takes its own rows of it: so the order of the rows
does not depend on how many ranks there are.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Order:
    """The row numbers of batch after batch, each epoch in an order of its own.

    rows: in the data set. batch: rows of a batch; what fills none at an epoch's end is left out.
    seed: of all orders. epoch, place: the next batch is number `place` of epoch `epoch`; these two
    are all that a checkpoint has to know. Raises ValueError for a batch that cannot be.
    """

    def __init__(self, rows: int, batch: int, seed: int = 0) -> None:
        if not 1 <= batch <= rows:
            raise ValueError(f"A batch has 1 to {rows} rows, not {batch}.")
        self.rows, self.batch, self.seed = rows, batch, seed
        self.epoch = self.place = 0
        self._drawn: tuple[int, Tensor] | None = None

    def next(self) -> Tensor:
        """The next batch's rows, (batch,), int64."""
        if self._drawn is None or self._drawn[0] != self.epoch:
            random = torch.Generator().manual_seed((self.seed * 1_000_003 + self.epoch) % 2**63)
            self._drawn = (self.epoch, torch.randperm(self.rows, generator=random))
        start = self.place * self.batch
        self.place += 1
        if self.place == self.rows // self.batch:
            self.epoch, self.place = self.epoch + 1, 0
        return self._drawn[1][start : start + self.batch]

    def state(self) -> dict[str, int]:
        """What `go_on` needs."""
        return {"epoch": self.epoch, "place": self.place, "batch": self.batch, "seed": self.seed}

    def go_on(self, state: dict[str, int]) -> None:
        """Take up the order where `state` was taken.

        Raises ValueError where it is one of another batch or seed: no row would be in its place.
        """
        here = {"batch": self.batch, "seed": self.seed}
        there = {key: state[key] for key in here}
        if here != there:
            raise ValueError(
                f"The rows were saved in the order of {there}, and this one is that of {here}."
            )
        self.epoch, self.place = state["epoch"], state["place"]
