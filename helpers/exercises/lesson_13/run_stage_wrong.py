"""Wrong answers to exercise 13.4: stages with one thing wrong."""

from __future__ import annotations

from typing import Any

from helpers.algorithms.pipeline.instructions import Forward
from helpers.exercises.lesson_13.run_stage_own import Stage


class Blocking(Stage):
    """Waits for each message to be taken."""

    def send(self, tensor: Any, to: int) -> None:
        """Blocks."""
        self.comm.send(tensor, to)


class NoGradient(Stage):
    """Does not ask for the gradient of what it receives."""

    def given(self, i: int) -> Any:
        """As it comes."""
        return self.inputs[i] if self.first else self.comm.recv(self.comm.rank - 1)


class Summed(Stage):
    """Adds the microbatches' gradients up."""

    def share(self) -> int:
        """The whole of each loss."""
        return 1

    def said(self) -> Any:
        """The mean all the same."""
        return self.total / len(self.targets) if self.last else None


class DividedByRanks(Stage):
    """Divides as data parallelism does."""

    def share(self) -> int:
        """The number of ranks."""
        return int(self.comm.size)


class DividedEverywhere(Stage):
    """Divides on every stage."""

    def run(self, instructions: Any) -> Any:
        """Counts the microbatches first."""
        told = list(instructions)
        self.microbatches = len(told) // 2
        return super().run(told)

    def gradient(self) -> Any:
        """Divided once more."""
        return super().gradient() / self.microbatches


class ZeroedEachTime(Stage):
    """Starts every backward from nothing."""

    def backward(self, i: int) -> None:
        """Forgets what the others gave."""
        self.module.zero_grad()
        super().backward(i)


class LatestOnly(Stage):
    """Keeps the latest output alone."""

    def keep(self, i: int, given: Any, out: Any) -> None:
        """Writes over it."""
        self.latest = given, out

    def take(self, i: int) -> Any:
        """Whatever is there."""
        return self.latest


class OldestFirst(Stage):
    """Keeps a queue."""

    def take(self, i: int) -> Any:
        """The oldest, whatever was asked for."""
        return self.kept.pop(min(self.kept))


class AllForwardsFirst(Stage):
    """Has an order of its own."""

    def run(self, instructions: Any) -> Any:
        """Forward with all, then back."""
        told = list(instructions)
        return super().run(sorted(told, key=lambda each: not isinstance(each, Forward)))


class FirstSendsBack(Stage):
    """Sends a gradient in front of the first stage."""

    def backward(self, i: int) -> None:
        """To rank − 1, always."""
        given, out = self.take(i)
        out.backward(None if self.last else self.gradient())
        self.send(given if self.first else given.grad, self.comm.rank - 1)


class OfNothing(Stage):
    """Goes back without the gradient that the next stage has for it."""

    def backward(self, i: int) -> None:
        """As at the end of a model."""
        given, out = self.take(i)
        out.backward()
        if not self.first:
            self.send(given.grad, self.comm.rank - 1)


class NoLoss(Stage):
    """Returns nothing."""

    def said(self) -> Any:
        """Silent."""
        return None


class SumOfLosses(Stage):
    """Returns the sum."""

    def said(self) -> Any:
        """Not the mean."""
        return self.total * len(self.targets) if self.last else None


class AllInputsFirst(Stage):
    """Receives the inputs of all microbatches before it starts."""

    def run(self, instructions: Any) -> Any:
        """Receives, then works."""
        told = list(instructions)
        numbers = [each.microbatch for each in told if isinstance(each, Forward)]
        self.there = {i: super(AllInputsFirst, self).given(i) for i in numbers}
        return super().run(told)

    def given(self, i: int) -> Any:
        """From what is there."""
        return self.there[i]


class InStep(Stage):
    """Waits for all ranks after each instruction."""

    def do(self, each: Any) -> None:
        """One instruction, and a barrier."""
        super().do(each)
        self.comm.barrier()


def blocking(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Waits for each message to be taken."""
    return Blocking(comm, module, inputs, targets, loss).run(told)


def no_gradient(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Does not ask for the gradient of what it receives."""
    return NoGradient(comm, module, inputs, targets, loss).run(told)


def summed(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Adds the microbatches' gradients up."""
    return Summed(comm, module, inputs, targets, loss).run(told)


def divided_by_ranks(
    comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """Divides as data parallelism does."""
    return DividedByRanks(comm, module, inputs, targets, loss).run(told)


def divided_everywhere(
    comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """Divides on every stage."""
    return DividedEverywhere(comm, module, inputs, targets, loss).run(told)


def zeroed_each_time(
    comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """Starts every backward from nothing."""
    return ZeroedEachTime(comm, module, inputs, targets, loss).run(told)


def latest_only(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Keeps the latest output alone."""
    return LatestOnly(comm, module, inputs, targets, loss).run(told)


def oldest_first(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Keeps a queue."""
    return OldestFirst(comm, module, inputs, targets, loss).run(told)


def all_forwards_first(
    comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """Has an order of its own."""
    return AllForwardsFirst(comm, module, inputs, targets, loss).run(told)


def first_sends_back(
    comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """Sends a gradient in front of the first stage."""
    return FirstSendsBack(comm, module, inputs, targets, loss).run(told)


def of_nothing(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Goes back without the gradient that the next stage has for it."""
    return OfNothing(comm, module, inputs, targets, loss).run(told)


def no_loss(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Returns nothing."""
    return NoLoss(comm, module, inputs, targets, loss).run(told)


def sum_of_losses(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Returns the sum."""
    return SumOfLosses(comm, module, inputs, targets, loss).run(told)


def all_inputs_first(
    comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """Receives the inputs of all microbatches before it starts."""
    return AllInputsFirst(comm, module, inputs, targets, loss).run(told)


def in_step(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
    """Waits for all ranks after each instruction."""
    return InStep(comm, module, inputs, targets, loss).run(told)
