"""Rules that let nobody run far ahead of the slowest, each wrong in one thing (06.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.algorithms.servers.rule import Decision, Push, Rule


class _Parts(Rule):
    """The rule in parts, of which each wrong answer has another one."""

    def __init__(self, weights: Any, optimizer: Any, workers: int, bound: float) -> None:
        super().__init__(weights, optimizer, workers)
        self.bound = bound
        self.clocks = dict.fromkeys(self.workers, 0)
        self.waiting: set[int] = set()

    def measure(self) -> float:
        return min(self.clocks.values(), default=0)

    def may(self, worker: int) -> bool:
        return self.clocks[worker] - self.measure() <= self.bound

    def count(self, worker: int) -> None:
        self.clocks[worker] += 1

    def ready(self) -> tuple[int, ...]:
        found = tuple(worker for worker in sorted(self.waiting) if self.may(worker))
        self.waiting -= set(found)
        return found

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        push = self.push(worker, version)
        self.apply(gradient)
        self.count(worker)
        self.waiting.add(worker)
        return Decision(self.ready(), (push,))

    def leave(self, worker: int) -> Any:
        self.forget(worker)
        return Decision(self.ready())

    def forget(self, worker: int) -> None:
        self.workers.discard(worker)
        self.waiting.discard(worker)
        self.clocks.pop(worker, None)


def _where(may: Callable[[Any, int], bool]) -> type[_Parts]:
    """The rule with another answer to who may go on."""

    class Where(_Parts):
        def may(self, worker: int) -> bool:
            return may(self, worker)

    return Where


def _ahead(rule: _Parts, worker: int) -> float:
    return rule.clocks[worker] - rule.measure()


too_strict = _where(lambda rule, worker: _ahead(rule, worker) < rule.bound)
too_lenient = _where(lambda rule, worker: _ahead(rule, worker) <= rule.bound + 1)
barrier = _where(lambda rule, worker: _ahead(rule, worker) <= 0)
nobody_waits = _where(lambda rule, worker: True)
quickest = _where(
    lambda rule, worker: max(rule.clocks.values()) - rule.clocks[worker] <= rule.bound
)
mean = _where(
    lambda rule, worker: (
        rule.clocks[worker] - sum(rule.clocks.values()) / len(rule.clocks) <= rule.bound
    )
)


class BeforeItCounts(_Parts):
    """Asks before the clock has gone up."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        push = self.push(worker, version)
        self.apply(gradient)
        self.waiting.add(worker)
        ready = self.ready()
        self.count(worker)
        return Decision(ready, (push,))


class ByStaleness(_Parts):
    """Judges by how late the gradient was."""

    late = 0

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.late = self.version - version
        return super().arrive(worker, gradient, version)

    def may(self, worker: int) -> bool:
        return self.late <= self.bound


class AllUpdates(_Parts):
    """A clock of everybody's updates."""

    def count(self, worker: int) -> None:
        self.clocks[worker] = self.version


class OnlyItself(_Parts):
    """Asks only for the one that came."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        push = self.push(worker, version)
        self.apply(gradient)
        self.count(worker)
        return Decision((worker,) if self.may(worker) else (), (push,))


class OneOfThem(_Parts):
    """Wakes one of those who may go."""

    def ready(self) -> tuple[int, ...]:
        found = [worker for worker in sorted(self.waiting) if self.may(worker)][:1]
        self.waiting -= set(found)
        return tuple(found)


class WokenTwice(_Parts):
    """Forgets who has gone on."""

    def ready(self) -> tuple[int, ...]:
        return tuple(worker for worker in sorted(self.waiting) if self.may(worker))


class KeepsClock(_Parts):
    """Waits for one that has left."""

    def forget(self, worker: int) -> None:
        self.workers.discard(worker)
        self.waiting.discard(worker)


class NobodyWoken(_Parts):
    """Wakes nobody when one leaves."""

    def leave(self, worker: int) -> Any:
        self.forget(worker)
        return Decision()


class LeftAndReleased(_Parts):
    """Lets one go that has left."""

    def forget(self, worker: int) -> None:
        self.workers.discard(worker)
        self.clocks.pop(worker, None)

    def may(self, worker: int) -> bool:
        return self.clocks.get(worker, 0) - self.measure() <= self.bound


class Drops(_Parts):
    """Throws away what is too far ahead."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        push = self.push(worker, version)
        if self.clocks[worker] + 1 - self.measure() > self.bound:
            return Decision((worker,), (), (push,))
        return super().arrive(worker, gradient, version)


class HeldBack(_Parts):
    """Applies a gradient when its worker may go on."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.held: dict[int, tuple[Any, int]] = {}

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held[worker] = gradient, version
        self.count(worker)
        self.waiting.add(worker)
        return self.go()

    def leave(self, worker: int) -> Any:
        self.forget(worker)
        self.held.pop(worker, None)
        return self.go()

    def go(self) -> Decision:
        ready, pushes = self.ready(), []
        for worker in ready:
            gradient, version = self.held.pop(worker)
            pushes.append(self.push(worker, version))
            self.apply(gradient)
        return Decision(ready, tuple(pushes))


class NeverApplies(_Parts):
    """Counts, and makes no update."""

    def apply(self, gradient: Any) -> None:
        self.version += 1


class CountsItself(_Parts):
    """A push that is one too late."""

    def push(self, worker: int, version: int) -> Push:
        push = super().push(worker, version)
        return push._replace(staleness=push.staleness + 1)


class NoWord(_Parts):
    """`leave` gives nothing."""

    def leave(self, worker: int) -> Any:
        self.forget(worker)


class Shared(_Parts):
    """Its clocks belong to the class. A new pair of rules finds none: each case makes two."""

    made = 0
    shared: dict[int, int]

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        if type(self).made % 2 == 0:
            type(self).shared = self.clocks
        type(self).made += 1
        self.clocks = type(self).shared | {w: self.shared.get(w, 0) for w in self.workers}
        type(self).shared = self.clocks


class SmallestOfNone(_Parts):
    """`min` of an empty list."""

    def measure(self) -> float:
        return min(self.clocks.values())

    def leave(self, worker: int) -> Any:
        self.forget(worker)
        self.measure()
        return Decision(self.ready())


class InPlace(_Parts):
    """Writes into the weights that others hold."""

    def apply(self, gradient: Any) -> None:
        before = self.weights
        super().apply(gradient)
        self.weights = before.copy_(self.weights)


class NoComma(_Parts):
    """A number where a tuple belongs."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        said = super().arrive(worker, gradient, version)
        return Decision(said.release[0] if said.release else (), said.applied)  # type: ignore


class OnePush(_Parts):
    """A push where a tuple of them belongs."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        said = super().arrive(worker, gradient, version)
        return Decision(said.release, said.applied[0])  # type: ignore[arg-type]
