"""The reference of exercise 07.4, and accumulators with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference() -> Any:
    """The course's own."""
    from helpers.algorithms.servers.accumulators import ConditionalAccumulator

    return ConditionalAccumulator()


class Accumulator:
    """A right one in steps that can go wrong one by one."""

    def __init__(self) -> None:
        self.global_step = 0
        self.count = 0
        self.total: Any = 0.0

    def stale(self, local_step: int) -> bool:
        """Whether a gradient comes too late."""
        return local_step < self.global_step

    def apply_grad(self, gradient: Any, local_step: int) -> Any:
        """Count a gradient that is not stale."""
        if self.stale(local_step):
            return False
        self.add(gradient)
        self.count += 1
        return True

    def add(self, gradient: Any) -> None:
        """Add it to the sum."""
        self.total = self.total + gradient

    def take_grad(self, required: int) -> Any:
        """The mean, once there are enough."""
        if not self.ready(required):
            return None
        mean = self.mean(required)
        self.empty()
        self.advance()
        return mean

    def ready(self, required: int) -> bool:
        """Whether there are enough."""
        return self.count >= required

    def mean(self, required: int) -> Any:
        """Over all that came."""
        return self.total / self.count

    def empty(self) -> None:
        """Start anew."""
        self.total, self.count = 0.0, 0

    def advance(self) -> None:
        """The next step."""
        self.global_step += 1


class CountsStale(Accumulator):
    """Never looks at the local step."""

    def stale(self, local_step: int) -> bool:
        """Never."""
        return False


class DropsEqual(Accumulator):
    """Takes ≤ for <."""

    def stale(self, local_step: int) -> bool:
        """Also the step itself."""
        return local_step <= self.global_step


class DropsAhead(Accumulator):
    """Takes ≠ for <."""

    def stale(self, local_step: int) -> bool:
        """Whatever is not the step."""
        return local_step != self.global_step


class StepStays(Accumulator):
    """Never raises its step."""

    def advance(self) -> None:
        """Not at all."""


class TooEarly(Accumulator):
    """Gives whatever is there."""

    def ready(self, required: int) -> bool:
        """From the first gradient on."""
        return self.count > 0


class Exactly(Accumulator):
    """Waits for exactly as many as are required."""

    def ready(self, required: int) -> bool:
        """No more, no less."""
        return self.count == required


class ByRequired(Accumulator):
    """Divides by what was asked for."""

    def mean(self, required: int) -> Any:
        """Not by what came."""
        return self.total / required


class Sums(Accumulator):
    """Never divides."""

    def mean(self, required: int) -> Any:
        """The sum."""
        return self.total


class NeverEmptied(Accumulator):
    """Keeps all there ever was; counts the new ones to see whether there are enough."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0

    def ready(self, required: int) -> bool:
        """By the new ones."""
        return self.count - self.taken >= required

    def empty(self) -> None:
        """Keep everything."""
        self.taken = self.count


class SumKept(Accumulator):
    """Empties the count and forgets the sum."""

    def empty(self) -> None:
        """Half of it."""
        self.count = 0


class InPlace(Accumulator):
    """Adds into the first gradient."""

    def add(self, gradient: Any) -> None:
        """In place."""
        if self.count:
            self.total += gradient
        else:
            self.total = gradient


class SaysNothing(Accumulator):
    """Returns nothing for a push."""

    def apply_grad(self, gradient: Any, local_step: int) -> Any:
        """Silent."""
        super().apply_grad(gradient, local_step)


class CountKept(Accumulator):
    """Empties the sum and forgets the count."""

    def empty(self) -> None:
        """The other half."""
        self.total = 0.0


class StaleCounted(Accumulator):
    """Counts a gradient before it looks whether it is stale."""

    def apply_grad(self, gradient: Any, local_step: int) -> Any:
        """The wrong way round."""
        self.count += self.stale(local_step)
        return super().apply_grad(gradient, local_step)


class NeverCounts(Accumulator):
    """Adds, and forgets to count."""

    def add(self, gradient: Any) -> None:
        """The count stays."""
        super().add(gradient)
        self.count -= 1
