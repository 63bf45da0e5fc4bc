"""The reference of exercise 06.6, and warmups with one thing wrong."""

from __future__ import annotations

from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Rule


def reference(rule: Rule, updates: int) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.stale_cures import Warmup

    return Warmup(rule, updates)


class WarmsUp(Cure):
    """A warmup as it should be; what is wrong is in the others."""

    def __init__(self, rule: Rule, updates: int) -> None:
        super().__init__(rule)
        self.updates = updates

    @property
    def alone(self) -> bool:
        """Whether the warmup still goes on."""
        return self.version < self.updates

    def start(self) -> tuple[int, ...]:
        """One worker, until the warmup is over."""
        return self.rule.start()[:1] if self.alone else self.rule.start()

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """The rule inside decides, but for the last one of the warmup."""
        before = self.alone
        decision = self.rule.arrive(worker, gradient, version)
        if before and not self.alone:
            return self.over(decision)
        return decision

    def over(self, decision: Decision) -> Decision:
        """The warmup is over now."""
        return Decision(self.rule.start(), decision.applied, decision.dropped)


class NobodyElse(WarmsUp):
    """The others are never told that they may begin."""

    def over(self, decision: Decision) -> Decision:
        """As inside."""
        return decision


class NotItself(WarmsUp):
    """Releases the others, and not the one that trained alone."""

    def over(self, decision: Decision) -> Decision:
        """The others alone."""
        others = tuple(w for w in self.rule.start() if w not in decision.release)
        return Decision(others, decision.applied, decision.dropped)


class NextOnly(WarmsUp):
    """Releases one more worker."""

    def over(self, decision: Decision) -> Decision:
        """Two of them."""
        return Decision(self.rule.start()[:2], decision.applied, decision.dropped)


class AllStart(WarmsUp):
    """Everybody starts at once."""

    def start(self) -> tuple[int, ...]:
        """As the rule inside."""
        return self.rule.start()

    def over(self, decision: Decision) -> Decision:
        """As inside."""
        return decision


class StartsZero(WarmsUp):
    """Starts worker 0, whoever the rule inside would start."""

    def start(self) -> tuple[int, ...]:
        """By its number."""
        return (0,) if self.alone else self.rule.start()


class ReleasesWorkers(WarmsUp):
    """Releases all workers once it is over."""

    def over(self, decision: Decision) -> Decision:
        """Those that do not start, too."""
        return Decision(tuple(sorted(self.workers)), decision.applied, decision.dropped)


class AlwaysOne(WarmsUp):
    """Starts one worker, whatever is left of the warmup."""

    def start(self) -> tuple[int, ...]:
        """The first."""
        return self.rule.start()[:1]


class OneLonger(WarmsUp):
    """≤ instead of <."""

    @property
    def alone(self) -> bool:
        """One update too long."""
        return self.version <= self.updates


class OneShorter(WarmsUp):
    """Looks before the update instead of after it."""

    @property
    def alone(self) -> bool:
        """One update too short."""
        return self.version + 1 < self.updates


class EveryTime(WarmsUp):
    """Releases everybody in every update."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Release all, whatever the version."""
        decision = self.rule.arrive(worker, gradient, version)
        return self.over(decision)


class AsksBefore(WarmsUp):
    """Asks before the update alone, and releases everybody once it is over."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """One update late, and at each one after it."""
        if self.alone:
            return self.rule.arrive(worker, gradient, version)
        return self.over(self.rule.arrive(worker, gradient, version))


class ReleasesBefore(WarmsUp):
    """Releases everybody where it was alone before the update."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Too soon."""
        before = self.alone
        decision = self.rule.arrive(worker, gradient, version)
        return self.over(decision) if before else decision


class AsksAfter(WarmsUp):
    """Asks after the update alone."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """For ever after."""
        decision = self.rule.arrive(worker, gradient, version)
        return decision if self.alone else self.over(decision)


class OnePush(WarmsUp):
    """A push where a tuple of them belongs."""

    def over(self, decision: Decision) -> Decision:
        """No comma."""
        push = decision.applied[0]
        return Decision(self.rule.start(), (push))  # type: ignore[arg-type]


class NeverHandsOn(WarmsUp):
    """Applies every gradient itself, also after the warmup."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Releases as it should."""
        before, push = self.alone, self.push(worker, version)
        self.apply(gradient)
        over = before and not self.alone
        return Decision(self.rule.start() if over else (worker,), (push,))


KNOWN = {
    "asks before alone": AsksBefore,
    "asks before, and releases": ReleasesBefore,
    "asks after alone": AsksAfter,
    "the others never begin": NobodyElse,
    "the lone worker stops": NotItself,
    "only one more begins": NextOnly,
    "everybody starts at once": AllStart,
    "starts worker 0": StartsZero,
    "releases all workers": ReleasesWorkers,
    "one worker alone for ever": AlwaysOne,
    "one update too long": OneLonger,
    "one update too short": OneShorter,
    "everybody at every update": EveryTime,
    "never hands on": NeverHandsOn,
}
