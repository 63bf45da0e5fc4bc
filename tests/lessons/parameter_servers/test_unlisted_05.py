"""Answers to lesson 05 that no table lists: they are wrong, and what they are told is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers.checks import find
from helpers.engine.servers.rule import Decision, Rule
from tests.checks.table import is_told

RIGHT = {number: find(number).reference for number in ("05.2", "05.3", "05.4")}


class WaitsForThree(Rule):
    """Waits for three pushes, however many workers there are."""

    pushes = "weights"

    def __init__(self, weights: Any, workers: int) -> None:
        super().__init__(weights, None, workers)
        self.held: list[Any] = []

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Keep it; average three."""
        self.held.append(gradient)
        if len(self.held) < 3:
            return Decision()
        self.weights, self.held = sum(self.held) / 3, []
        self.version += 1
        return Decision(tuple(self.workers))


def answers_too_seldom(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """The server's answer to the last push but one is missing."""
    if comm.rank:
        return RIGHT["05.2"](comm, weights, gradient, steps, rate)
    for other in range(1, comm.size):
        comm.send(weights, other)
    for step in range(steps):
        for worker in range(1, comm.size):
            weights = weights - rate * comm.recv(worker)
            if step < steps - 2:
                comm.send(weights, worker)
    return weights


def whoever_is_there(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """The server takes its workers as they come."""
    if comm.rank:
        return RIGHT["05.2"](comm, weights, gradient, steps, rate)
    left = dict.fromkeys(range(1, comm.size), steps)
    for other in left:
        comm.send(weights, other)
    asked = {other: comm.irecv(other) for other in left}
    while asked:
        worker = next((w for w in asked if asked[w].done()), next(iter(asked)))
        weights = weights - rate * asked.pop(worker).wait()
        left[worker] -= 1
        if left[worker]:
            comm.send(weights, worker)
            asked[worker] = comm.irecv(worker)
    return weights


def in_float32(*given: Any) -> Any:
    """Rounded."""
    return np.float32(RIGHT["05.3"](*given))


def fewest_tensors(sizes: list[int], servers: int) -> list[int]:
    """Of servers that hold equally much not the first, but the one with the fewest tensors."""
    held, counts, places = [0] * servers, [0] * servers, [0] * len(sizes)
    for tensor in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        server = min(range(servers), key=lambda s: (held[s], counts[s]))
        places[tensor] = server
        held[server] += sizes[tensor]
        counts[server] += 1
    return places


def needs_a_tensor(sizes: list[int], servers: int) -> Any:
    """Asks for the first size."""
    return RIGHT["05.4"](sizes, servers) if sizes[0] else []


def fills_up(sizes: list[int], servers: int) -> list[int]:
    """Each to the first server that stays below its share."""
    share, held, places = -(-sum(sizes) // servers), [0] * servers, [0] * len(sizes)
    for tensor in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        fits = [s for s in range(servers) if held[s] + sizes[tensor] <= share]
        places[tensor] = fits[0] if fits else held.index(min(held))
        held[places[tensor]] += sizes[tensor]
    return places


WRONG: list[tuple[str, Callable[..., Any], str]] = [
    ("05.1", WaitsForThree, "what you ask is not true then"),
    ("05.2", answers_too_seldom, "an answer after each push but its last"),
    ("05.2", whoever_is_there, "a push at a time, of workers 1, 2, … in turn"),
    ("05.3", in_float32, "0.51229508: they agree to six digits"),
    ("05.4", fewest_tensors, "With [1, 2, 7, 1, 4, 4, 5, 2] on 3 servers"),
    ("05.4", needs_a_tensor, "With [] on 2 servers"),
    ("05.4", fills_up, "[50, 50] B; as with largest first, of other tensors"),
]


@pytest.mark.parametrize(("number", "answer", "piece"), WRONG)
def test_what_a_wrong_answer_is_told_is_so(
    number: str, answer: Callable[..., Any], piece: str
) -> None:
    is_told(number, answer, piece)
