"""The two things with which TensorFlow's servers hold a synchronous step together, in small Python.

A *conditional accumulator* adds up the gradients of one variable, and counts only those that are
not stale. A *token queue* holds the permissions to go on: a worker that has pushed takes one, and
waits where there is none. In TensorFlow both live on a server and make their callers wait; here
nothing waits: what cannot be had yet is `None`, and the caller asks again later.

Source: TensorFlow 2.21, `conditional_accumulator_base` and `sync_replicas_optimizer`; the tests
hold both to TensorFlow's own, bit for bit. Arrays are numpy arrays or torch tensors and are never
changed in place.
"""

from __future__ import annotations

from collections import deque

from helpers.lessons.parameter_servers.algorithms.server_optimizers import Array


class ConditionalAccumulator:
    """The sum of the gradients of one variable that count towards its next update.

    global_step: how many updates the accumulator knows of; a gradient whose local step is lower
    was computed for an update that has been made without it. count: the gradients in the sum.
    """

    def __init__(self, global_step: int = 0) -> None:
        self.global_step = global_step
        self.count = 0
        self._sum: Array = None

    def apply_grad(self, gradient: Array, local_step: int) -> bool:
        """Add a gradient where it is not stale. Returns whether it counts.

        local_step: the global step that the worker knew of when it computed the gradient.
        TensorFlow drops a stale gradient without a word; here you are told.
        Raises ValueError where the gradient has another shape than those before it.
        """
        if local_step < self.global_step:
            return False
        if self.count and gradient.shape != self._sum.shape:
            raise ValueError(
                f"A gradient of shape {tuple(gradient.shape)} cannot be added to gradients of "
                f"shape {tuple(self._sum.shape)}: an accumulator serves one variable."
            )
        self._sum = self._sum + gradient if self.count else gradient
        self.count += 1
        return True

    def take_grad(self, required: int) -> Array | None:
        """The mean of the gradients, once `required` of them are there; None before.

        The mean is over all that have come, which may be more than required. Taking it empties the
        accumulator and raises its global step by one, so that what comes late is stale.
        Raises ValueError where fewer than one gradient is required.
        """
        if required < 1:
            raise ValueError(f"A mean needs 1 gradient or more, not {required}.")
        if self.count < required:
            return None
        mean = self._sum / self.count
        self._sum, self.count = None, 0
        self.global_step += 1
        return mean

    def set_global_step(self, global_step: int) -> None:
        """Tell the accumulator the step, as the chief does when training starts or goes on."""
        self.global_step = global_step


class TokenQueue:
    """Permissions to go on, first in, first out; each is the global step that made it.

    A token belongs to nobody: whoever comes first takes the next one, and a quick worker may take
    what a slow one has left.
    """

    def __init__(self) -> None:
        self._tokens: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._tokens)

    def enqueue_many(self, token: int, count: int) -> None:
        """Put the same token in `count` times. Raises ValueError for a negative count."""
        if count < 0:
            raise ValueError(f"{count} tokens cannot be put into a queue; give 0 or more.")
        self._tokens.extend([token] * count)

    def dequeue(self) -> int | None:
        """Take the oldest token; None where there is none, and the worker has to wait."""
        return self._tokens.popleft() if self._tokens else None

    def tokens(self) -> tuple[int, ...]:
        """What is in the queue, oldest first."""
        return tuple(self._tokens)
