"""What every cure for stale gradients is made of: a rule around another rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helpers.engine.servers.rule import Decision, Push, Rule

if TYPE_CHECKING:
    from helpers.engine.servers.rule import Optimizer

Array = Any


class Cure(Rule):
    """A rule that hands everything on to the rule inside it."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.pushes = rule.pushes

    def start(self) -> tuple[int, ...]:
        """As the rule inside."""
        return self.rule.start()

    def pull(self, worker: int) -> tuple[Array, int]:
        """As the rule inside."""
        return self.rule.pull(worker)

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """As the rule inside."""
        return self.rule.arrive(worker, gradient, version)

    def discard(self, worker: int, version: int) -> Decision:
        """As the rule inside."""
        return self.rule.discard(worker, version)

    def leave(self, worker: int) -> Decision:
        """As the rule inside."""
        return self.rule.leave(worker)

    def apply(self, gradient: Array) -> None:
        """As the rule inside."""
        self.rule.apply(gradient)

    def push(self, worker: int, version: int) -> Push:
        """As the rule inside."""
        return self.rule.push(worker, version)

    @property
    def weights(self) -> Array:
        """The weights of the rule inside."""
        return self.rule.weights

    @property
    def version(self) -> int:  # type: ignore[override]
        """The version of the rule inside."""
        return self.rule.version

    @property
    def workers(self) -> set[int]:  # type: ignore[override]
        """Who takes part."""
        return self.rule.workers

    @property
    def optimizer(self) -> Optimizer | None:  # type: ignore[override]
        """The optimizer of the rule inside."""
        return self.rule.optimizer

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        """Rows of a worker's batch, None for the usual number."""
        return self.rule.rows
