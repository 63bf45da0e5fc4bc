"""The reference of exercise 07.5, and chiefs with one thing wrong."""

from __future__ import annotations

from typing import Any


class Reference:
    """The course's own: it works on one accumulator and a queue that it is given."""

    def __init__(
        self, accumulator: Any, queue: Any, weights: Any, rate: float, aggregate: int, total: int
    ) -> None:
        self.accumulator, self.queue = accumulator, queue
        self.weights, self.rate = weights, rate
        self.aggregate, self.total = aggregate, total
        self.global_step = 0

    def start(self, num_tokens: int) -> None:
        """The tokens with which training starts."""
        self.queue.extend([self.global_step] * self.at_start(num_tokens))

    def at_start(self, num_tokens: int) -> int:
        """How many."""
        return self.aggregate if num_tokens == -1 else num_tokens

    def turn(self) -> Any:
        """Make an update if there is a mean for it."""
        mean = self.take()
        if mean is None:
            return self.said(False)
        self.update(mean)
        self.advance()
        return self.said(True)

    def take(self) -> Any:
        """The mean, where there is one."""
        return self.accumulator.take_grad(self.aggregate)

    def update(self, mean: Any) -> None:
        """One step of plain SGD."""
        self.weights = self.weights - self.rate * mean

    def advance(self) -> None:
        """The next step, and tokens for it."""
        self.global_step += 1
        self.queue.extend([self.global_step] * self.new())

    def new(self) -> int:
        """Tokens an update."""
        return max(self.total, self.aggregate)

    def said(self, updated: bool) -> Any:
        """What a turn returns."""
        return updated


def reference(
    accumulator: Any, queue: Any, weights: Any, rate: float, aggregate: int, total: int
) -> Any:
    """The course's own."""
    return Reference(accumulator, queue, weights, rate, aggregate, total)


class NoneAtStart(Reference):
    """Takes −1 for none: `[0] * -1` is empty."""

    def at_start(self, num_tokens: int) -> int:
        """As given."""
        return num_tokens


class TotalAtStart(Reference):
    """A token for each worker at the start."""

    def at_start(self, num_tokens: int) -> int:
        """As many as workers."""
        return self.total if num_tokens == -1 else num_tokens


class AlwaysDefault(Reference):
    """Never looks at num_tokens."""

    def at_start(self, num_tokens: int) -> int:
        """As many as an update takes."""
        return self.aggregate


class AsksForAll(Reference):
    """Waits for all workers."""

    def take(self) -> Any:
        """Of all."""
        return self.accumulator.take_grad(self.total)


class AsksTwice(Reference):
    """Takes a mean to look whether there is one, then another."""

    def take(self) -> Any:
        """Twice."""
        if self.accumulator.take_grad(self.aggregate) is None:
            return None
        return self.accumulator.take_grad(self.aggregate)


class OldTokens(Reference):
    """Makes the tokens before it raises the step."""

    def advance(self) -> None:
        """The wrong way round."""
        self.queue.extend([self.global_step] * self.new())
        self.global_step += 1


class AggregateTokens(Reference):
    """A token for each gradient of an update."""

    def new(self) -> int:
        """Too few for the spare workers."""
        return self.aggregate


class TotalTokens(Reference):
    """A token for each worker."""

    def new(self) -> int:
        """Too few where workers give several gradients."""
        return self.total


class StepStays(Reference):
    """Never raises the step."""

    def advance(self) -> None:
        """Tokens alone."""
        self.queue.extend([self.global_step + 1] * self.new())


class ForNothing(Reference):
    """Puts tokens in, whether there is an update or not."""

    def turn(self) -> Any:
        """Tokens first."""
        mean = self.take()
        if mean is not None:
            self.update(mean)
            self.global_step += 1
        self.queue.extend([self.global_step] * self.new())
        return mean is not None


class DividesAgain(Reference):
    """Divides the mean once more."""

    def update(self, mean: Any) -> None:
        """A shorter step."""
        self.weights = self.weights - self.rate * mean / self.aggregate


class NoWord(Reference):
    """Returns nothing."""

    def said(self, updated: bool) -> Any:
        """Silent."""
        return None


class IfNotMean(Reference):
    """Asks whether a tensor is true."""

    def turn(self) -> Any:
        """Fails where the tensor has several numbers."""
        mean = self.take()
        if not mean:
            return False
        self.update(mean)
        self.advance()
        return True


class Appends(Reference):
    """Puts the list in as it is."""

    def advance(self) -> None:
        """One token, a list."""
        self.global_step += 1
        self.queue.append([self.global_step] * self.new())


class OwnQueue(Reference):
    """Makes a new queue."""

    def advance(self) -> None:
        """Nobody sees it."""
        self.global_step += 1
        self.queue = [self.global_step] * self.new()


class Empties(Reference):
    """Throws the old tokens away."""

    def advance(self) -> None:
        """Only new ones are left."""
        self.queue.clear()
        super().advance()


class OnTheLeft(Reference):
    """Puts new tokens in where workers take."""

    def advance(self) -> None:
        """The newest first."""
        self.global_step += 1
        self.queue.extendleft([self.global_step] * self.new())


class CountsFirst(Reference):
    """Looks how many gradients there are before it asks for their mean."""

    def take(self) -> Any:
        """An accumulator need not say that."""
        if self.accumulator.count < self.aggregate:
            return None
        return super().take()


class InPlace(Reference):
    """Writes into the weights that it was given."""

    def update(self, mean: Any) -> None:
        """What others hold changes with it."""
        self.weights -= self.rate * mean


class NoRate(Reference):
    """Subtracts the mean as it is."""

    def update(self, mean: Any) -> None:
        """Too long a step."""
        self.weights = self.weights - mean


class AppendsAtStart(Reference):
    """Puts the first tokens in as a list."""

    def start(self, num_tokens: int) -> None:
        """One token, a list."""
        self.queue.append([0] * self.at_start(num_tokens))
