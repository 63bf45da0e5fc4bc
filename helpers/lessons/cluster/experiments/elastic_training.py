"""A training that comes out the same, bit for bit, on any number of ranks, even one that changes.

Each batch is cut into a fixed number of parts, whoever computes them, and their gradients are added
in a fixed order (`helpers.lessons.cluster.algorithms.same_sum` says why, and how). It sends as many
gradients as there are parts, where one would do: the price for a loss that can be compared to the
last bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from helpers.engine.comm import Comm
from helpers.lessons.cluster.experiments import notes
from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

BATCH, PARTS = 64, 8
HIDDEN, RATE, MOMENTUM = 32, 0.1, 0.9


class Training:
    """A small network on the digits, in float64. step: steps taken.

    seed: of the first weights and of the batches, which belong to all ranks together.
    """

    def __init__(self, seed: int = 0) -> None:
        torch.set_num_threads(1)  # more threads would add in another order
        self.task = DigitsTask((PIXELS, HIDDEN, CLASSES), torch.float64, seed)
        self.weights = self.task.initial()
        self.velocity = torch.zeros_like(self.weights)
        self.step = 0

    def parts_of(self, rank: int, size: int) -> dict[int, Tensor]:
        """The gradients of this rank's parts of the next batch, by the part's number."""
        rows = self.task.rows(0, self.step, BATCH)
        return {
            part: self.task.gradient(self.weights, rows[part::PARTS])
            for part in range(rank, PARTS, size)
        }

    def gradients(self, rank: int, size: int) -> Tensor:
        """Part by part, the gradients of this rank, (parts, weights); zeros for other ranks'."""
        table = self.weights.new_zeros(PARTS, len(self.weights))
        for part, gradient in self.parts_of(rank, size).items():
            table[part] = gradient
        return table

    def update(self, table: Tensor) -> None:
        """Take a step. table: the sum of all ranks' tables."""
        first, *others = table
        for row in others:
            first = first + row  # always in the order of the parts
        self.move(first)

    def move(self, gradient: Tensor) -> None:
        """Take a step of SGD with momentum. gradient: the sum of all parts'."""
        self.velocity = MOMENTUM * self.velocity + gradient / PARTS
        self.weights = self.weights - RATE * self.velocity
        self.step += 1

    def loss(self) -> float:
        """The mean cross-entropy over all training rows, in nats."""
        return self.task.loss(self.weights)

    def state(self) -> dict[str, Any]:
        """All that has to be saved for the next step to be the same. Its tensors stay as they are.

        A step makes new tensors, so what was given here never changes.
        """
        return {"weights": self.weights, "velocity": self.velocity, "step": self.step}

    def go_on(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self.weights, self.velocity = state["weights"], state["velocity"]
        self.step = state["step"]


def on_ranks(comm: Comm, steps: int, seed: int = 0) -> list[float]:
    """The loss after each step, on ranks that nobody kills."""
    import torch.distributed as dist

    training, losses = Training(seed), []
    while training.step < steps:
        table = training.gradients(comm.rank, comm.size)
        dist.all_reduce(table)
        training.update(table)
        losses.append(training.loss())
    return losses


def last_step(steps: str | int) -> float:
    """The step to end at. steps: a number, or a file that will hold it; until then there is no end.

    Ranks look at different moments: write a step that is well ahead of the job, in one move.
    """
    if str(steps).isdigit():
        return int(steps)
    path = Path(str(steps))
    return int(path.read_text()) if path.exists() else float("inf")


class Step(NamedTuple):
    """A step as it was noted. ranks: that took it. at: seconds of `time.time()`.

    step: from 1; or, where ranks begin, the one that they go on from, which is 0 at the start.
    """

    step: int
    loss: float
    ranks: int
    at: float


def note(path: str | Path, step: int, loss: float, ranks: int) -> None:
    """Add a step to a file."""
    notes.note(path, step=step, loss=loss, ranks=ranks)


class Notes:
    """Follows a file that `note` writes. steps: all that was read so far, repeated steps too."""

    def __init__(self, path: str | Path) -> None:
        self.lines, self.steps = notes.Lines(path), list[Step]()

    def look(self) -> list[Step]:
        """Read what is new; all steps so far."""
        self.steps += [Step(**told) for told in self.lines.look()]
        return self.steps

    @property
    def furthest(self) -> int:
        """The last step that has been reached, 0 before the first."""
        return max((each.step for each in self.steps), default=0)
