"""The driver of exercise 03.5: hooks under a backward that takes its time."""

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.checks.drives.calling import Function
from helpers.checks.drives.handed import Hands
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.training import network
from helpers.lessons.data_parallel.experiments.models import TakesTime


class Sums(Hands):
    """A plain all-reduce through rank 0, so that what is judged is only when it starts.

    sums: (step, start, elements) of every call of `reduce`. ends: when each backward ended. done:
    how many sums were through when each finish() returned.
    """

    def __init__(self, comm: Any, *case: Any) -> None:
        self.comm, self.through = comm, 0
        self.sums = list[tuple[int, float, int]]()
        self.ends, self.done = list[float](), list[int]()

    def reduce(self, its_comm: Any, flat: Tensor) -> Tensor:
        """The sum over the ranks."""
        self.sums.append((len(self.done), its_comm.time(), flat.numel()))
        if its_comm.rank:
            its_comm.send(flat, 0)
            flat.copy_(its_comm.recv(0))
        else:
            for other in range(1, its_comm.size):
                flat += its_comm.recv(other)
            for other in range(1, its_comm.size):
                its_comm.send(flat, other)
        self.through += 1
        return flat

    def backward_ended(self) -> None:
        """Backward of a step is over."""
        self.ends.append(self.comm.time())

    def finished(self) -> None:
        """finish() has returned."""
        self.done.append(self.through)

    def noted(self, value: Any) -> Any:
        """With what was seen of the sums."""
        return {**value, "sums": self.sums, "ends": self.ends, "done": self.done}


def _on_hooks(
    fn: Function,
    comm: Any,
    hands: Any,
    weights: list[Tensor],
    inputs: Tensor,
    targets: Tensor,
    groups: list[list[int]],
    rate: float,
    seconds: float,
) -> Any:
    """Call `fn(comm, buckets, reduce)` and train some steps with what it returns.

    A rank's arguments: weights, inputs and targets (a batch a step), groups (for each bucket, the
    numbers of its parameters), rate, and the seconds that backward spends in each layer.
    `values[rank]`: weights afterwards; sums, ends and done, see `Sums`; finish, whether something
    callable was returned; kept and grows, see `_Steps`.
    """
    model = network(weights)
    parameters = list(model.parameters())
    step, held = 0, _Steps(parameters, len(inputs))

    def reduce(its_comm: Any, flat: Tensor) -> Tensor:
        """Sum over the ranks, in place."""
        held.memory[StorageWeakRef(flat.untyped_storage())] = step
        return flat.copy_(hands.reduce(its_comm, flat))

    finish = fn(comm, [[parameters[i] for i in group] for group in groups], reduce)
    for out, wanted in zip(inputs, targets, strict=True):
        if not callable(finish):
            break
        model.zero_grad(set_to_none=step % 2 == 0)  # as optimizers do, one way or the other
        for layer in model:
            out = layer(out)
            if isinstance(layer, nn.Linear):
                out = TakesTime.apply(out, comm, seconds)
        nn.functional.mse_loss(out, wanted).backward()
        hands.backward_ended()
        finish()
        hands.finished()
        with torch.no_grad():
            for parameter in parameters:
                parameter.sub_(rate * parameter.grad)  # type: ignore[operator]
        held.end()
        step += 1
    return {"weights": parameters, "finish": callable(finish), **held.kept()}


on_hooks = Ranked(_on_hooks, arguments=3, clocked=("sums", "ends", "done"), hands=Sums)


class _Steps:
    """What is held of the steps of a training that are over.

    kept: of how many steps, before the last two, the memory is held that their sums lay in. grows:
    whether something refers to the parameters once more after each step, such as a list.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], steps: int) -> None:
        self.parameters, self.early = parameters, steps - 2
        self.memory: dict[StorageWeakRef, int] = {}  # the step that summed there last
        self.references: list[int] = []

    def end(self) -> None:
        """A step is over."""
        self.references.append(sum(map(sys.getrefcount, self.parameters)))

    def kept(self) -> dict[str, Any]:
        """What `values` tell of it."""
        held = {step for memory, step in self.memory.items() if not memory.expired()}
        pairs = [*pairwise(self.references)]
        grows = len(pairs) > 1 and all(before < after for before, after in pairs)
        return {"kept": len(held & set(range(self.early))), "grows": grows}
