"""What may stand inside a learner's cure, and around it: rules that show what it hands on.

Each makes another wrong answer visible; which one stands inside is said by a case's options.
"""

from __future__ import annotations

from torch import Tensor

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Push, Rule
from helpers.exercises.spec import Case


class PlainSgd:
    """w ← w − η·g."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.factor = 1.0

    def step(self, weights: Tensor, gradient: Tensor, version: int) -> Tensor:
        """The weights after one update."""
        return weights - gradient * (self.rate * self.factor)


class Given(Rule):
    """The rule inside a learner's cure: it applies what it is handed, and notes what it decides.

    It applies four times each gradient, with an optimizer of a quarter of the rate: with the usual
    one, as 06.1 asks for, neither it nor one that applies half is an answer.
    """

    decided: Decision | None = None  # on the gradient that it was last handed
    discarded: Decision | None = None

    def apply(self, gradient: Tensor) -> None:
        """Make one update, four times as large."""
        super().apply(4 * gradient)

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Decision:
        """Apply it."""
        push = self.push(worker, version)
        self.apply(gradient)
        self.decided = Decision((worker,), (push,))
        return self.decided

    def discard(self, worker: int, version: int) -> Decision:
        """As any rule."""
        self.discarded = super().discard(worker, version)
        return self.discarded

    def use(self, decision: Decision) -> str:
        """What a cure made of this rule in a turn, and nothing is noted any more.

        "not asked": the gradient was not handed on. "as decided": the cure decides what this rule
        decided on it. "on its own": it decides for itself. "discarded too": as decided, though it
        asked for the gradient to be discarded.
        """
        ours, dropped, self.decided, self.discarded = self.decided, self.discarded, None, None
        if ours is None:
            return "not asked"
        # A decision built anew holds this rule's own tuples, if it was made of its decision.
        if not all(getattr(decision, name) is getattr(ours, name) for name in _PARTS):
            return "on its own"
        return "as decided" if dropped is None else "discarded too"


class Halving(Given):
    """Applies half of what it is handed: who decides in its place applies something else."""

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Decision:
        """Apply half of it."""
        return super().arrive(worker, gradient / 2, version)


class Pairs(Given):
    """Applies the mean of every two gradients, and both workers wait for that."""

    waits = True
    held: tuple[tuple[Push, Tensor], ...] = ()

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Decision:
        """Keep the first of two; with the second both are applied."""
        self.held += ((self.push(worker, version), gradient),)
        if len(self.held) == 1:
            self.decided = Decision(() if self.waits else (worker,))
        else:
            ((other, first), (push, second)), self.held = self.held, ()
            self.apply((first + second) / 2)
            waiting = (worker, other.worker) if self.waits else (worker,)
            self.decided = Decision(waiting, (other, push))
        return self.decided


class Soft(Pairs):
    """The same, and nobody waits: 1-softsync of two workers, 2-softsync of four."""

    waits = False


class Asked(Given):
    """As where a cure inside remembers who pulled: another's gradient counts for nothing."""

    pulled: frozenset[int] = frozenset()

    def pull(self, worker: int) -> tuple[Tensor, int]:
        """Remember the worker."""
        self.pulled |= {worker}
        return super().pull(worker)

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Decision:
        """Apply what a worker gives that pulled."""
        return super().arrive(worker, gradient * (worker in self.pulled), version)


class Resumed(Given):
    """Its first worker waits for something since before a restart, and does not start."""

    def start(self) -> tuple[int, ...]:
        """All but the first."""
        return super().start()[1:]


class Heavier(Cure):
    """A cure around the learner's: it adds half of what it handed on before, and keeps the sum."""

    last: Tensor | None = None

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Decision:
        """Hand on the sum."""
        self.last = gradient if self.last is None else gradient + self.last / 2
        return self.rule.arrive(worker, self.last, version)


# What may stand inside a learner's cure, by a case's options; "heavier" stands around it.
_INSIDE = {"halves": Halving, "pairs": Pairs, "soft": Soft, "asked": Asked, "resumed": Resumed}
_PARTS = ("release", "applied", "dropped")


def rule_of(case: Case) -> type[Given]:
    """The rule that stands inside in this case."""
    return next((_INSIDE[name] for name in _INSIDE if case.options.get(name)), Given)
