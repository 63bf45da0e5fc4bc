"""`torch.distributed.checkpoint` on real ranks: a training saved, and saved asynchronously.

It writes each rank's file in place under its last name, and `.metadata` last: a checkpoint is one
when that is there. So every step needs a folder of its own: a second save into the same folder
writes over the first one's files, and a kill then leaves neither. There are no checksums, and names
are not synced.
Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html; torch 2.13's
`torch/distributed/checkpoint/filesystem.py` for what is written when.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

from helpers.engine.comm import Comm
from helpers.lessons.cluster.experiments.checkpoint_ways import Saver


class TorchSaver(Saver):
    """Saves with `dcp.save`, or with `dcp.async_save`, each step into a folder of its own.

    rate: bytes a second that a rank's disk takes; None for this machine's.
    """

    def __init__(
        self, comm: Comm, path: str | Path, asynchronous: bool, rate: float | None
    ) -> None:
        super().__init__(comm)
        self.path, self.asynchronous, self.rate = Path(path), asynchronous, rate
        # A writer that is given would stage by itself, in an older way than `async_save` alone
        # does. One stager may serve all saves, since each waits for the one before.
        self.stager = stager() if asynchronous and rate is not None else None
        self.group = dist.new_group(backend="gloo")  # its messages are not to mix with training's
        self.saving: Any = None

    def begin(self, step: int, state: dict[str, Any]) -> None:
        """As in `Saver`: each rank's slices under names of its own."""
        held = {
            f"rank {self.comm.rank}/{name}/{key}": value
            for name, row in state["rows"].items()
            for key, value in row["values"].items()
        }
        folder = self.path / f"step-{step}"
        writer = None if self.rate is None else Paced(folder, self.rate)
        options = {"checkpoint_id": folder, "storage_writer": writer, "process_group": self.group}
        if self.asynchronous:
            self.saving = dcp.async_save(held, async_stager=self.stager, **options)
        else:
            dcp.save(held, **options)

    def ready(self) -> bool:
        """As in `Saver`; without messages, as each rank has its own future."""
        return self.saving is None or bool(self.saving.done())

    def end(self, step: int) -> None:
        """As in `Saver`."""
        if self.saving is not None:
            self.saving.result()  # of a collective: the others have written, too


def stager(shared: bool = False, in_a_thread: bool = False) -> DefaultStager:
    """What copies the values that are saved. shared: into shared memory."""
    # Pinned memory and copies that do not block want a GPU.
    return DefaultStager(
        StagingOptions(
            use_pinned_memory=False,
            use_shared_memory=shared,
            use_async_staging=in_a_thread,
            use_non_blocking_copy=False,
        )
    )


class Paced(dcp.FileSystemWriter):
    """A writer to a disk that takes so many bytes a second."""

    def __init__(self, folder: Path, rate: float) -> None:
        super().__init__(folder)
        self.rate = rate

    def write_data(self, plan: Any, planner: Any) -> Any:
        """As the writer's, and as long as such a disk takes."""
        begin = time.perf_counter()
        done = super().write_data(plan, planner)
        nbytes = sum(result.size_in_bytes for result in done.wait())
        time.sleep(max(0.0, nbytes / self.rate - (time.perf_counter() - begin)))
        return done
