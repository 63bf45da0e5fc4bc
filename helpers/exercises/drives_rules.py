"""Drivers for rules and cures: a server without time, and workers that arrive in a given order.

A case's arguments are `(goals, rate, extra, order)`. goals: (workers, weights), float64; worker w
minimises half the squared distance to its goal, so its gradient at weights p is p − goal.
rate: of plain SGD. extra: further arguments of the learner's class. order: numbers of workers;
at each turn the next one in it that has pulled and not yet pushed arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.algorithms.servers.rule import Decision, Push, Rule
from helpers.exercises.drives import (
    Function,
    Remote,
    failed,
    inside,
    inside_where,
    made,
    plain,
    there,
    wrong_signature,
)
from helpers.exercises.drives_memory import Kept
from helpers.exercises.spec import Case, Observation

_FEW = 1000  # weights
More = Callable[[Any, Decision], dict[str, Any]]  # of a turn: by the rule and what it decided


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
    """Waits for two gradients and applies their sum: who decides in its place decides otherwise."""

    first: tuple[Push, Tensor] | None = None

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Decision:
        """The first of two waits; with the second both are applied, and both workers go on."""
        push = self.push(worker, version)
        if self.first is None:
            self.first = push, gradient
            self.decided = Decision()
        else:
            (other, kept), self.first = self.first, None
            self.apply(kept + gradient)
            self.decided = Decision((worker, other.worker), (other, push))
        return self.decided


class Resumed(Given):
    """Its first worker waits for something since before a restart, and does not start."""

    def start(self) -> tuple[int, ...]:
        """All but the first."""
        return super().start()[1:]


_PARTS = ("release", "applied", "dropped")


@inside
def rule_turns(fn: Function, case: Case) -> Observation:
    """Drive `fn(weights, optimizer, workers, *extra)`; `values[0]` is the list of turns.

    A turn is `{"worker", "version", "weights", "made", "release", "applied", "dropped"}`: who came
    with a gradient of which version, the weights and the number of updates afterwards, and the
    decision. A decision that is none stands as `{"worker", "decision"}` and ends the list, and so
    does `{"stuck": workers}` where everybody waits for ever.
    """
    return _drive(fn, case, lambda weights, optimizer, workers: [weights, optimizer, workers], 3)


@inside
def cure_turns(fn: Function, case: Case) -> Observation:
    """The same for a cure, `fn(rule, *extra)`, around a rule that applies what it is handed.

    With the option "halves" the rule applies half of it; with "resumed" its first worker does not
    start.
    """
    known = {"halves": Halving, "resumed": Resumed}
    inside = next((known[name] for name in known if case.options.get(name)), Given)
    return _drive(fn, case, lambda *parts: [made(fn, inside, *parts)], 1)


@inside_where(lambda case: not _is_large(case))
def handing_turns(fn: Function, case: Case) -> Observation:
    """The same for a cure that hands gradients on.

    A turn has `{"inside", "held"}` too: what it made of the rule inside (see `Given.use`), and how
    many tensors of weights it keeps. Both are None where it is in another process, where nobody
    sees the first, and the second only if weights are large: in the last turn it is how many more
    that process holds than after a third of the turns, by the memory that so many would take.
    """
    given: list[Any] = []
    goals, _, _, order = case.args[0]
    turn, size = 0, np.asarray(goals)[0].nbytes
    process: Kept | None = None

    def inside(*parts: Any) -> list[Any]:
        given[:] = [made(fn, Pairs if case.options.get("pairs") else Given, *parts)]
        return list(given)

    if isinstance(fn, Remote) and _is_large(case):
        fn.gives((2 + len(goals)) * len(goals[0]))  # the weights, and what each worker pulls

    def more(cure: Any, decision: Decision) -> dict[str, Any]:
        nonlocal turn, process
        turn += 1
        if isinstance(fn, Remote):
            if turn == len(order) // 3:
                process = Kept(fn, (len(order) - turn) * size)
            found = process.more() if process is not None and turn == len(order) else None
            return {"inside": None, "held": None if found is None else round(found / size)}
        return {"inside": given[0].use(decision), "held": _held(cure)}

    return _drive(fn, case, inside, 1, more)


def _is_large(case: Case) -> bool:
    """Whether it asks what is held: the grader looks at that from outside."""
    return len(case.args[0][0][0]) > _FEW


def _held(cure: Any) -> int:
    """How many tensors an object keeps, in lists and dictionaries too, without the rule inside."""
    found: set[int] = set()

    def look(value: Any, depth: int) -> None:
        if isinstance(value, Tensor):
            found.add(id(value))
        elif isinstance(value, dict | list | tuple | set) and depth < 4:
            for each in value.values() if isinstance(value, dict) else value:
                look(each, depth + 1)

    look([each for each in vars(cure).values() if not isinstance(each, Rule)], 0)
    return len(found)


def _drive(
    fn: Function,
    case: Case,
    first: Callable[[Tensor, PlainSgd, int], list[Any]],
    given: int,
    more: More | None = None,
) -> Observation:
    goals, rate, extra, order = case.args[0]
    trouble = wrong_signature(fn, given + len(extra))
    if trouble:
        return trouble
    goals = torch.from_numpy(np.array(goals, dtype=np.float64))
    try:
        optimizer = made(fn, PlainSgd, rate / 4 if given == 1 else rate)  # see Given
        rule = fn(*first(torch.zeros_like(goals[0]), optimizer, len(goals)), *extra)
        return _turns(fn, rule, goals, list(order), more)
    except Exception as error:
        return failed(error, fn)


def start(rule: Any) -> dict[int, Any]:
    """What each worker that starts pulls."""
    return {w: rule.pull(w) for w in rule.start()}


def arrive(rule: Any, worker: int, gradient: Tensor, version: int) -> dict[str, Any]:
    """What a rule makes of an arrival; where it decides, what is there afterwards and is pulled."""
    decision = rule.arrive(worker, gradient, version)
    if not isinstance(decision, Decision):
        return {"decision": decision}
    found = {"decision": decision, "weights": rule.weights, "made": rule.version}
    return {**found, "pulled": {int(each): rule.pull(int(each)) for each in decision.release}}


def _turns(
    fn: Function, rule: Any, goals: Tensor, order: Sequence[int], more: More | None = None
) -> Observation:
    pulled: dict[int, tuple[Tensor, int]] = there(fn, start, rule)
    turns: list[Any] = []
    left = list(order)
    while left:
        place = next((i for i, worker in enumerate(left) if worker in pulled), None)
        if place is None:
            turns.append({"stuck": len(goals)})
            break
        worker = left.pop(place)
        weights, version = pulled.pop(worker)
        gradient = _gradient(weights, goals[worker])
        found = there(fn, arrive, rule, worker, gradient, version)
        decision = found["decision"]
        if not isinstance(decision, Decision):
            turns.append({"worker": worker, "decision": plain(decision)})
            break
        turns.append(
            {
                "worker": worker,
                "version": int(version),
                "weights": plain(found["weights"]),
                "made": int(found["made"]),
                "release": [int(w) for w in decision.release],
                "applied": [_push(push) for push in decision.applied],
                "dropped": [_push(push) for push in decision.dropped],
            }
        )
        if more is not None:
            turns[-1] |= more(rule, decision)
        pulled |= found["pulled"]
    return Observation(values=[turns])


def _gradient(weights: Any, goal: Tensor) -> Any:
    """Of a worker with this goal. Raises ValueError where many weights are not as they should be.

    A grader computes with what a stranger gives: by broadcasting it could become very many.
    """
    if len(goal) > _FEW and (not isinstance(weights, Tensor) or weights.shape != goal.shape):
        raise ValueError(f"pull gives weights that are not of the shape {tuple(goal.shape)}.")
    return weights - goal


def _push(push: Any) -> Any:
    """A push as a list of its numbers; what is no push, such as a tuple of them, as it is."""
    return [int(number) for number in push] if isinstance(push, Push) else plain(push)
