"""`SyncReplicas` put together from an accumulator and a chief of your own.

Where TensorFlow has an accumulator for each variable, all weights are one flat variable here, so
that one accumulator and one chief are enough. `sync_replay.replay_sync_replicas` trains with it:

    machine = functools.partial(OneAccumulator, accumulator=MyAccumulator, chief=MyChief)
    replay_sync_replicas(machine=machine)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from helpers.lessons.spare_replicas.experiments.sync_replay import SyncRun, replay_sync_replicas


class OneAccumulator:
    """What a replay needs of `SyncReplicas`: push, take a token, the chief's turn.

    accumulator: called without arguments, gives `apply_grad` and `take_grad`. chief: called with
    accumulator, queue, weights, rate, aggregate and total, gives `start`, `turn`, `weights` and
    `global_step`.

    log: every push, its worker, its local step and whether it counted.
    """

    def __init__(
        self,
        weights: Sequence[np.ndarray],
        optimizer: Callable[[], Any],
        aggregate: int,
        total: int,
        num_tokens: int,
        accumulator: Callable[[], Any],
        chief: Callable[..., Any],
    ) -> None:
        self.shapes = [array.shape for array in weights]
        self.queue: deque[int] = deque()
        self.accumulator = accumulator()
        rate = optimizer().rate
        self.chief = chief(self.accumulator, self.queue, _flat(weights), rate, aggregate, total)
        self.chief.start(num_tokens)
        self.local_steps = [0] * total
        self.log: list[tuple[int, int, bool]] = []

    @property
    def global_step(self) -> int:
        """How many updates are made."""
        return int(self.chief.global_step)

    def pull(self) -> tuple[np.ndarray, ...]:
        """The weights as they are now, one array for each variable."""
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        parts = np.split(self.chief.weights.numpy(), np.cumsum(sizes)[:-1])
        return tuple(part.reshape(s) for part, s in zip(parts, self.shapes, strict=True))

    def push(self, worker: int, gradients: Sequence[np.ndarray]) -> tuple[bool, ...]:
        """Give the accumulator a gradient, marked with its worker's local step."""
        local = self.local_steps[worker]
        counts = bool(self.accumulator.apply_grad(_flat(gradients), local))
        self.log.append((worker, local, counts))
        return (counts,)

    def take_token(self, worker: int) -> int | None:
        """Take the oldest token as local step; None where there is none."""
        if not self.queue:
            return None
        self.local_steps[worker] = self.queue.popleft()
        return self.local_steps[worker]

    def chief_turn(self) -> bool:
        """The chief makes an update if it can."""
        return bool(self.chief.turn())


def _flat(arrays: Sequence[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))


class Told(NamedTuple):
    """A replay, and every push in its order: worker, local step, whether it counted."""

    run: SyncRun
    log: list[tuple[int, int, bool]]


def told(
    machine: Callable[..., OneAccumulator],
    seconds: Sequence[float],
    aggregate: int,
    num_tokens: int,
    steps: int = 30,
) -> Told:
    """Replay a training, and note what became of every gradient. Arguments: as the replay's."""
    made: list[OneAccumulator] = []

    def make(*args: Any) -> OneAccumulator:
        made.append(machine(*args))
        return made[-1]

    any_: Any = make
    run = replay_sync_replicas(seconds, aggregate, steps, num_tokens, machine=any_)
    return Told(run, made[0].log)
