"""Ways to save a training: a part a rank, the same in the background, and torch's own.

Each is a `Saver`; a training calls it in the same places, whichever it is.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from helpers.engine.comm import Comm
from helpers.lessons.cluster.algorithms.files import Folder, RealFolder
from helpers.lessons.cluster.algorithms.folder import write_safely
from helpers.lessons.cluster.algorithms.format import Part, pack
from helpers.lessons.cluster.algorithms.resharding import Cut, pieces
from helpers.lessons.cluster.algorithms.saving import (
    Write,
    begin,
    complete,
    save_sharded,
    write_part,
)
from helpers.lessons.cluster.experiments.checkpoint_training import Training, go_on_from
from helpers.lessons.messages.algorithms.collectives import all_reduce_tree

WAYS = ("sharded", "in the background", "torch", "torch, asynchronous")


class Saver(Protocol):
    """Saves a training. All ranks call each method in the same places."""

    def go_on(self, training: Training) -> int | None:
        """Go on from the latest checkpoint: its step; None where there is none."""

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Save, or begin to; `state` may change as soon as it returns."""

    def advance(self) -> int | None:
        """Call it once a step: the step of a checkpoint that has become complete; None of none."""

    def finish(self) -> int | None:
        """Wait for what is under way; as `advance`."""


class Means(NamedTuple):
    """What a way of the course's own writes a file with, and cuts a checkpoint for other ranks."""

    write: Write = write_safely
    cut: Cut = pieces


OWN = Means()


def saver(
    way: str,
    comm: Comm,
    path: str | Path,
    keep: int = 2,
    means: Means = OWN,
    rate: float | None = None,
) -> Saver:
    """A saver of one of `WAYS`, into a folder. means: those of the course's own ways.

    rate: bytes a second that a rank's disk takes; None for this machine's. Raises ValueError for
    another way.
    """
    if way in WAYS[:2]:
        folder = RealFolder(path) if rate is None else PacedFolder(path, rate)
        return OwnSaver(comm, folder, keep, means, background=way != "sharded")
    if way in WAYS:
        from helpers.lessons.cluster.experiments.checkpoint_torch import TorchSaver

        return TorchSaver(comm, path, way != "torch", keep, rate)
    raise ValueError(f"There is no way {way!r} to save; there are: {', '.join(WAYS)}.")


class PacedFolder(RealFolder):
    """A folder on a disk that takes so many bytes a second."""

    def __init__(self, path: str | Path, rate: float) -> None:
        super().__init__(path)
        self.rate = rate

    def write(self, name: str, data: bytes) -> None:
        """As in `Folder`, and as long as such a disk takes."""
        begin = time.perf_counter()
        super().write(name, data)
        time.sleep(max(0.0, len(data) / self.rate - (time.perf_counter() - begin)))


class OwnSaver:
    """Saves in the course's own format, and comes back when the checkpoint is complete.

    background: saves while training goes on: a copy is made at once, and a thread writes it. A rank
    cannot know when the others have written their parts. So once a step, while a save is under way,
    all add up who is done; when all are, rank 0 writes the index, and only then is it a checkpoint.
    One save is under way at a time: the next one waits for it.
    Source: Megatron-Core's asynchronous saves, which end in the same way
    (`maybe_finalize_async_calls`); Mohan, Phanishayee and Chidambaram, "CheckFreq: Frequent,
    Fine-Grained DNN Checkpointing" (FAST 2021), section 4, for the copy and the writing apart.
    """

    def __init__(
        self,
        comm: Comm,
        folder: Folder,
        keep: int = 2,
        means: Means = OWN,
        background: bool = False,
    ) -> None:
        self.comm, self.folder, self.keep, self.means = comm, folder, keep, means
        self.background = background
        self._step = 0
        self._writing: Future[Part] | None = None
        self._done: int | None = None

    def go_on(self, training: Training) -> int | None:
        """As in `Saver`."""
        return go_on_from(training, self.folder, self.means.cut)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """As in `Saver`. Raises what the writing of the last one has raised."""
        self.finish()
        if not self.background:
            save_sharded(self.comm, self.folder, step, state, self.keep, self.means.write)
            self._done = step
            return
        begin(self.comm, self.folder, step, self.keep)
        thread = ThreadPoolExecutor(1, "checkpoint")
        self._step, self._writing = step, thread.submit(self._write, step, copied(state))
        thread.shutdown(wait=False)  # it ends once it has written

    def _write(self, step: int, state: Any) -> Part:
        data = pack(state)
        return write_part(self.folder, step, self.comm.rank, self.comm.size, data, self.means.write)

    def advance(self) -> int | None:
        """As in `Saver`: sends a number to the others while a save is under way."""
        if self._writing is not None:
            ready = torch.tensor([float(self._writing.done())])
            if all_reduce_tree(self.comm, ready).item() < self.comm.size:
                return None
        return self.finish()

    def finish(self) -> int | None:
        """As in `Saver`."""
        if self._writing is not None:
            part, self._writing = self._writing.result(), None
            complete(self.comm, self.folder, self._step, part, self.keep, self.means.write)
            self._done = self._step
        done, self._done = self._done, None
        return done


def copied(state: Any) -> Any:
    """The same with every tensor copied, so that training may go on and change its own."""
    if isinstance(state, Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {key: copied(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(copied(value) for value in state)
    return state
