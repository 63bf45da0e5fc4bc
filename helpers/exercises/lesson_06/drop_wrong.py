"""The reference of exercise 06.3, and answers with one thing wrong."""

from __future__ import annotations

from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Rule


def reference(rule: Rule, limit: int) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.stale_cures import DropStale

    return DropStale(rule, limit)


class Limited(Cure):
    """A cure that knows the limit."""

    def __init__(self, rule: Rule, limit: int) -> None:
        super().__init__(rule)
        self.limit = limit


class KeepsWorker(Limited):
    """Drops, and forgets that the worker waits for an answer."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """No release."""
        push = self.push(worker, version)
        if push.staleness > self.limit:
            return Decision(dropped=(push,))
        return self.rule.arrive(worker, gradient, version)


class DropsAtLimit(Limited):
    """≥ instead of >."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Drop from the limit on."""
        if self.push(worker, version).staleness >= self.limit:
            return self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


class SaysNothing(Limited):
    """Drops without a word."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Release alone."""
        if self.push(worker, version).staleness > self.limit:
            return Decision(release=(worker,))
        return self.rule.arrive(worker, gradient, version)


class DropsFresh(Limited):
    """The wrong way round."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Drop the fresh ones."""
        if self.push(worker, version).staleness <= self.limit:
            return self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


class ByVersion(Limited):
    """Takes the version for the staleness."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Drop high versions."""
        if version > self.limit:
            return self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


class AppliesAnyway(Limited):
    """Says that it drops, and applies."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Hand on first."""
        push = self.push(worker, version)
        decision = self.rule.arrive(worker, gradient, version)
        if push.staleness > self.limit:
            return Decision(release=(worker,), dropped=(push,))
        return decision


class NeverDrops(Limited):
    """Hands everything on."""


class DiscardsInVain(Limited):
    """Discards without a return, and goes on."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Fall through."""
        if self.push(worker, version).staleness > self.limit:
            self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


class DiscardsAndSaysNothing(Limited):
    """Discards without a return, and returns nothing."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """None where it discards."""
        decision: Any = None
        if self.push(worker, version).staleness > self.limit:
            self.discard(worker, version)
        else:
            decision = self.rule.arrive(worker, gradient, version)
        return decision


class AppliesItself(Limited):
    """Makes the update itself."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """The asynchronous rule once more."""
        push = self.push(worker, version)
        if push.staleness > self.limit:
            return self.discard(worker, version)
        self.apply(gradient)
        return Decision(release=(worker,), applied=(push,))


class DecidesItself(Limited):
    """Hands on, and decides all the same."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """A decision of its own."""
        push = self.push(worker, version)
        if push.staleness > self.limit:
            return self.discard(worker, version)
        self.rule.arrive(worker, gradient, version)
        return Decision(release=(worker,), applied=(push,))


KNOWN = {
    "its worker is not released": KeepsWorker,
    "drops at the limit": DropsAtLimit,
    "not noted": SaysNothing,
    "drops the fresh ones": DropsFresh,
    "version for staleness": ByVersion,
    "applies what it drops": AppliesAnyway,
    "drops nothing": NeverDrops,
    "discards in vain": DiscardsInVain,
}
