"""More wrong answers to exercise 13.4: what is kept, sent and left behind in a wrong way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.algorithms.pipeline.instructions import Forward
from helpers.exercises.lesson_13.run_stage_own import Stage


class LossNotKept(Stage):
    """Keeps the output, and not the loss that was made of it."""

    def forward(self, i: int) -> None:
        """Forgets the loss."""
        given = self.given(i)
        out = self.module(given)
        if self.last:
            self.total += (self.loss(out, self.targets[i]) / self.share()).item()
        else:
            self.send(out, self.comm.rank + 1)
        self.keep(i, given, out)


class NeverReceives(Stage):
    """Goes back from the sum of its output, and receives no gradient."""

    def backward(self, i: int) -> None:
        """As if nothing came from behind."""
        given, out = self.take(i)
        out.sum().backward()
        if not self.first:
            self.send(given.grad, self.comm.rank - 1)


class SendsOther(Stage):
    """Sends the gradient of its output back."""

    def backward(self, i: int) -> None:
        """`.grad` of the wrong tensor."""
        _, out = self.take(i)
        out.backward(None if self.last else self.gradient())
        if not self.first:
            self.send(out.grad, self.comm.rank - 1)


class LossOfANumber(Stage):
    """Goes back from a new tensor with the loss's number."""

    def keep(self, i: int, given: Any, out: Any) -> None:
        """Without a history."""
        if self.last:
            out = torch.tensor(out.item(), requires_grad=True)
        super().keep(i, given, out)


class InputsAskToo(Stage):
    """Makes leaves of the first rank's inputs as well."""

    def given(self, i: int) -> Any:
        """All ask for a gradient."""
        return super().given(i).requires_grad_()


class Updates(Stage):
    """Does the update too."""

    def said(self) -> Any:
        """After a step of gradient descent."""
        with torch.no_grad():
            for parameter in self.module.parameters():
                parameter -= 0.1 * parameter.grad
        return super().said()


class Evaluates(Stage):
    """Runs the module in evaluation mode."""

    def run(self, instructions: Any) -> Any:
        """Turns the mode first."""
        self.module.eval()
        return super().run(instructions)


class Trains(Stage):
    """Runs the module in training mode."""

    def run(self, instructions: Any) -> Any:
        """Turns the mode first."""
        self.module.train()
        return super().run(instructions)


class Casts(Stage):
    """Makes floats of tokens, which can ask for a gradient then."""

    def given(self, i: int) -> Any:
        """All ask for a gradient."""
        given = self.inputs[i].double() if self.first else self.comm.recv(self.comm.rank - 1)
        return given.requires_grad_()


class CountsFirst(Stage):
    """Counts the microbatches before it begins."""

    def run(self, instructions: Any) -> Any:
        """Nothing of a generator is left after that."""
        self.microbatches = sum(isinstance(each, Forward) for each in instructions)
        return super().run(instructions)


class NeverWaits(Stage):
    """Starts messages and forgets them."""

    def send(self, tensor: Any, to: int) -> None:
        """Without keeping the request."""
        self.comm.isend(tensor, to)


class SaysEverywhere(Stage):
    """Returns its total wherever it is."""

    def said(self) -> Any:
        """Also where there is none."""
        return self.total


class DividesItsOwn(Stage):
    """Divides the last rank's gradients, when all is over."""

    def share(self) -> int:
        """The whole of each loss."""
        return 1

    def said(self) -> Any:
        """Divides on this rank alone."""
        if not self.last:
            return None
        for parameter in self.module.parameters():
            parameter.grad /= len(self.targets)
        return self.total / len(self.targets)


class NeverLetsGo(Stage):
    """Keeps all to the end of the step."""

    def take(self, i: int) -> Any:
        """And leaves it there."""
        return self.kept[i]


def _answer(stage: type[Stage], name: str) -> Callable[..., Any]:
    def run(comm: Any, module: Any, told: Any, inputs: Any, targets: Any, loss: Any) -> Any:
        return stage(comm, module, inputs, targets, loss).run(told)

    run.__name__ = run.__qualname__ = name
    return run


loss_not_kept = _answer(LossNotKept, "loss_not_kept")
never_receives = _answer(NeverReceives, "never_receives")
sends_other = _answer(SendsOther, "sends_other")
loss_of_a_number = _answer(LossOfANumber, "loss_of_a_number")
inputs_ask_too = _answer(InputsAskToo, "inputs_ask_too")
updates = _answer(Updates, "updates")
evaluates = _answer(Evaluates, "evaluates")
trains = _answer(Trains, "trains")
casts = _answer(Casts, "casts")
counts_first = _answer(CountsFirst, "counts_first")
never_waits = _answer(NeverWaits, "never_waits")
says_everywhere = _answer(SaysEverywhere, "says_everywhere")
divides_its_own = _answer(DividesItsOwn, "divides_its_own")
never_lets_go = _answer(NeverLetsGo, "never_lets_go")
