"""A data-parallel training on the digits that can be saved, and gone on with on other ranks.

A batch is that of all ranks together, and so is the noise that is laid over its pictures: on any
number of ranks the training is the same, but for the order in which gradients are added.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn.functional import cross_entropy

from helpers.engine.comm import Comm
from helpers.lessons.cluster.algorithms.files import Folder
from helpers.lessons.cluster.algorithms.format import latest, opened, read_part
from helpers.lessons.cluster.algorithms.order import Order
from helpers.lessons.cluster.algorithms.randomness import go_on_randomly, random_states
from helpers.lessons.cluster.algorithms.resharding import Cut, pieces, resharded
from helpers.lessons.cluster.algorithms.sharded_state import load_state, state_of
from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS, digits
from helpers.lessons.data_parallel.experiments.models import mlp
from helpers.lessons.messages.algorithms.collectives import all_reduce_tree, broadcast_tree
from helpers.lessons.sharding.algorithms.sharding import Sharded


class Setting(NamedTuple):
    """A training. every: steps from one checkpoint to the next. batch: rows of all ranks together.

    hidden: widths between the pixels and the classes. noise: standard deviation of what is added
    to the pixels, drawn anew each step. keep: checkpoints that stay. stage: of `Sharded`.
    """

    steps: int = 24
    every: int = 3
    batch: int = 48
    hidden: tuple[int, ...] = (32,)
    rate: float = 0.01
    noise: float = 0.1
    seed: int = 0
    keep: int = 2
    stage: int = 1


class Training:
    """A model, its optimizer and its place in the data, on one rank. step: steps taken."""

    def __init__(self, comm: Comm, setting: Setting) -> None:
        self.comm, self.setting, self.step = comm, setting, 0
        model = mlp((PIXELS, *setting.hidden, CLASSES), torch.float64, setting.seed)
        adam = partial(torch.optim.Adam, lr=setting.rate)
        self.model = Sharded(model, comm, adam, setting.stage)
        self.model.weight = 1  # losses are sums over this rank's rows, divided by all rows
        self.data = digits(torch.float64)
        self.order = Order(len(self.data.train_x), setting.batch, setting.seed)
        torch.manual_seed(setting.seed)  # on every rank alike: all draw the noise of all rows

    def advance(self) -> float:
        """Take a step on the next batch; the mean loss over all ranks' rows, before the step."""
        rows = self.order.next()
        inputs = self.data.train_x[rows]
        inputs = inputs + self.setting.noise * torch.randn_like(inputs)
        rank, size = self.comm.rank, self.comm.size
        mine = slice(len(rows) * rank // size, len(rows) * (rank + 1) // size)
        self.model.zero_grad()
        outputs = self.model(inputs[mine])
        targets = self.data.train_y[rows][mine]
        loss = cross_entropy(outputs, targets, reduction="sum") / len(rows)
        loss.backward()
        self.model.step()
        self.step += 1
        return all_reduce_tree(self.comm, loss.detach().reshape(1)).item()

    def state(self) -> dict[str, Any]:
        """All that has to be saved for the next step to be the same; tensors are not copied."""
        state = state_of(self.model)
        state["common"] |= {
            "step": self.step,
            "order": self.order.state(),
            "random": random_states(),
        }
        return state

    def go_on(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave, cut for this rank. All ranks call it."""
        load_state(self.model, state)
        self.step = state["common"]["step"]
        self.order.go_on(state["common"]["order"])
        go_on_randomly(state["common"]["random"])


def go_on_from(training: Training, folder: Folder, cut: Cut = pieces) -> int | None:
    """Go on from the latest checkpoint in a folder, whoever wrote it. All ranks call it.

    Returns its step; None where there is none, and the training stays at its start. Rank 0 alone
    looks for it, and so reads every byte once more than the others. cut: as in `resharded`.
    """
    comm = training.comm
    found = latest(folder).step if comm.rank == 0 else None
    told = broadcast_tree(comm, torch.tensor([-1 if found is None else found])).item()
    if told == -1:
        return None
    checkpoint = opened(folder, int(told))
    read = partial(read_part, folder, checkpoint)
    training.go_on(resharded(read, len(checkpoint.parts), comm.rank, comm.size, cut))
    return int(told)
