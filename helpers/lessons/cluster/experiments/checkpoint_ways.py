"""Ways to save a training: a part a rank, or the same in the background; and one that saves so."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from helpers.engine.comm import Comm
from helpers.lessons.cluster.algorithms.files import RealFolder
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
from helpers.lessons.cluster.experiments.checkpoint_training import Setting, Training, go_on_from
from helpers.lessons.cluster.experiments.notes import note
from helpers.lessons.messages.algorithms.collectives import all_reduce_tree

WAYS = ("sharded", "in the background")
USUAL = Setting()


class Means(NamedTuple):
    """What a way of the course's own writes a file with, and cuts a checkpoint for other ranks."""

    write: Write = write_safely
    cut: Cut = pieces


OWN = Means()


class Saver:
    """Saves a training. All ranks call each method in the same places.

    One save is under way at a time: the next one waits for it. A way says how a save begins, when
    it is ready on all ranks, and what ends it.
    """

    def __init__(self, comm: Comm) -> None:
        self.comm = comm
        self.under_way: int | None = None

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Save, or begin to; `state` may change as soon as it returns."""
        self.finish()
        self.begin(step, state)
        self.under_way = step

    def advance(self) -> int | None:
        """Call it once a step: the step of a checkpoint that has become complete; None of none."""
        return self.finish() if self.under_way is not None and self.ready() else None

    def finish(self) -> int | None:
        """Wait for what is under way; as `advance`. Raises what writing it has raised."""
        step, self.under_way = self.under_way, None
        if step is not None:
            self.end(step)
        return step

    def begin(self, step: int, state: dict[str, Any]) -> None:
        """Begin to save a step, or do all of it."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether all ranks have written what is under way."""
        raise NotImplementedError

    def end(self, step: int) -> None:
        """Wait for this rank's writing, and see to it that the checkpoint is complete."""
        raise NotImplementedError


class OwnSaver(Saver):
    """Saves in the course's own format, and comes back when the checkpoint is complete.

    way: of `WAYS`. In the background it saves while training goes on: a copy is made at once, and a
    thread writes it. A rank cannot know when the others have written their parts. So once a step,
    while a save is under way, all add up who is done; when all are, rank 0 writes the index, and
    only then is it a checkpoint.
    Source: Megatron-Core's asynchronous saves, which end in the same way
    (`maybe_finalize_async_calls`); Mohan, Phanishayee and Chidambaram, "CheckFreq: Frequent,
    Fine-Grained DNN Checkpointing" (FAST 2021), section 4, for the copy and the writing apart.
    """

    def __init__(
        self, comm: Comm, folder: RealFolder, way: str, keep: int = 2, means: Means = OWN
    ) -> None:
        super().__init__(comm)
        if way not in WAYS:
            raise ValueError(f"There is no way {way!r} to save; there are: {', '.join(WAYS)}.")
        self.folder, self.keep, self.means = folder, keep, means
        self.background = way != WAYS[0]
        self.writing: Future[Part] | None = None

    def go_on(self, training: Training) -> int | None:
        """Go on from the latest checkpoint: its step; None where there is none."""
        return go_on_from(training, self.folder, self.means.cut)

    def begin(self, step: int, state: dict[str, Any]) -> None:
        """As in `Saver`."""
        if not self.background:
            save_sharded(self.comm, self.folder, step, state, self.keep, self.means.write)
            return
        begin(self.comm, self.folder, step, self.keep)
        thread = ThreadPoolExecutor(1, "checkpoint")
        self.writing = thread.submit(self._write, step, copied(state))
        thread.shutdown(wait=False)  # it ends once it has written

    def _write(self, step: int, state: Any) -> Part:
        data = pack(state)
        return write_part(self.folder, step, self.comm.rank, self.comm.size, data, self.means.write)

    def ready(self) -> bool:
        """As in `Saver`: sends a number to the others while a save is under way."""
        if self.writing is None:
            return True
        done = torch.tensor([float(self.writing.done())])
        return all_reduce_tree(self.comm, done).item() == self.comm.size

    def end(self, step: int) -> None:
        """As in `Saver`."""
        if self.writing is not None:
            part, self.writing = self.writing.result(), None
            complete(self.comm, self.folder, step, part, self.keep, self.means.write)


def copied(state: Any) -> Any:
    """The same with every tensor copied, so that training may go on and change its own."""
    if isinstance(state, Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {key: copied(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(copied(value) for value in state)
    return state


# --- a training that saves ------------------------------------------------------------------------


class Kill(NamedTuple):
    """Ranks that kill themselves: so many seconds after a save of the run begins, the first or
    the second of it."""

    ranks: tuple[int, ...]
    save: int
    delay: float


def trains(
    comm: Comm,
    path: str | Path,
    setting: Setting = USUAL,
    way: str = "sharded",
    until: int | None = None,
    means: Means = OWN,
    notes: str | Path | None = None,
    kill: Kill | None = None,
) -> list[float]:
    """Train to the end, save every few steps, and go on from what is there: on every rank.

    path: of the folder of checkpoints. way: of `WAYS`. until: the step to stop at, as a job whose
    time is up. means: what files are written with, and a checkpoint cut for other ranks. notes: a
    file to note every step and every save in, where it may be killed. Returns the loss of each step
    that was taken.
    Example: `helpers.run(trains, "checkpoints", ranks=4)`; then the same on 3 ranks goes on.
    """
    dies: threading.Timer | None = None
    if kill and comm.rank in kill.ranks:
        dies = threading.Timer(kill.delay, os.kill, (os.getpid(), signal.SIGKILL))
        dies.daemon = True
    begun = 0

    def tell(what: str, step: int | None, loss: float = 0.0) -> None:
        if notes and step is not None:
            note(notes, what=what, step=step, loss=loss, rank=comm.rank)

    def save() -> None:
        nonlocal begun
        tell("saving", training.step)
        begun += 1
        if kill and dies and begun == kill.save:
            dies.start()
        saves.save(training.step, training.state())
        tell("saved", saves.advance())

    training = Training(comm, setting)
    saves = OwnSaver(comm, RealFolder(path), way, setting.keep, means)
    losses = list[float]()
    last = setting.steps if until is None else min(until, setting.steps)
    if saves.go_on(training) is None:  # from here on there is something to go on from
        save()
    while training.step < last:
        losses.append(training.advance())
        tell("step", training.step, losses[-1])
        tell("saved", saves.advance())
        if training.step % setting.every == 0:
            tell("saved", saves.finish())
            save()
    tell("saved", saves.finish())
    if dies:
        dies.cancel()
    return losses
