"""What a worker needs to know of a model and its data: flat weights, batches and gradients."""

from __future__ import annotations

from typing import Any, Protocol

Array = Any


class Task(Protocol):
    """What can be trained: any model and data, with flat weights."""

    def initial(self) -> Array:
        """The weights that training starts from, (weights,)."""

    def rows(self, worker: int, step: int, batch: int) -> Array:
        """The row numbers of a worker's batch at its step, (batch,); the same whenever asked."""

    def gradient(self, weights: Array, rows: Array) -> Array:
        """The gradient of the mean loss over these rows, (weights,)."""

    def gradients(self, weights: Array, rows: Array) -> Array:
        """Many at once: weights (n, weights), rows (n, batch). Returns: (n, weights)."""

    def error(self, weights: Array) -> float:
        """The test error in %."""
