"""Accumulators with one thing wrong each (07.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Accumulator:
    """A right one in parts, of which each wrong answer has another one."""

    stale: Any = staticmethod(lambda local, step: local < step)
    ready: Any = staticmethod(lambda count, required: count >= required)
    mean: Any = staticmethod(lambda total, count, required: total / count)
    left: Any = staticmethod(lambda total, count: (0.0, 0))  # after a mean
    raised = 1  # by which the step is, with a mean

    def __init__(self) -> None:
        self.global_step = 0
        self.count = 0
        self.total: Any = 0.0

    def apply_grad(self, gradient: Any, local_step: int) -> Any:
        if self.stale(local_step, self.global_step):
            return False
        self.add(gradient)
        return True

    def add(self, gradient: Any) -> None:
        self.total, self.count = self.total + gradient, self.count + 1

    def take_grad(self, required: int) -> Any:
        if not self.ready(self.count, required):
            return None
        mean = self.mean(self.total, self.count, required)
        self.total, self.count = self.left(self.total, self.count)
        self.global_step += self.raised
        return mean


def _with(**parts: Callable[..., Any]) -> type[Accumulator]:
    held = {name: staticmethod(part) for name, part in parts.items()}
    return type("Accumulator", (Accumulator,), held)


counts_stale = _with(stale=lambda local, step: False)
drops_equal = _with(stale=lambda local, step: local <= step)
drops_ahead = _with(stale=lambda local, step: local != step)
too_early = _with(ready=lambda count, required: count > 0)
exactly = _with(ready=lambda count, required: count == required)
by_required = _with(mean=lambda total, count, required: total / required)
sums = _with(mean=lambda total, count, required: total)
sum_kept = _with(left=lambda total, count: (total, 0))
count_kept = _with(left=lambda total, count: (0.0, count))


class StepStays(Accumulator):
    raised = 0


class StepForNothing(Accumulator):
    raised = 0

    def take_grad(self, required: int) -> Any:
        self.global_step += 1
        return super().take_grad(required)


class NeverEmptied(Accumulator):
    """Keeps all there ever was; counts the new ones to see whether there are enough."""

    taken = 0

    def take_grad(self, required: int) -> Any:
        if self.count - self.taken < required:
            return None
        self.taken, self.global_step = self.count, self.global_step + 1
        return self.total / self.count


class FirstAlone(Accumulator):
    kept: Any = staticmethod(lambda came, required: came[:required])

    def take_grad(self, required: int) -> Any:
        before = self.count
        mean = super().take_grad(required)
        return mean if mean is None else sum(self.kept(self.given[-before:], required)) / required

    def add(self, gradient: Any) -> None:
        super().add(gradient)
        self.given = [*getattr(self, "given", ()), gradient]


class LastAlone(FirstAlone):
    kept: Any = staticmethod(lambda came, required: came[-required:])


class InPlace(Accumulator):
    def add(self, gradient: Any) -> None:
        if self.count:
            self.total += gradient
        else:
            self.total = gradient
        self.count += 1


class OwnBuffer(Accumulator):
    buffer: Any = None

    def add(self, gradient: Any) -> None:
        if self.count:
            self.buffer += gradient
        else:
            self.buffer = gradient.clone() if self.buffer is None else self.buffer
            self.buffer.copy_(gradient)
        self.total, self.count = self.buffer, self.count + 1

    def take_grad(self, required: int) -> Any:
        mean = super().take_grad(required)
        return mean if mean is None else self.buffer.copy_(mean)


class StaleCounted(Accumulator):
    def apply_grad(self, gradient: Any, local_step: int) -> Any:
        self.count += local_step < self.global_step
        return super().apply_grad(gradient, local_step)


class NeverCounts(Accumulator):
    def add(self, gradient: Any) -> None:
        self.total = self.total + gradient


class SaysNothing(Accumulator):
    def apply_grad(self, gradient: Any, local_step: int) -> Any:
        super().apply_grad(gradient, local_step)
