"""`torch.distributed.checkpoint` on real ranks: saved, saved asynchronously, and loaded on others.

It takes each rank's tensors as DTensors, which know where they lie in the whole, and so loads them
on any number of ranks. It writes each rank's file in place under its last name, and `.metadata`
last: a checkpoint is one when that is there. So every step needs a folder of its own: a second save
into the same folder writes over the first one's files, and a kill then leaves neither. There are
no checksums, and names are not synced.
Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html; torch 2.13's
`torch/distributed/checkpoint/filesystem.py` for what is written when.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.engine.comm import Comm
from helpers.lessons.cluster.algorithms.format import pack, unpack
from helpers.lessons.cluster.algorithms.resharding import bounds, share
from helpers.lessons.cluster.experiments.checkpoint_training import Training, told_by_rank_0

REST, METADATA = "rest", ".metadata"


class TorchSaver:
    """Saves with `dcp.save`, or with `dcp.async_save`, each step into a folder of its own.

    rate: bytes a second that a rank's disk takes; None for this machine's. Raises RuntimeError
    where there is no process group, as on the virtual clock.
    """

    def __init__(
        self,
        comm: Comm,
        path: str | Path,
        asynchronous: bool = False,
        keep: int = 2,
        rate: float | None = None,
    ) -> None:
        if not dist.is_initialized():
            raise RuntimeError(
                "torch.distributed.checkpoint needs a process group: take real ranks, "
                'helpers.run(..., engine="processes").'
            )
        self.comm, self.path, self.keep = comm, Path(path), keep
        self.asynchronous, self.rate = asynchronous, rate
        # A writer that is given would stage by itself, in an older way than `async_save` alone
        # does. One stager may serve all saves, since each waits for the one before.
        self._stager = _stager() if asynchronous and rate is not None else None
        self.group = dist.new_group(backend="gloo")  # its messages are not to mix with training's
        self.mesh = dist.DeviceMesh.from_group(self.group, "cpu")
        self._under_way: Any = None
        self._step: int | None = None

    def folder(self, step: int) -> Path:
        """Where a step's checkpoint lies."""
        return self.path / f"step-{step:08d}"

    def go_on(self, training: Training) -> int | None:
        """As in `Saver`."""
        step = told_by_rank_0(self.comm, lambda: torch_latest(self.path))
        if step is not None:
            training.go_on(self.load(step))
        return step

    def load(self, step: int) -> dict[str, Any]:
        """A step's state, cut for this rank. All ranks call it."""
        import torch.distributed.checkpoint as dcp

        reader = dcp.FileSystemReader(self.folder(step))
        held: dict[str, Any] = {}
        about: Any
        for name, about in reader.read_metadata().state_dict_metadata.items():
            length, dtype = about.size[0], about.properties.dtype
            here = length if name == REST else self._held(length)
            local = torch.zeros(here, dtype=dtype)
            held[name] = local if name == REST else self._distributed(local, length)
        dcp.load(held, storage_reader=reader, process_group=self.group)
        return self._joined(held)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """As in `Saver`."""
        import torch.distributed.checkpoint as dcp

        self._end()
        held, folder = self._parted(state), self.folder(step)
        writer = None if self.rate is None else _paced(folder, self.rate)
        options = {"checkpoint_id": folder, "storage_writer": writer, "process_group": self.group}
        if self.asynchronous:
            self._under_way = dcp.async_save(held, async_stager=self._stager, **options)
        else:
            dcp.save(held, **options)
        self._step = step

    def advance(self) -> int | None:
        """As in `Saver`; without messages, as each rank has its own future."""
        if self._step is None or (self._under_way is not None and not self._under_way.done()):
            return None
        return self._end()

    def finish(self) -> int | None:
        """As in `Saver`."""
        return self._end()

    def _end(self) -> int | None:
        done, self._step = self._step, None
        if self._under_way is not None:
            self._under_way.result()  # of a collective: the others have written, too
            self._under_way = None
        if done is not None and self.comm.rank == 0:
            self._delete_old()
        return done

    def _delete_old(self) -> None:
        complete = [step for step in _steps(self.path) if (self.folder(step) / METADATA).exists()]
        for step in _steps(self.path):
            if complete and step < complete[0] and step not in complete[: self.keep]:
                (self.folder(step) / METADATA).unlink(missing_ok=True)
                shutil.rmtree(self.folder(step))

    # --- our rows as DTensors, and back -----------------------------------------------------------

    def _held(self, length: int) -> int:
        start, stop = bounds(length, self.comm.rank, self.comm.size)
        return stop - start

    def _distributed(self, local: Tensor, length: int) -> Tensor:
        from torch.distributed.tensor import DTensor, Shard

        if local.storage_offset():
            # torch 2.13's stagers take a DTensor with an offset for one with memory of its own, and
            # fail: "Attempted to call copy_() on an invalid python storage".
            local = local.clone()
        return DTensor.from_local(
            local, self.mesh, [Shard(0)], run_check=False, shape=torch.Size([length]), stride=(1,)
        )

    def _parted(self, state: dict[str, Any]) -> dict[str, Tensor]:
        """Each row's slices without padding, as DTensors; the rest, alike on all ranks, packed."""
        held = {
            f"{name}/{key}": self._distributed(value[: self._held(row["length"])], row["length"])
            for name, row in state["rows"].items()
            for key, value in row["values"].items()
        }
        rows = {n: {k: v for k, v in r.items() if k != "values"} for n, r in state["rows"].items()}
        rest = bytearray(pack({**state, "rows": rows}))
        return {**held, REST: torch.frombuffer(rest, dtype=torch.uint8)}

    def _joined(self, held: dict[str, Any]) -> dict[str, Any]:
        state: dict[str, Any] = unpack(held.pop(REST).numpy().tobytes())
        for row in state["rows"].values():
            row["values"] = {}
        for name, value in held.items():
            row, _, key = name.partition("/")
            row = state["rows"][row]
            slice_ = value.to_local().new_zeros(share(row["length"], self.comm.size))
            slice_[: self._held(row["length"])] = value.to_local()
            row["values"][key] = slice_
        return state


def _stager() -> Any:
    from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

    return DefaultStager(StagingOptions(False, False, False, False))


def _paced(folder: Path, rate: float) -> Any:
    """A writer to a disk that takes so many bytes a second."""
    from torch.distributed.checkpoint import FileSystemWriter

    class Paced(FileSystemWriter):
        def write_data(self, plan: Any, planner: Any) -> Any:
            begin = time.perf_counter()
            done = super().write_data(plan, planner)
            nbytes = sum(result.size_in_bytes for result in done.wait())
            time.sleep(max(0.0, nbytes / rate - (time.perf_counter() - begin)))
            return done

    return Paced(folder)


def torch_latest(path: Path) -> int | None:
    """The newest of `TorchSaver`'s checkpoints whose save was not cut off."""
    return next((s for s in _steps(path) if (path / f"step-{s:08d}" / METADATA).exists()), None)


def _steps(path: Path) -> list[int]:
    return sorted((int(p.name[5:]) for p in path.glob("step-*") if p.is_dir()), reverse=True)
