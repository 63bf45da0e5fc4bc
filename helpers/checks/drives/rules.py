"""Drivers for rules and cures: a server without time, and workers that arrive in a given order.

A case's arguments are `(goals, rate, extra, order)`. goals: (workers, weights), float64; worker w
minimises half the squared distance to its goal, so its gradient at weights p is p − goal.
rate: of plain SGD. extra: further arguments of the learner's class. order: numbers of workers;
at each turn the next one in it that has pulled and not yet pushed arrives. −1 − w stands for
worker w that leaves for good.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Observation
from helpers.engine.servers.cure import Cure
from helpers.engine.servers.rule import Decision, Push, Rule

Inside = Callable[[Tensor, Any, int], Rule]  # by weights, optimizer and the number of workers
More = Callable[[Any, Decision], dict[str, Any]]  # of a turn: by the rule and what it decided


def cure_turns(fn: Function, case: Case) -> Observation:
    """Drive a cure, `fn(rule, *extra)`, around a rule by the case's options."""
    return drive(fn, case, rule_of(case))


def drive(
    fn: Function, case: Case, around: Inside | None = None, more: More | None = None
) -> Observation:
    """Drive `fn(weights, optimizer, workers, *extra)`; `values[0]` is the list of turns.

    A turn is `{"worker", "version", "weights", "made", "release", "applied", "dropped"}`: who came
    with a gradient of which version, the weights and the number of updates afterwards, and the
    decision. A decision that is none stands as `{"worker", "decision"}` and ends the list, and so
    does `{"stuck": workers}` where everybody waits for ever. The turn of one that leaves has "gone"
    as well. more: what else a turn has. around: makes the rule inside of a cure, `fn(rule,
    *extra)`.
    """
    goals, rate, extra, order = case.args[0]
    trouble = wrong_signature(fn, (1 if around else 3) + len(extra))
    if trouble:
        return trouble
    goals = torch.from_numpy(np.array(goals, dtype=np.float64))
    try:
        optimizer = PlainSgd(rate / 4 if around else rate)  # see Given
        parts = torch.zeros_like(goals[0]), optimizer, len(goals)
        rule = fn(*((around(*parts),) if around else parts), *extra)
        rule = Heavier(rule) if case.options.get("heavier") else rule
        return Observation(values=[_turns(rule, goals, list(order), more)])
    except Exception as error:
        return failed(error, fn)


def start(rule: Any) -> dict[int, Any]:
    """What each worker that starts pulls."""
    return {w: rule.pull(w) for w in rule.start()}


def ask(rule: Any, method: str, *args: Any) -> dict[str, Any]:
    """What a rule makes of an arrival, or of one that leaves; where it decides, what is there
    afterwards and is pulled."""
    decision = getattr(rule, method)(*args)
    if not isinstance(decision, Decision):
        return {"decision": decision}
    found = {"decision": decision, "weights": rule.weights, "made": rule.version}
    return {**found, "pulled": {int(each): rule.pull(int(each)) for each in decision.release}}


def _turns(rule: Any, goals: Tensor, order: list[int], more: More | None) -> Any:
    pulled: dict[int, tuple[Tensor, int]] = start(rule)
    as_pulled = plain(pulled)
    turns: list[Any] = []
    while order:
        place = next((i for i, worker in enumerate(order) if worker in pulled or worker < 0), None)
        if place is None:
            return [*turns, {"stuck": len(goals)}]
        worker = order.pop(place)
        gone = {"gone": True} if worker < 0 else {}
        if gone:
            worker = -1 - worker
            pulled.pop(worker, None)
            found = ask(rule, "leave", worker)
            version = found.get("made", 0)
        else:
            weights, version = pulled.pop(worker)
            now, was = plain(weights), as_pulled[worker][0]
            if isinstance(was, np.ndarray) and not np.array_equal(now, was, equal_nan=True):
                raise ValueError(f"the weights that worker {worker} pulled were written into")
            found = ask(rule, "arrive", worker, weights - goals[worker], version)
        decision = found["decision"]
        if not isinstance(decision, Decision):
            return [*turns, {"worker": worker, "decision": plain(decision)}]
        turns.append(
            {
                "worker": worker,
                "version": int(version),
                "weights": plain(found["weights"]),
                "made": int(found["made"]),
                "release": [int(w) for w in decision.release],
                "applied": [_push(push) for push in decision.applied],
                "dropped": [_push(push) for push in decision.dropped],
                **gone,
                **(more(rule, decision) if more else {}),
            }
        )
        pulled |= found["pulled"]
        as_pulled |= plain(found["pulled"])
    return turns


def _push(push: Any) -> Any:
    """A push as a list of its numbers; what is no push, such as a tuple of them, as it is."""
    return [int(number) for number in push] if isinstance(push, Push) else plain(push)


# --- what may stand inside a learner's cure, and around it, and shows what it hands on ------------


class PlainSgd:
    """w ← w − η·g, at half of twice the rate: who steps by hand, by `rate` alone, goes too far."""

    def __init__(self, rate: float) -> None:
        self.rate = 2 * rate
        self.factor = 0.5

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
    part = 1.0

    def apply(self, gradient: Tensor) -> None:
        """Make one update, four times as large."""
        super().apply(4 * gradient)

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Decision:
        """Apply it."""
        push = self.push(worker, version)
        self.apply(gradient * self.part)
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

    part = 0.5


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
