"""Drivers for lesson 07: an accumulator that is given moves, a chief with its tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.drives import (
    Function,
    Offered,
    at_hand,
    failed,
    made,
    plain,
    tensors,
    wrong_signature,
)
from helpers.exercises.spec import Case, Observation


def accumulator_moves(fn: Function, case: Case) -> Observation:
    """Make an accumulator by `fn()` and one move after the other.

    The case's argument: moves, `("push", gradient, local step)` or `("take", required)`.
    `values[0]` is `{"moves": […], "changed": numbers of moves whose gradient was changed}`; a move
    is `{"gave", "step"}`, what the call returned and `global_step` afterwards.
    """
    trouble = wrong_signature(fn, 0)
    if trouble:
        return trouble
    (moves,) = case.args[0]
    seen: list[Any] = []
    pushed: list[tuple[int, Tensor, Tensor]] = []
    try:
        accumulator = fn()
        for number, (kind, *rest) in enumerate(tensors(moves)):
            if kind == "push":
                pushed.append((number, rest[0], rest[0].clone()))
                gave = accumulator.apply_grad(*rest)
            else:
                gave = accumulator.take_grad(*rest)
            seen.append({"gave": plain(gave), "step": plain(accumulator.global_step)})
    except Exception as error:
        return failed(error, fn)
    changed = [number for number, mine, before in pushed if not torch.equal(mine, before)]
    return Observation(values=[{"moves": seen, "changed": changed}])


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


_LEFT = -1  # a token that no worker has taken


def chief_turns(fn: Function, case: Case) -> Observation:
    """Make `fn(accumulator, queue, weights, rate, aggregate, total)`, start it, take turns.

    The case's arguments: weights, rate, aggregate, total, num_tokens and, for each turn, the mean
    that the accumulator has ready, or None. `values[0]` is `{"start": the tokens after
    `start(num_tokens)`, "turns": […], "changed": whether the given weights are other ones}`; a turn
    is `{"gave", "asked", "step", "weights", "tokens",
    "left"}`. Tokens are those that are new, oldest first. Between the turns workers take all, and
    one that nobody takes is put in; left: its place in the queue afterwards, None where it is gone.
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
            queue.append(_LEFT)
            gave = plain(chief.turn())
            tokens = _taken(queue)
            places = [
                at for at, token in enumerate(tokens) if type(token) is int and token == _LEFT
            ]
            if places:
                del tokens[places[0]]
            turns.append(
                {
                    "gave": gave,
                    "asked": list(accumulator.asked),
                    "step": plain(chief.global_step),
                    "weights": plain(chief.weights),
                    "tokens": tokens,
                    "left": places[0] if places else None,
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
