"""Ways to save a training: one file, a part a rank, in the background, and torch's own.

Each is a `Saver`; a training calls it in the same places, whichever it is.
"""

from __future__ import annotations

from collections.abc import Callable
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
    check,
    complete,
    make_way,
    save_sharded,
    save_whole,
    write_part,
)
from helpers.lessons.cluster.algorithms.sharded_state import gathered
from helpers.lessons.cluster.experiments.checkpoint_training import Training, go_on_from
from helpers.lessons.messages.algorithms.collectives import all_reduce_tree

WAYS = ("whole", "sharded", "in the background", "torch", "torch, asynchronous")


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


def saver(way: str, comm: Comm, path: str | Path, keep: int = 2, means: Means = OWN) -> Saver:
    """A saver of one of `WAYS`, into a folder. means: those of the course's own ways.

    Raises ValueError for another way.
    """
    if way in ("whole", "sharded"):
        return Blocking(comm, RealFolder(path), way, keep, means)
    if way == "in the background":
        return Background(comm, RealFolder(path), keep, means.write)
    if way in WAYS:
        from helpers.lessons.cluster.experiments.checkpoint_torch import TorchSaver

        return TorchSaver(comm, path, way != "torch", keep)
    raise ValueError(f"There is no way {way!r} to save; there are: {', '.join(WAYS)}.")


class Blocking:
    """Saves and comes back when the checkpoint is complete. way: "whole" or "sharded"."""

    def __init__(
        self,
        comm: Comm,
        folder: Folder,
        way: str = "sharded",
        keep: int = 2,
        means: Means = OWN,
    ) -> None:
        self.comm, self.folder, self.way, self.keep = comm, folder, way, keep
        self.means = means
        self._done: int | None = None

    def go_on(self, training: Training) -> int | None:
        """As in `Saver`."""
        return go_on_from(training, self.folder, self.means.cut)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """As in `Saver`."""
        if self.way == "sharded":
            save_sharded(self.comm, self.folder, step, state, self.keep, self.means.write)
        else:
            whole = gathered(self.comm, state)
            if whole is not None:
                save_whole(self.folder, step, whole, self.keep, self.means.write)
            self.comm.barrier()
        self._done = step

    def advance(self) -> int | None:
        """As in `Saver`."""
        done, self._done = self._done, None
        return done

    finish = advance


class Background:
    """Saves while training goes on: a copy is made at once, and a thread writes it.

    A rank cannot know when the others have written their parts. So once a step, while a save is
    under way, all add up who is done; when all are, rank 0 writes the index, and only then is it a
    checkpoint. One save is under way at a time: the next one waits for it.
    Source: Megatron-Core's asynchronous saves, which end in the same way
    (`maybe_finalize_async_calls`); Mohan, Phanishayee and Chidambaram, "CheckFreq: Frequent,
    Fine-Grained DNN Checkpointing" (FAST 2021), section 4, for the copy and the writing apart.
    """

    def __init__(
        self, comm: Comm, folder: Folder, keep: int = 2, write: Write = write_safely
    ) -> None:
        self.comm, self.folder, self.keep, self.write = comm, folder, keep, write
        self._step = 0
        self._writing: Future[Part] | None = None

    def go_on(self, training: Training) -> int | None:
        """As in `Saver`."""
        return go_on_from(training, self.folder)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """As in `Saver`. Raises what the writing of the last one has raised."""
        check(step, self.keep)
        self.finish()
        if self.comm.rank == 0:
            make_way(self.folder, step)
        self.comm.barrier()
        thread = ThreadPoolExecutor(1, "checkpoint")
        self._step, self._writing = step, thread.submit(self._write, step, copied(state))
        thread.shutdown(wait=False)  # it ends once it has written

    def _write(self, step: int, copy: Any) -> Part:
        rank, size = self.comm.rank, self.comm.size
        return write_part(self.folder, step, rank, size, pack(copy), self.write)

    def advance(self) -> int | None:
        """As in `Saver`: sends a number to the others while a save is under way."""
        return self._end(wait=False)

    def finish(self) -> int | None:
        """As in `Saver`."""
        return self._end(wait=True)

    def _end(self, wait: bool) -> int | None:
        if self._writing is None:
            return None
        if not wait:
            ready = torch.tensor([float(self._writing.done())])
            if all_reduce_tree(self.comm, ready).item() < self.comm.size:
                return None
        part, self._writing = self._writing.result(), None
        complete(self.comm, self.folder, self._step, part, self.keep, self.write)
        return self._step


def copied(state: Any, copy: Callable[[Tensor], Tensor] = Tensor.clone) -> Any:
    """The same with every tensor copied, so that training may go on and change its own."""
    if isinstance(state, Tensor):
        return copy(state.detach())
    if isinstance(state, dict):
        return {key: copied(value, copy) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(copied(value, copy) for value in state)
    return state
