"""The reference of exercise 07.3, and rules of N of N + b with one thing wrong."""

from __future__ import annotations

from typing import Any

from helpers.algorithms.servers.rule import Decision, Push, Rule, mean


def reference(weights: Any, optimizer: Any, workers: Any, aggregate: int) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.update_rules import SpareReplicas

    return SpareReplicas(weights, optimizer, workers, aggregate)


class Spare(Rule):
    """A right rule in steps that can go wrong one by one."""

    def __init__(self, weights: Any, optimizer: Any, workers: Any, aggregate: int) -> None:
        super().__init__(weights, optimizer, workers)
        self.aggregate = aggregate
        self.held: list[tuple[Any, Push]] = []

    def arrive(self, worker: int, gradient: Any, version: int) -> Any:
        """Drop what is late, keep the rest, update with the N-th."""
        if version < self.version:
            return self.late(worker, version)
        return self.keep(worker, gradient, version)

    def late(self, worker: int, version: int) -> Any:
        """The step is over."""
        return self.discard(worker, version)

    def keep(self, worker: int, gradient: Any, version: int) -> Any:
        """The step is not over."""
        self.held.append((gradient, self.push(worker, version)))
        if len(self.held) < self.needed():
            return self.waiting(worker)
        given = self.held
        self.empty()
        self.apply(self.combine([gradient for gradient, _ in given]))
        pushes = tuple(push for _, push in given)
        return Decision(self.freed(worker, pushes), pushes)

    def needed(self) -> int:
        """Gradients to an update."""
        return self.aggregate

    def waiting(self, worker: int) -> Any:
        """What follows from a gradient that is only kept."""
        return Decision()

    def empty(self) -> None:
        """After an update."""
        self.held = []

    def combine(self, gradients: list[Any]) -> Any:
        """What is applied."""
        return mean(gradients)

    def freed(self, worker: int, pushes: tuple[Push, ...]) -> tuple[int, ...]:
        """Who goes on after an update."""
        return tuple(push.worker for push in pushes)


class CountsLate(Spare):
    """Never looks at the version."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Any:
        """Keep everything."""
        return self.keep(worker, gradient, version)


class NotReleased(Spare):
    """Drops a late gradient and forgets its worker."""

    def late(self, worker: int, version: int) -> Any:
        """Drop alone."""
        return Decision(dropped=(self.push(worker, version),))


class SaysNothing(Spare):
    """Leaves a late gradient out, and its worker too."""

    def late(self, worker: int, version: int) -> Any:
        """As if it were kept."""
        return Decision()


class NamesTuples(Spare):
    """Names gradients by tuples of its own."""

    def late(self, worker: int, version: int) -> Any:
        """A tuple of a push's numbers."""
        return Decision((worker,), dropped=(tuple(self.push(worker, version)),))  # type: ignore[arg-type]


class Silent(Spare):
    """Releases a late worker and does not say that its gradient is dropped."""

    def late(self, worker: int, version: int) -> Any:
        """Release alone."""
        return Decision(release=(worker,))


class WaitsForAll(Spare):
    """Takes the number of workers for N."""

    def needed(self) -> int:
        """All."""
        return len(self.workers)


class DividesByAll(Spare):
    """The mean over N + b."""

    def combine(self, gradients: list[Any]) -> Any:
        """The sum over all workers."""
        return mean(gradients) * len(gradients) / len(self.workers)


class Sums(Spare):
    """The sum."""

    def combine(self, gradients: list[Any]) -> Any:
        """Never divides."""
        return mean(gradients) * len(gradients)


class LastOnly(Spare):
    """The gradient that came last."""

    def combine(self, gradients: list[Any]) -> Any:
        """Forgets the others."""
        return gradients[-1]


class NeverEmpties(Spare):
    """Keeps the gradients of earlier steps."""

    def empty(self) -> None:
        """Copies and keeps."""
        self.held = list(self.held)


class ReleasesEveryone(Spare):
    """Releases also those who are still computing."""

    def freed(self, worker: int, pushes: tuple[Push, ...]) -> tuple[int, ...]:
        """All workers."""
        return tuple(sorted(self.workers))


class ReleasesAtOnce(Spare):
    """Lets every worker go on as soon as it has come."""

    def waiting(self, worker: int) -> Any:
        """As if asynchronous."""
        return Decision(release=(worker,))


class ReleasesLast(Spare):
    """Releases the worker whose gradient made the update, and no other."""

    def freed(self, worker: int, pushes: tuple[Push, ...]) -> tuple[int, ...]:
        """One worker."""
        return (worker,)


class ReturnsNothing(Spare):
    """Returns None while it waits."""

    def waiting(self, worker: int) -> Any:
        """No decision."""
        return None


class NamesLate(Spare):
    """Names gradients when the update is made."""

    def keep(self, worker: int, gradient: Any, version: int) -> Any:
        """The version is another one by then."""
        decision = super().keep(worker, gradient, version)
        applied = tuple(self.push(push.worker, push.version) for push in decision.applied)
        return Decision(decision.release, applied)


class NamesNumbers(Spare):
    """Gives workers' numbers where gradients are to be named."""

    def keep(self, worker: int, gradient: Any, version: int) -> Any:
        """Numbers."""
        decision = super().keep(worker, gradient, version)
        numbers: Any = decision.release
        return Decision(decision.release, numbers)


class NamesNothing(Spare):
    """Says who goes on and not what was applied."""

    def keep(self, worker: int, gradient: Any, version: int) -> Any:
        """Half a decision."""
        return Decision(super().keep(worker, gradient, version).release)


class RaisesVersion(Spare):
    """Raises the version once more."""

    def freed(self, worker: int, pushes: tuple[Push, ...]) -> tuple[int, ...]:
        """By hand."""
        self.version += 1
        return super().freed(worker, pushes)


class NeverApplies(Spare):
    """Decides, and makes no update."""

    def apply(self, gradient: Any) -> None:
        """Not at all."""


class ReleasesPushes(Spare):
    """Releases the pushes instead of their workers."""

    def freed(self, worker: int, pushes: tuple[Push, ...]) -> Any:
        """As they are."""
        return pushes


class ReleasesNumber(Spare):
    """Forgets the tuple."""

    def late(self, worker: int, version: int) -> Any:
        """A number."""
        number: Any = worker
        return Decision(release=number, dropped=(self.push(worker, version),))


class DropsEqual(Spare):
    """Takes ≤ for <."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Any:
        """Drops everything."""
        if version <= self.version:
            return self.late(worker, version)
        return self.keep(worker, gradient, version)
