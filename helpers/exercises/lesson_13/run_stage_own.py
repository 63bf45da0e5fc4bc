"""The reference of exercise 13.4: one step of one stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from helpers.algorithms.pipeline.instructions import Forward


def reference(
    comm: Any, module: Any, instructions: Iterable[Any], inputs: Any, targets: Any, loss: Any
) -> Any:
    """The course's own."""
    return Stage(comm, module, inputs, targets, loss).run(instructions)


class Stage:
    """One step of one stage; what may be done otherwise is a method."""

    def __init__(self, comm: Any, module: Any, inputs: Any, targets: Any, loss: Any) -> None:
        self.comm, self.module, self.loss = comm, module, loss
        self.inputs, self.targets = inputs, targets
        self.first, self.last = comm.rank == 0, comm.rank == comm.size - 1
        self.kept: dict[int, Any] = {}
        self.sends: list[Any] = []
        self.total = 0.0

    def run(self, instructions: Iterable[Any]) -> Any:
        """Each instruction in its turn."""
        for each in instructions:
            self.do(each)
        for request in self.sends:
            request.wait()
        return self.said()

    def do(self, each: Any) -> None:
        """One instruction."""
        if isinstance(each, Forward):
            self.forward(each.microbatch)
        else:
            self.backward(each.microbatch)

    def said(self) -> Any:
        """What is returned."""
        return self.total if self.last else None

    def forward(self, i: int) -> None:
        """Receive, compute, send."""
        given = self.given(i)
        out = self.module(given)
        if self.last:
            out = self.loss(out, self.targets[i]) / self.share()
            self.total += out.item()
        else:
            self.send(out, self.comm.rank + 1)
        self.keep(i, given, out)

    def given(self, i: int) -> Any:
        """The input of a microbatch."""
        if self.first:
            return self.inputs[i]
        return self.comm.recv(self.comm.rank - 1).requires_grad_()

    def share(self) -> int:
        """What the loss of a microbatch is divided by."""
        return len(self.targets)

    def backward(self, i: int) -> None:
        """Receive, go back, send."""
        given, out = self.take(i)
        out.backward(None if self.last else self.gradient())
        if not self.first:
            self.send(given.grad, self.comm.rank - 1)

    def gradient(self) -> Any:
        """What the next stage sends."""
        return self.comm.recv(self.comm.rank + 1)

    def send(self, tensor: Any, to: int) -> None:
        """Without waiting for it."""
        self.sends.append(self.comm.isend(tensor, to))

    def keep(self, i: int, given: Any, out: Any) -> None:
        """For the way back."""
        self.kept[i] = given, out

    def take(self, i: int) -> Any:
        """And let go."""
        return self.kept.pop(i)
