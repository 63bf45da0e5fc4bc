"""The driver of exercise 03.5: hooks under a backward that takes its time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.memory import Kept
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.training import network
from helpers.exercises.drives.values import Remote
from helpers.workloads.timed import TakesTime


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
    sums: list[Any] = []
    ends: list[float] = []
    done: list[int] = []
    ended, step, held = 0, 0, _Steps(fn, parameters, len(inputs))

    def reduce(its_comm: Any, flat: Tensor) -> Tensor:
        nonlocal ended
        held.note(step, flat)
        sums.append((step, its_comm.time(), flat.numel()))
        _sum_in_place(its_comm, flat)
        ended += 1
        return flat

    finish = fn(comm, [[parameters[i] for i in group] for group in groups], reduce)
    if isinstance(fn, Remote):
        fn.follow(parameters)
    if callable(finish):
        for step, (batch, wanted) in enumerate(zip(inputs, targets, strict=True)):
            model.zero_grad()
            _slow_loss(model, batch, wanted, comm, seconds).backward()
            ends.append(comm.time())
            finish()
            done.append(ended)
            with torch.no_grad():
                for parameter in parameters:
                    parameter.sub_(rate * parameter.grad)  # type: ignore[operator]
            held.end(step)
    return {
        "weights": parameters,
        "sums": sums,
        "ends": ends,
        "done": done,
        "finish": callable(finish),
        **held.kept(),
    }


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
        self.fn, self.parameters, self.steps = fn, parameters, steps
        self.nbytes = sum(parameter.nbytes for parameter in parameters)
        self.memory: dict[StorageWeakRef, int] = {}  # the step that summed there last
        self.references: list[int] = []
        self.process: Kept | None = None

    def note(self, step: int, flat: Tensor) -> None:
        """A tensor is summed in a step."""
        self.memory[StorageWeakRef(flat.untyped_storage())] = step

    def end(self, step: int) -> None:
        """A step is over."""
        self.references.append(sum(map(sys.getrefcount, self.parameters)))
        if step == 1:
            self.process = Kept(self.fn, (self.steps - 2) * self.nbytes)

    def kept(self) -> dict[str, Any]:
        """What `values` tell of it."""
        if isinstance(self.fn, Remote):
            more = None if self.process is None else self.process.more()
            if more is not None:
                stands_out = more >= (self.steps - 2) * self.nbytes / 3
                more = round(more / self.nbytes) if stands_out else 0
            return {"kept": more, "grows": None}
        held = {step for memory, step in self.memory.items() if not memory.expired()}
        pairs = [*pairwise(self.references)]
        grows = len(pairs) > 1 and all(before < after for before, after in pairs)
        return {"kept": len(held & set(range(self.steps - 2))), "grows": grows}


def _slow_loss(model: nn.Sequential, batch: Tensor, wanted: Tensor, comm: Any, s: float) -> Tensor:
    out = batch
    for layer in model:
        out = layer(out)
        if isinstance(layer, nn.Linear):
            out = TakesTime.apply(out, comm, s)
    return nn.functional.mse_loss(out, wanted)


def _sum_in_place(comm: Any, flat: Tensor) -> None:
    """A plain all-reduce through rank 0, so that what is judged is only when it starts."""
    if comm.rank:
        comm.send(flat, 0)
        flat.copy_(comm.recv(0))
        return
    for other in range(1, comm.size):
        flat += comm.recv(other)
    for other in range(1, comm.size):
        comm.send(flat, other)


on_hooks = Ranked(_on_hooks, arguments=3, clocked=("sums", "ends", "done"))
