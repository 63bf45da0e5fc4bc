"""The reference of exercise 05.1, and supervisors with one thing wrong."""

from __future__ import annotations

from typing import Any

from helpers.algorithms.servers.rule import Decision, Rule, mean


def reference(weights: Any, workers: int) -> Any:
    """The course's own."""
    from helpers.algorithms.servers.update_rules import Averaging

    return Averaging(weights, workers)


class Keeps(Rule):
    """What the answers below share: what each worker pushed."""

    pushes = "weights"

    def __init__(self, weights: Any, workers: int) -> None:
        super().__init__(weights, None, workers)
        self.held: dict[int, Any] = {}

    def average(self) -> None:
        """Take the mean."""
        self.weights = mean([self.held[worker] for worker in sorted(self.held)])
        self.version += 1

    def full(self, worker: int, gradient: Any) -> bool:
        """Keep it. Returns whether all have pushed."""
        self.held[worker] = gradient
        return len(self.held) == len(self.workers)

    def everyone(self) -> Decision:
        """Release all, and begin a new round."""
        self.held = {}
        return Decision(tuple(sorted(self.workers)))


class Sums(Keeps):
    """Sums and does not divide."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.weights = sum(self.held.values())
        self.version += 1
        return self.everyone()


class LastWins(Keeps):
    """Waits for all, and takes the weights that came last."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.weights = gradient
        self.version += 1
        return self.everyone()


class CountsItself(Keeps):
    """Its own old weights are in the mean too."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.weights = (self.weights + sum(self.held.values())) / (len(self.workers) + 1)
        self.version += 1
        return self.everyone()


class NeverClears(Keeps):
    """What was pushed in the first round stays."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.average()
        return Decision(tuple(sorted(self.workers)))


class NeverCounts(Keeps):
    """The version stays 0."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.average()
        self.version = 0
        return self.everyone()


class WaitsForNobody(Keeps):
    """Averages with what it has, whenever somebody pushes."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held[worker] = gradient
        self.average()
        return Decision((worker,))


class ReleasesOne(Keeps):
    """Only the last worker goes on."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.average()
        self.held = {}
        return Decision((worker,))


class ReleasesNobody(Keeps):
    """Takes the mean, and lets nobody go on."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if self.full(worker, gradient):
            self.average()
            self.held = {}
        return Decision()


class OnlyTheMean(Keeps):
    """Takes the mean, raises no version and lets nobody go on."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if self.full(worker, gradient):
            self.average()
            self.version = 0
            self.held = {}
        return Decision()


class NeverFull(Keeps):
    """Asks whether a number is a set."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held[worker] = gradient
        everybody: Any = self.workers
        if len(self.held) == everybody:
            self.average()
            return self.everyone()
        return Decision()


class BelowASet(Keeps):
    """Asks whether a number is below a set."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held[worker] = gradient
        everybody: Any = self.workers
        if len(self.held) < everybody:
            return Decision()
        self.average()
        return self.everyone()


KNOWN = {
    "sums": Sums,
    "last wins": LastWins,
    "counts itself": CountsItself,
    "never clears": NeverClears,
    "never counts": NeverCounts,
    "waits for nobody": WaitsForNobody,
}
