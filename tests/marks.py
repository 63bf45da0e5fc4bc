"""Tasks for trainings on real processes; one whose weights tell which gradients are in them."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

_RECORD = struct.Struct("=iiiii")


class Seen(NamedTuple):
    """A step that a worker began.

    with_last: whether a server had used its last push by then. updates: in that server's weights.
    """

    worker: int
    step: int
    server: int
    with_last: bool
    updates: int


class Marks:
    """The gradient of a worker's step is −1 in one place that is its own, in each server's part.

    So with plain SGD and a rate of 1, weights count how often each gradient is in them. Every
    step is noted in a file, with what the worker then saw of its own last gradient.
    """

    def __init__(self, workers: int, steps: int, servers: int, notes: Path) -> None:
        self.workers, self.steps, self.servers, self.notes = workers, steps, servers, notes

    def initial(self) -> Tensor:
        return torch.zeros(self.servers * self.workers * self.steps, dtype=torch.float64)

    def rows(self, worker: int, step: int, batch: int) -> Tensor:
        return torch.tensor([worker, step])

    def gradient(self, weights: Tensor, rows: Tensor) -> Tensor:
        worker, step = rows.tolist()
        table = self.table(weights)
        notes = [
            _RECORD.pack(
                worker,
                step,
                server,
                bool(step and table[server, worker, step - 1]),
                round(float(table[server].sum())),
            )
            for server in range(self.servers)
        ]
        fd = os.open(self.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(fd, b"".join(notes))
        os.close(fd)
        gradient = torch.zeros_like(weights)
        self.table(gradient)[:, worker, step] = -1
        return gradient

    def gradients(self, weights: Tensor, rows: Tensor) -> Tensor:
        return torch.stack([self.gradient(w, r) for w, r in zip(weights, rows, strict=True)])

    def error(self, weights: Tensor) -> float:
        return 0.0

    def table(self, weights: Tensor) -> Tensor:
        """What is in the weights, (servers, workers, steps)."""
        return weights.reshape(self.servers, self.workers, self.steps)

    def seen(self) -> list[Seen]:
        """All that workers have noted."""
        data = self.notes.read_bytes() if self.notes.exists() else b""
        return [Seen(w, k, s, bool(b), u) for w, k, s, b, u in _RECORD.iter_unpack(data)]

    def lost(self, weights: Tensor, server: int) -> int:
        """Gradients that a server had used, as their workers saw, and that are not in the end."""
        table = self.table(weights)[server]
        return sum(
            not table[note.worker, note.step - 1]
            for note in self.seen()
            if note.server == server and note.with_last
        )

    def unheard(self, server: int, at: int) -> int:
        """Workers that never saw this server with more than `at` updates.

        What one of them pushed last may have been used and lost, with nobody left to note it.
        """
        last = {note.worker: note.updates for note in self.seen() if note.server == server}
        return sum(last.get(worker, 0) <= at for worker in range(self.workers))


class Line:
    """Four weights that shrink; slow enough for every worker to be scheduled."""

    def initial(self) -> Tensor:
        return torch.ones(4)

    def rows(self, worker: int, step: int, batch: int) -> Tensor:
        return torch.tensor([worker, step])

    def gradient(self, weights: Tensor, rows: Tensor) -> Tensor:
        self.at(*rows.tolist())
        time.sleep(0.001)
        return weights * 0.1

    def at(self, worker: int, step: int) -> None:
        """What happens at a worker's step."""

    def gradients(self, weights: Tensor, rows: Tensor) -> Tensor:
        return torch.stack([self.gradient(w, r) for w, r in zip(weights, rows, strict=True)])

    def error(self, weights: Tensor) -> float:
        return float(weights.sum())
