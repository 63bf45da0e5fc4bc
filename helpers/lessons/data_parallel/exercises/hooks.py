"""The driver of exercise 03.5: hooks under a backward that takes its time."""

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.checks.drives.calling import Function
from helpers.checks.drives.memory import Kept
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.training import network
from helpers.checks.drives.values import Remote
from helpers.lessons.data_parallel.experiments.models import TakesTime


def _on_hooks(
    fn: Function,
    comm: Any,
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
    `values[rank]`: weights afterwards; sums, a list of (step, start, elements) for every call of
    `reduce`; ends, when each backward ended; done, how many sums were through when each finish()
    returned; finish, whether something callable was returned; kept and grows, see `_Steps`.
    """
    model = network(weights)
    parameters = list(model.parameters())
    seen: dict[str, Any] = {"weights": parameters, "sums": [], "ends": [], "done": []}
    ended, step, held = 0, 0, _Steps(fn, parameters, len(inputs))

    def reduce(its_comm: Any, flat: Tensor) -> Tensor:
        """A plain all-reduce through rank 0, so that what is judged is only when it starts."""
        nonlocal ended
        held.memory[StorageWeakRef(flat.untyped_storage())] = step
        seen["sums"].append((step, its_comm.time(), flat.numel()))
        if its_comm.rank:
            its_comm.send(flat, 0)
            flat.copy_(its_comm.recv(0))
        else:
            for other in range(1, its_comm.size):
                flat += its_comm.recv(other)
            for other in range(1, its_comm.size):
                its_comm.send(flat, other)
        ended += 1
        return flat

    finish = fn(comm, [[parameters[i] for i in group] for group in groups], reduce)
    if isinstance(fn, Remote):
        fn.follow(parameters)
    for step, (out, wanted) in enumerate(zip(inputs, targets, strict=True)):
        if not callable(finish):
            break
        model.zero_grad()
        for layer in model:
            out = layer(out)
            if isinstance(layer, nn.Linear):
                out = TakesTime.apply(out, comm, seconds)
        nn.functional.mse_loss(out, wanted).backward()
        seen["ends"].append(comm.time())
        finish()
        seen["done"].append(ended)
        with torch.no_grad():
            for parameter in parameters:
                parameter.sub_(rate * parameter.grad)  # type: ignore[operator]
        held.end(step)
    return {**seen, "finish": callable(finish), **held.kept()}


on_hooks = Ranked(_on_hooks, arguments=3, clocked=("sums", "ends", "done"))


class _Steps:
    """What is held of the steps of a training that are over.

    kept: of how many steps, before the last two, the memory is held that their sums lay in. Of
    another process, how many times the bytes of all gradients it holds more than after two steps,
    where these would be LARGE: None where nobody sees that. What is less than a third of those
    steps counts as nothing there: half of one step's comes and goes by itself. grows: whether
    something refers to the parameters once more after each step, such as a list; None of another
    process.
    """

    def __init__(self, fn: Function, parameters: Sequence[nn.Parameter], steps: int) -> None:
        self.fn, self.parameters, self.early = fn, parameters, steps - 2
        self.nbytes = sum(parameter.nbytes for parameter in parameters)
        self.memory: dict[StorageWeakRef, int] = {}  # the step that summed there last
        self.references: list[int] = []
        self.process: Kept | None = None

    def end(self, step: int) -> None:
        """A step is over."""
        self.references.append(sum(map(sys.getrefcount, self.parameters)))
        if step == 1:
            self.process = Kept(self.fn, self.early * self.nbytes)

    def kept(self) -> dict[str, Any]:
        """What `values` tell of it."""
        if isinstance(self.fn, Remote):
            more = None if self.process is None else self.process.more()
            if more is not None:
                times = more / self.nbytes
                more = round(times) if times >= self.early / 3 else 0
            return {"kept": more, "grows": None}
        held = {step for memory, step in self.memory.items() if not memory.expired()}
        pairs = [*pairwise(self.references)]
        grows = len(pairs) > 1 and all(before < after for before, after in pairs)
        return {"kept": len(held & set(range(self.early))), "grows": grows}
