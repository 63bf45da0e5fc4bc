"""A stage of exercise 13.4, its parts methods; and stages with one part exchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from helpers.algorithms.pipeline.instructions import Forward


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
        for each in instructions:
            self.do(each)
        for request in self.sends:
            request.wait()
        return self.said()

    def do(self, each: Any) -> None:
        if isinstance(each, Forward):
            self.forward(each.microbatch)
        else:
            self.backward(each.microbatch)

    def said(self) -> Any:
        return self.total if self.last else None

    def forward(self, i: int) -> None:
        given = self.given(i)
        out = self.module(given)
        if self.last:
            out = self.begun(out, self.loss(out, self.targets[i]) / self.share())
        else:
            self.send(out, self.comm.rank + 1)
        self.kept[i] = given, out

    def given(self, i: int) -> Any:
        return self.inputs[i] if self.first else self.received().requires_grad_()

    def received(self) -> Any:
        return self.comm.recv(self.comm.rank - 1)

    def share(self) -> int:
        return len(self.targets)

    def begun(self, out: Any, loss: Any) -> Any:
        self.total += loss.item()
        return loss

    def backward(self, i: int) -> None:
        given, out = self.take(i)
        self.back(out)
        if not self.first:
            self.send(self.answer(given, out), self.comm.rank - 1)

    def back(self, out: Any) -> None:
        out.backward(None if self.last else self.gradient())

    def gradient(self) -> Any:
        return self.comm.recv(self.comm.rank + 1)

    def answer(self, given: Any, out: Any) -> Any:
        return given.grad

    def send(self, tensor: Any, to: int) -> None:
        self.sends.append(self.comm.isend(tensor, to))

    def take(self, i: int) -> Any:
        return self.kept.pop(i)


def _with(**methods: Callable[..., Any]) -> Callable[..., Any]:
    """An answer whose stage does these otherwise."""

    def run_stage(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
        stage = type("Other", (Stage,), methods)
        return stage(comm, module, inputs, targets, loss).run(told)

    return run_stage


# --- the order ------------------------------------------------------------------------------------


def _floats_ask(self: Any, i: int) -> Any:
    given = Stage.given(self, i)
    return given.requires_grad_() if given.is_floating_point() else given


def _inputs_first(self: Any, instructions: Any) -> Any:
    told = list(instructions)
    forwards = [each.microbatch for each in told if isinstance(each, Forward)]
    there = {i: Stage.given(self, i) for i in forwards}
    self.given = there.__getitem__
    return Stage.run(self, told)


def _in_step(self: Any, each: Any) -> None:
    Stage.do(self, each)
    self.comm.barrier()


asks_length = _with(run=lambda self, told: Stage.run(self, told[: len(told)]))
# A generator is empty after that.
counts_first = _with(run=lambda self, told: Stage.run(self, told if list(told) else ()))
all_inputs_first = _with(run=_inputs_first)
all_forwards_first = _with(
    run=lambda self, told: Stage.run(self, sorted(told, key=lambda i: not isinstance(i, Forward)))
)
in_step = _with(do=_in_step)


# --- messages, and what is kept -------------------------------------------------------------------


def _first_sends_back(self: Any, i: int) -> None:
    given, out = self.take(i)
    self.back(out)
    self.send(given if self.first else given.grad, self.comm.rank - 1)


blocking = _with(send=lambda self, tensor, to: self.comm.send(tensor, to))
never_waits = _with(send=lambda self, tensor, to: self.comm.isend(tensor, to))
first_sends_back = _with(backward=_first_sends_back)
never_receives = _with(back=lambda self, out: out.sum().backward())
sends_other = _with(answer=lambda self, given, out: out.grad)
latest_only = _with(take=lambda self, i: self.kept[max(self.kept)])
oldest_first = _with(take=lambda self, i: self.kept.pop(min(self.kept)))
never_lets_go = _with(take=lambda self, i: self.kept[i])


# --- gradients and the loss -----------------------------------------------------------------------


def _counted(self: Any, instructions: Any) -> Any:
    told = list(instructions)
    self.microbatches = len(told) // 2
    return Stage.run(self, told)


def _zeroed(self: Any, i: int) -> None:
    self.module.zero_grad()
    Stage.backward(self, i)


def _its_own_divided(self: Any) -> Any:
    if not self.last:
        return None
    for parameter in self.module.parameters():
        parameter.grad /= len(self.targets)
    return self.total / len(self.targets)


def _output_kept(self: Any, out: Any, loss: Any) -> Any:
    Stage.begun(self, out, loss)
    return out


def _sum_so_far(self: Any, out: Any, loss: Any) -> Any:
    self.sum = Stage.begun(self, out, loss) + getattr(self, "sum", 0)
    return self.sum


def swaps(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    return Stage(comm, module, inputs, targets, lambda out, want: loss(want, out)).run(told)


def _of_a_number(self: Any, out: Any, loss: Any) -> Any:
    return torch.tensor(Stage.begun(self, out, loss).item(), requires_grad=True)


def _both_in_turn(self: Any, i: int) -> None:
    given, out = self.take(i)
    self.kept[i] = given, out if self.last else self.module(given)
    Stage.backward(self, i)


def _with_a_loss(self: Any, i: int) -> None:
    self.last = True
    Stage.forward(self, i)


def _sum_with_graph(self: Any, out: Any, loss: Any) -> Any:
    self.total = self.total + loss
    return loss


runs_again = _with(backward=_both_in_turn)
loss_everywhere = _with(forward=_with_a_loss)
sends_activation = _with(answer=lambda self, given, out: given.detach())
divides_twice = _with(said=lambda self: self.total / len(self.targets) if self.last else None)
sums_graphs = _with(begun=_sum_with_graph)
no_gradient = _with(given=lambda self, i: self.inputs[i] if self.first else self.received())
inputs_ask_too = _with(given=lambda self, i: Stage.given(self, i).requires_grad_())
floats_ask_too = _with(given=_floats_ask)
of_nothing = _with(back=lambda self, out: out.backward())
loss_not_kept = _with(begun=_output_kept)
loss_of_a_number = _with(begun=_of_a_number)
loss_of_several = _with(begun=_sum_so_far)
summed = _with(
    share=lambda self: 1, said=lambda self: Stage.said(self) and self.total / len(self.targets)
)
divided_by_ranks = _with(share=lambda self: self.comm.size)
divided_everywhere = _with(
    run=_counted, gradient=lambda self: Stage.gradient(self) / self.microbatches
)
divides_its_own = _with(share=lambda self: 1, said=_its_own_divided)
zeroed_each_time = _with(backward=_zeroed)
no_loss = _with(said=lambda self: None)
sum_of_losses = _with(said=lambda self: self.total * len(self.targets) if self.last else None)
says_everywhere = _with(said=lambda self: self.total)


# --- what is left behind --------------------------------------------------------------------------


def _updated(self: Any) -> Any:
    with torch.no_grad():
        for parameter in self.module.parameters():
            parameter -= 0.1 * parameter.grad
    return Stage.said(self)


def _in_mode(training: bool) -> Callable[..., Any]:
    def run(self: Any, instructions: Any) -> Any:
        self.module.train(training)
        return Stage.run(self, instructions)

    return _with(run=run)


updates = _with(said=_updated)
evaluates = _in_mode(False)
trains = _in_mode(True)
casts = _with(given=lambda self, i: self.inputs[i].double() if self.first else Stage.given(self, i))
