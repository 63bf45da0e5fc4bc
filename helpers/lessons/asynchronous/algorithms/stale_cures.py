"""Cures for stale gradients, each a rule around another rule, so that they compose.

    rule = DropStale(ScaleByStaleness(Asynchronous(weights, Sgd(0.1), workers=8)), limit=10)

A cure sees an arrival first, changes or drops the gradient, and hands it on. Source of most:
Géron, "Hands-On Machine Learning with Scikit-Learn and TensorFlow" (2017), chapter 12.
"""

from __future__ import annotations

from helpers.engine.servers.cure import Cure
from helpers.engine.servers.rule import Decision, Rule
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Array


class LowerRate(Cure):
    """Take every step `factor` times as long: a smaller learning rate.

    Stale gradients are stable up to a learning rate of about 1/staleness of the usual limit.
    """

    def __init__(self, rule: Rule, factor: float) -> None:
        super().__init__(rule)
        if not 0 < factor <= 1:
            raise ValueError(f"A factor that lowers the rate lies between 0 and 1, not {factor}.")
        if rule.optimizer is None:
            raise TypeError("This rule averages weights and has no learning rate to lower.")
        rule.optimizer.factor *= factor


class DropStale(Cure):
    """Drop a gradient that is more than `limit` updates late."""

    def __init__(self, rule: Rule, limit: int) -> None:
        super().__init__(rule)
        if limit < 0:
            raise ValueError(f"No gradient is less than 0 updates late; limit={limit} drops all.")
        self.limit = limit

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Hand on what is fresh enough."""
        if self.push(worker, version).staleness > self.limit:
            return self.discard(worker, version)
        return self.rule.arrive(worker, gradient, version)


class ScaleByStaleness(Cure):
    """Take a gradient that is τ updates late at limit/τ of its size, if τ is above `limit`.

    With SGD, with momentum or without, this is a learning rate of η·limit/τ for this gradient: the
    product of rate and staleness stays at η·limit, where late gradients are still harmless. With
    limit 1 it is the rule of Zhang et al. (2015), section 3.2, which divides by τ.
    """

    def __init__(self, rule: Rule, limit: int = 1) -> None:
        super().__init__(rule)
        _needs_gradients(rule, "ScaleByStaleness scales")
        if limit < 1:
            raise ValueError(f"A limit below 1 would scale fresh gradients too: {limit}.")
        self.limit = limit

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Hand on the scaled gradient."""
        staleness = self.push(worker, version).staleness
        return self.rule.arrive(worker, gradient / max(staleness / self.limit, 1), version)


class DelayCompensation(Cure):
    """DC-ASGD: correct a gradient for what the weights did while it was computed.

    g + λ·g⊙g⊙(w now − w pulled), which is what the gradient would be at the present weights if
    its slope were g⊙g. strength: λ. The server remembers what each worker pulled. Source: Zheng
    et al., "Asynchronous Stochastic Gradient Descent with Delay Compensation" (2017), section 3.
    """

    def __init__(self, rule: Rule, strength: float) -> None:
        super().__init__(rule)
        _needs_gradients(rule, "DelayCompensation corrects")
        if strength < 0:
            raise ValueError(f"The strength λ is 0 or more, not {strength}.")
        self.strength = strength
        self.pulled: dict[int, Array] = {}

    def pull(self, worker: int) -> tuple[Array, int]:
        """Remember the weights that the worker is given."""
        weights, version = self.rule.pull(worker)
        self.pulled[worker] = weights
        return weights, version

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Hand on the corrected gradient."""
        if worker not in self.pulled:
            raise ValueError(f"Worker {worker} gives a gradient and has never pulled weights.")
        moved = self.weights - self.pulled[worker]
        corrected = gradient + gradient * gradient * moved * self.strength
        return self.rule.arrive(worker, corrected, version)

    def leave(self, worker: int) -> Decision:
        """Forget what it pulled."""
        self.pulled.pop(worker, None)
        return self.rule.leave(worker)


class BatchRows(Cure):
    """Let every worker take batches of so many rows, more for less noise, fewer for more steps."""

    def __init__(self, rule: Rule, rows: int) -> None:
        super().__init__(rule)
        if rows < 1:
            raise ValueError(f"A batch has at least one row, not {rows}.")
        self._rows = rows

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        """Rows of a worker's batch."""
        return self._rows


class Warmup(Cure):
    """Let one worker train alone for the first `updates` updates; then the others start.

    A gradient of a lone worker is never stale, and what diverges is mostly the start.
    """

    def __init__(self, rule: Rule, updates: int) -> None:
        super().__init__(rule)
        _needs_gradients(rule, "Warmup applies")
        if updates < 0:
            raise ValueError(f"A warmup takes 0 updates or more, not {updates}.")
        self.updates = updates

    @property
    def alone(self) -> bool:
        """Whether the warmup still goes on."""
        return self.version < self.updates

    def start(self) -> tuple[int, ...]:
        """One worker, until the warmup is over."""
        everyone = self.rule.start()
        return everyone[:1] if self.alone else everyone

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Apply the lone worker's gradient at once; afterwards the rule inside decides."""
        if not self.alone:
            return self.rule.arrive(worker, gradient, version)
        push = self.push(worker, version)
        if self.start() != (worker,):  # it was let go before a server lost its state
            return Decision(release=(worker,), dropped=(push,))
        self.apply(gradient)
        return Decision(release=(worker,) if self.alone else self.start(), applied=(push,))

    def discard(self, worker: int, version: int) -> Decision:
        """The lone worker goes on at once; nobody else is there for it to be ahead of."""
        if not self.alone:
            return self.rule.discard(worker, version)
        return Decision(release=(worker,), dropped=(self.push(worker, version),))

    def leave(self, worker: int) -> Decision:
        """Where the lone worker is gone, the next one takes its place."""
        first = self.start()
        decision = self.rule.leave(worker)
        if self.alone and first == (worker,) and self.workers:
            return Decision(release=self.start(), applied=decision.applied)
        return decision


def _needs_gradients(rule: Rule, who: str) -> None:
    if rule.pushes != "gradients":
        raise TypeError(f"{who} gradients; workers of {type(rule).__name__} push weights.")
