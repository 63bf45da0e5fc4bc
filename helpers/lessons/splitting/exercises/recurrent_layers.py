"""The driver of 12.5, and the layers that it hands over."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.drives.calling import Function
from helpers.checks.drives.handed import Hands
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import CHANGED, Requests, all_waited
from helpers.lessons.splitting.exercises.owned import of_torch

SECONDS = 1e-3  # of a layer for one time step


def recurrent(
    comm: Any, inward: float, onward: float, seconds: float, plain: bool = False
) -> Callable[..., Any]:
    """A layer c = inward · x + onward · (c + h) / 2, h = tanh(c) over the steps of x, in `seconds`
    a step; plain: with h in the place of (c + h) / 2.

    Called as layer(x, state): x (steps, rows, width), state None at the start. Gives the outputs h
    of all steps, and the state after the last one: (h, c) as an LSTM's; plain: h, as an RNN's.
    Raises TypeError for a state that is none of these, ValueError for no steps.
    """
    called = False

    def layer(x: Tensor, state: Any) -> tuple[Tensor, Any]:
        nonlocal called
        when, called = "later" if called else "at its first call", True
        if not len(x):
            raise ValueError("`layer` was given a chunk without steps: each of the m has some.")
        mine = Tensor if plain else tuple
        if state is not None and not (isinstance(state, mine) and (plain or len(state) == 2)):
            raise TypeError(
                f"`layer` was given a {type(state).__name__} as its state {when}: it takes None at "
                "the start, and then the second value of its own call for the chunk before."
            )
        hidden = cell = torch.zeros_like(x[0])
        if state is not None:
            hidden, cell = (state[0], state[0]) if plain else (state[0][0], state[1][0])
        outputs = []
        for step in x:
            cell = inward * step + onward * (hidden if plain else (cell + hidden) / 2)
            hidden = torch.tanh(cell)
            outputs.append(hidden)
        comm.compute(seconds * len(x))
        return torch.stack(outputs), hidden[None] if plain else (hidden[None], cell[None])

    return layer


class Layer(Hands):
    """This rank's layer."""

    secret = (0, 1, 2)

    def __init__(self, comm: Any, inward: float, onward: float, plain: bool, *case: Any) -> None:
        self.layer = recurrent(comm, inward, onward, SECONDS, plain)


def _on_wave(fn: Function, comm: Any, hands: Any, *case: Any) -> Any:
    """Call `fn(comm, layer, inputs, chunks)`, with this rank's layer; then as `all_waited`, and
    {"changed": 0, "returned": value} where it wrote into the inputs."""
    requests, (*_, inputs, chunks) = Requests(comm), case
    before = None if inputs is None else inputs.clone()
    value = all_waited(requests, of_torch(fn(comm, hands.layer, inputs, chunks)))
    same = before is None or torch.equal(inputs.detach(), before)
    return value if same else {CHANGED: 0, "returned": value}


on_wave = Ranked(_on_wave, arguments=4, hands=Layer)
