"""Drivers for lesson 07: a rule, an accumulator that is given moves, a chief with its tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.compare import agree
from helpers.exercises.drives.calling import (
    Function,
    at_hand,
    failed,
    inside,
    made,
    wrong_signature,
)
from helpers.exercises.drives.rules import rule_turns
from helpers.exercises.drives.values import Offered, plain, tensors
from helpers.exercises.spec import Case, Observation


class Handed:
    """A rule whose workers find in their next gradient what it has changed in their last one."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        self.last: dict[int, tuple[Tensor, Tensor]] = {}  # of each worker, as it is and as it was

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rule, name)

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Any:
        """As the rule's own."""
        now, before = self.last.get(worker, (gradient, gradient))
        gradient = gradient + (now - before)
        self.last[worker] = gradient, gradient.clone()
        return self.rule.arrive(worker, gradient, version)


@inside
def rule_turns_handed(fn: Function, case: Case) -> Observation:
    """As `rule_turns`, with workers whose gradients are still theirs when they have handed them in:
    what a rule writes into one stands in the next one of that worker."""

    def make(*args: Any) -> Any:
        return Handed(fn(*args))

    make.__wrapped__ = fn  # type: ignore[attr-defined]  # its signature and its file
    return rule_turns(make, case)


def accumulator_moves(fn: Function, case: Case) -> Observation:
    """Make an accumulator by `fn()` and one move after the other.

    The case's argument: moves, `("push", gradient, local step)` or `("take", required)`.
    `values[0]` is `{"moves": […], "changed": numbers of moves whose gradient was changed, "later":
    of those that gave what was changed by later ones}`; a move is `{"gave", "step"}`, what the call
    returned and `global_step` afterwards.
    """
    trouble = wrong_signature(fn, 0)
    if trouble:
        return trouble
    (moves,) = case.args[0]
    seen: list[Any] = []
    pushed: list[tuple[int, Tensor, Tensor]] = []
    means: list[tuple[int, Any, Any]] = []
    try:
        accumulator = fn()
        for number, (kind, *rest) in enumerate(tensors(moves)):
            if kind == "push":
                pushed.append((number, rest[0], rest[0].clone()))
                gave = accumulator.apply_grad(*rest)
            else:
                gave = accumulator.take_grad(*rest)
                means.append((number, gave, plain(gave)))
            seen.append({"gave": plain(gave), "step": plain(accumulator.global_step)})
    except Exception as error:
        return failed(error, fn)
    changed = [number for number, mine, before in pushed if not torch.equal(mine, before)]
    later = [number for number, gave, before in means if not agree(plain(gave), before)]
    return Observation(values=[{"moves": seen, "changed": changed, "later": later}])


class Scripted(Offered):
    """Stands for an accumulator: what `take_grad` gives in each of the chief's turns is given.

    asked: the `required` of each call.
    """

    methods, attributes = ("take_grad",), ("global_step",)

    def __init__(self, means: Sequence[Tensor | None]) -> None:
        self.means, self.turn = list(means), 0
        self.global_step = 0
        self.asked: list[Any] = []

    def take_grad(self, required: int) -> Tensor | None:
        """The mean of this turn, once; None where there are too few gradients."""
        self.asked.append(plain(required))
        mean, self.means[self.turn] = self.means[self.turn], None
        self.global_step += mean is not None
        return mean


LEFT = -1  # a token that no worker has taken


def chief_turns(fn: Function, case: Case) -> Observation:
    """Make `fn(accumulator, queue, weights, rate, aggregate, total)`, start it, take turns.

    The case's arguments: weights, rate, aggregate, total, num_tokens and, for each turn, the mean
    that the accumulator has ready, or None. `values[0]` is `{"start": the tokens after
    `start(num_tokens)`, "turns": […], "changed": whether the given weights are other ones}`; a turn
    is `{"gave", "asked", "step", "weights", "tokens"}`. Tokens are those in the queue, the oldest
    first. Between the turns workers take all, and LEFT is put in, which nobody takes.
    """
    trouble = wrong_signature(fn, 6)
    if trouble:
        return trouble
    weights, rate, aggregate, total, num_tokens, means = tensors(case.args[0])
    accumulator, before = Scripted(means), weights.clone()
    turns: list[Any] = []
    try:
        queue = at_hand(fn, made(fn, deque))
        chief = fn(accumulator, queue, weights, rate, aggregate, total)
        chief.start(num_tokens)
        start = _taken(queue)
        for turn in range(len(means)):
            accumulator.turn, accumulator.asked = turn, []
            queue.append(LEFT)
            turns.append(
                {
                    "gave": plain(chief.turn()),
                    "asked": list(accumulator.asked),
                    "step": plain(chief.global_step),
                    "weights": plain(chief.weights),
                    "tokens": _taken(queue),
                }
            )
    except Exception as error:
        return failed(error, fn)
    changed = not torch.equal(weights, before)
    return Observation(values=[{"start": start, "turns": turns, "changed": changed}])


def _taken(queue: Any) -> list[Any]:
    tokens = [plain(token) for token in queue]
    queue.clear()
    return tokens
