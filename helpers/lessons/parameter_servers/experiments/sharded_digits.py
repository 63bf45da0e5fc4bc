"""The digits dealt out: each worker has rows of its own, mixed or sorted by digit."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask


class ShardedDigits(DigitsTask):
    """The digits task where a worker sees only its own part of the training rows.

    workers: how many parts. by_digit: the rows are sorted before they are cut, so that a worker
    knows one or two digits only; otherwise they are mixed. A batch is drawn from the part.
    widths: of the network's layers.
    """

    def __init__(
        self,
        workers: int,
        by_digit: bool = False,
        seed: int = 0,
        widths: Sequence[int] = (PIXELS, 128, 64, CLASSES),
    ) -> None:
        super().__init__(widths, seed=seed)
        if workers < 1:
            raise ValueError(f"The rows are dealt to at least one worker, not {workers}.")
        order = torch.argsort(self.data.train_y, stable=True)
        if workers > len(order):
            raise ValueError(f"{len(order)} rows cannot be dealt to {workers} workers.")
        if not by_digit:
            random = torch.Generator().manual_seed(seed)
            order = torch.randperm(len(order), generator=random)
        ends = [len(order) * number // workers for number in range(workers + 1)]
        self.parts = [order[ends[w] : ends[w + 1]] for w in range(workers)]

    def rows(self, worker: int, step: int, batch: int) -> Tensor:
        """A worker's batch at a step, drawn from its own rows; the same whenever asked."""
        if not 0 <= worker < len(self.parts):
            raise ValueError(
                f"Worker {worker} has no rows: they were dealt to {len(self.parts)} workers."
            )
        mine = self.parts[worker]
        seed = (self.seed * 10_007 + worker) * 1_000_003 + step
        random = torch.Generator().manual_seed(seed % 2**63)
        return mine[torch.randint(len(mine), (batch,), generator=random)]
