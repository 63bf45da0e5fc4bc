"""The driver of exercise 07.5: an accumulator, a queue and turns for a chief."""

from collections import deque
from typing import Any

import torch
from torch import Tensor

from helpers.checks.drives.calling import Function
from helpers.checks.drives.handed import Handed, Hands
from helpers.checks.drives.values import plain


class Script(Hands):
    """What an accumulator gives in each of the chief's turns, which is given.

    asked: by turn, the `required` of each call of `take_grad`.
    """

    secret = (5,)

    def __init__(self, *case: Any) -> None:
        self.means, self.at, self.step = list(case[5]), 0, 0
        self.asked: list[list[Any]] = [[] for _ in self.means]

    def turn(self, number: int) -> bool:
        """A turn begins; whether there is one."""
        if number < len(self.means):
            self.at, self.asked[number] = number, []
        return number < len(self.means)

    def take_grad(self, required: int) -> Tensor | None:
        """The mean of this turn, once; None where there are too few gradients."""
        self.asked[self.at].append(plain(required))
        mean: Tensor | None = self.means[self.at]
        self.means[self.at] = None
        self.step += mean is not None
        return mean

    def global_step(self, *new: int) -> int:
        """How many means were taken; new: what it is to be."""
        (self.step,) = new or (self.step,)
        return self.step

    def noted(self, value: Any) -> Any:
        """Which gradients were asked for in each turn."""
        pairs = zip(value["turns"], self.asked, strict=True)
        return {**value, "turns": [{**turn, "asked": asked} for turn, asked in pairs]}


class Scripted:
    """Stands for an accumulator."""

    def __init__(self, hands: Any) -> None:
        self._hands = hands

    def take_grad(self, required: int) -> Any:
        """The mean of this turn, once; None where there are too few gradients."""
        return self._hands.take_grad(required)

    @property
    def global_step(self) -> Any:
        """How many means were taken."""
        return self._hands.global_step()

    @global_step.setter
    def global_step(self, step: int) -> None:
        self._hands.global_step(step)


LEFT = -9  # a token that no worker has taken


class Tokens(deque[Any]):
    """A queue that notes the weights that whoever takes the first token of a turn finds."""

    chief: Any = None
    found: Any = None

    def extend(self, tokens: Any) -> None:
        """As a deque's."""
        self._note()
        super().extend(tokens)

    def append(self, token: Any) -> None:
        """As a deque's."""
        self._note()
        super().append(token)

    def _note(self) -> None:
        if self.found is None and self.chief is not None:
            self.found = plain(self.chief.weights)


def _chief_turns(
    fn: Function,
    hands: Any,
    weights: Tensor,
    rate: float,
    aggregate: int,
    total: int,
    tokens: int,
    means: Any,
    left: int,
) -> dict[str, Any]:
    """Make `fn(accumulator, queue, weights, rate, aggregate, total)`, start it, take turns.

    means: for each turn the mean that the accumulator has ready, or None. left: before the start
    and each turn workers have taken all tokens, and so many times LEFT is put in, which nobody
    takes. Gives `{"start": what is in the queue after `start(tokens)`, "turns": […], "changed":
    whether the given weights are other ones}`; a turn is `{"gave", "asked", "step", "weights",
    "tokens", "found"}`. Tokens are those in the queue, the oldest first; found: the weights when
    the first new one came, None where none came by `extend` or `append`.
    """
    before, turns, queue = weights.clone(), list[Any](), Tokens([LEFT] * left)
    chief = fn(Scripted(hands), queue, weights, rate, aggregate, total)
    chief.start(tokens)
    start = _taken(queue)
    while hands.turn(len(turns)):
        queue.extend([LEFT] * left)
        queue.chief, queue.found = chief, None
        turns.append(
            {
                "gave": plain(chief.turn()),
                "step": plain(chief.global_step),
                "weights": plain(chief.weights),
                "tokens": _taken(queue),
                "found": queue.found,
            }
        )
        queue.chief = None
    return {"start": start, "turns": turns, "changed": not torch.equal(weights, before)}


chief_turns = Handed(_chief_turns, 6, Script)


def _taken(queue: Any) -> list[Any]:
    tokens = [plain(token) for token in queue]
    queue.clear()
    return tokens
