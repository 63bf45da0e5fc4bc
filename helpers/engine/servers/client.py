"""A worker's part in training with a parameter server: what it does between pull and push.

Like a rule, a client is a state machine that knows nothing of time or processes. Whoever runs it
asks `wants_weights`, hands it what was pulled, computes a gradient at `client.weights`, and gives
that to `computed`, which says what to push, if anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Array = Any


class Client:
    """Pull, compute, push: the plain worker."""

    pushes = "gradients"  # what a rule has to take

    def __init__(self) -> None:
        self.weights: Array = None
        self.version = 0
        self.wants_weights = True

    def pulled(self, weights: Array, version: int) -> None:
        """Take what the server gave."""
        self.weights, self.version = weights, version
        self.wants_weights = False

    def computed(self, gradient: Array) -> Array | None:
        """A gradient at `weights` is there. Returns what to push now, None for nothing yet."""
        self.wants_weights = True
        return gradient


MakeClient = Callable[[], Client]
