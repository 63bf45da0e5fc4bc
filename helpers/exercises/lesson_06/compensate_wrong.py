"""Delay compensation with one thing wrong each."""

from __future__ import annotations

from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Rule


class Remembers(Cure):
    """Remembers what each worker pulled, as it should; what is wrong is in the others."""

    def __init__(self, rule: Rule, strength: float) -> None:
        super().__init__(rule)
        self.strength = strength
        self.pulled: dict[int, Any] = {}

    def pull(self, worker: int) -> tuple[Any, int]:
        """Remember the weights that the worker is given."""
        self.pulled[worker], version = self.rule.pull(worker)
        return self.pulled[worker], version

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Hand on the corrected gradient."""
        moved = self.weights - self.pulled[worker]
        return self.rule.arrive(worker, self.corrected(gradient, moved), version)

    def corrected(self, gradient: Any, moved: Any) -> Any:
        """What is handed on."""
        return gradient + self.strength * gradient * gradient * moved


class WrongSign(Remembers):
    """(pulled − now)."""

    def corrected(self, gradient: Any, moved: Any) -> Any:
        """Backwards."""
        return gradient - self.strength * gradient * gradient * moved


class NotSquared(Remembers):
    """g instead of g⊙g."""

    def corrected(self, gradient: Any, moved: Any) -> Any:
        """One g."""
        return gradient + self.strength * gradient * moved


class NoStrength(Remembers):
    """Without λ."""

    def corrected(self, gradient: Any, moved: Any) -> Any:
        """λ = 1."""
        return gradient + gradient * gradient * moved


class MovesAlone(Remembers):
    """The correction without the gradient."""

    def corrected(self, gradient: Any, moved: Any) -> Any:
        """No g."""
        return self.strength * gradient * gradient * moved


class Dot(Remembers):
    """A dot product of g with itself."""

    def corrected(self, gradient: Any, moved: Any) -> Any:
        """(g·g) moved."""
        return gradient + self.strength * gradient.dot(gradient) * moved


class DotWithMoved(Remembers):
    """A dot product of g with what moved."""

    def corrected(self, gradient: Any, moved: Any) -> Any:
        """g (g·moved)."""
        return gradient + self.strength * gradient * gradient.dot(moved)


class DotTwice(Remembers):
    """Two dot products, which do not fit."""

    def corrected(self, gradient: Any, moved: Any) -> Any:
        """(g·g)·moved."""
        return gradient + self.strength * gradient.dot(gradient).dot(moved)


class KeepsThePair(Remembers):
    """Keeps weights and version together."""

    def pull(self, worker: int) -> tuple[Any, int]:
        """All that the rule inside gives."""
        self.pulled[worker] = self.rule.pull(worker)
        return self.pulled[worker]


class CopyAVersion(Remembers):
    """Keeps all weights that were ever pulled, by their version."""

    def pull(self, worker: int) -> tuple[Any, int]:
        """Remember by version."""
        weights, version = self.rule.pull(worker)
        self.pulled[version] = weights
        return weights, version

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Look it up by version."""
        moved = self.weights - self.pulled[version]
        return self.rule.arrive(worker, self.corrected(gradient, moved), version)


class ByVersion(Remembers):
    """Takes the staleness for the distance."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """g + λ·g⊙g·τ."""
        corrected = gradient + self.strength * gradient * gradient * (self.version - version)
        return self.rule.arrive(worker, corrected, version)


class OneMemory(Remembers):
    """One memory for all workers."""

    def pull(self, worker: int) -> tuple[Any, int]:
        """The last one counts."""
        weights, version = self.rule.pull(worker)
        self.pulled = dict.fromkeys(self.workers, weights)
        return weights, version


class AtArrival(Remembers):
    """Remembers the weights when a gradient comes, before it is applied."""

    def pull(self, worker: int) -> tuple[Any, int]:
        """The first time alone."""
        weights, version = self.rule.pull(worker)
        self.pulled.setdefault(worker, weights)
        return weights, version

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Remember, then hand on."""
        moved, self.pulled[worker] = self.weights - self.pulled[worker], self.weights
        return self.rule.arrive(worker, self.corrected(gradient, moved), version)


class FromStart(Remembers):
    """Remembers the first pull for ever."""

    def pull(self, worker: int) -> tuple[Any, int]:
        """The first time alone."""
        weights, version = self.rule.pull(worker)
        self.pulled.setdefault(worker, weights)
        return weights, version


class GivesNothing(Remembers):
    """Remembers, and returns nothing."""

    def pull(self, worker: int) -> Any:
        """No value."""
        super().pull(worker)


class KeyMissing(Remembers):
    """Remembers only after the first arrival."""

    def pull(self, worker: int) -> tuple[Any, int]:
        """As the rule inside."""
        return self.rule.pull(worker)

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Remember when it comes."""
        moved = self.weights - self.pulled[worker]
        self.pulled[worker] = self.weights
        return self.rule.arrive(worker, self.corrected(gradient, moved), version)
