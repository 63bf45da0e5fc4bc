"""Writing checkpoints, and taking old ones away.

Nothing that can be loaded is touched before what takes its place is complete and on the disk: parts
first, then the index, then old checkpoints go, each one's index first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from helpers.lessons.cluster.algorithms.files import Folder
from helpers.lessons.cluster.algorithms.folder import write_safely
from helpers.lessons.cluster.algorithms.format import (
    Checkpoint,
    Damaged,
    Part,
    described,
    index_bytes,
    index_name,
    opened,
    pack,
    part_name,
    step_of,
    steps,
    verified,
)

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

Write = Callable[[Folder, str, bytes], None]
"""What `write_safely` is."""


def save_sharded(
    comm: Comm,
    folder: Folder,
    step: int,
    state: Any,
    keep: int = 2,
    write: Write = write_safely,
) -> None:
    """Write a checkpoint to which every rank gives its own part. All ranks call it.

    When it returns, on any rank, the checkpoint is complete. state: what `pack` takes. keep: of how
    many steps checkpoints stay. write: puts a file into a folder, as `write_safely` does. Raises
    what `begin` raises.
    """
    begin(comm, folder, step, keep)
    part = write_part(folder, step, comm.rank, comm.size, pack(state), write)
    complete(comm, folder, step, part, keep, write)


def begin(comm: Comm, folder: Folder, step: int, keep: int) -> None:
    """See to it that a step can be written. All ranks call it.

    Raises ValueError for a step or a number to keep that cannot be, FileExistsError where this
    step's checkpoint is there and can be loaded.
    """
    if step < 0 or keep < 1:
        raise ValueError(
            f"A checkpoint has a step from 0 up, and 1 or more are kept: step {step} with {keep} "
            "kept cannot be."
        )
    if comm.rank == 0:
        make_way(folder, step)
    comm.barrier()  # a part of the old set must not be written over while rank 0 looks at it


def complete(
    comm: Comm, folder: Folder, step: int, part: Part, keep: int, write: Write = write_safely
) -> None:
    """Make a set of the parts that all ranks have written. All ranks call it.

    part: this rank's. Rank 0 hears of every rank's, and writes the index.
    """
    mine = torch.tensor([part.nbytes, part.checksum])
    if comm.rank:
        comm.send(mine, 0)
    else:
        told = [mine, *(comm.recv(source) for source in range(1, comm.size))]
        names = [part_name(step, number, comm.size) for number in range(comm.size)]
        parts = [Part(name, *each.tolist()) for name, each in zip(names, told, strict=True)]
        write_index(folder, step, parts, write)
        delete_old(folder, keep)
    comm.barrier()


def write_part(
    folder: Folder, step: int, number: int, parts: int, data: bytes, write: Write = write_safely
) -> Part:
    """Write part `number` of so many, as bytes, and say what the index has to know of it."""
    name = part_name(step, number, parts)
    write(folder, name, data)
    return described(name, data)


def write_index(
    folder: Folder, step: int, parts: Sequence[Part], write: Write = write_safely
) -> None:
    """Make a checkpoint of parts that are all on the disk: the last thing that is written."""
    write(folder, index_name(step), index_bytes(Checkpoint(step, tuple(parts))))


# --- making room ----------------------------------------------------------------------------------


def delete_old(folder: Folder, keep: int) -> None:
    """Take away all but the `keep` newest checkpoints, and what cut-off saves before have left.

    A checkpoint counts here when it is complete: files of the right sizes. What is newer than the
    newest of them stays, as it may be in the making. Without a complete one, nothing goes.
    """
    found = [step for step in steps(folder) if is_complete(folder, step)]
    kept = found[:keep]
    if kept:
        _remove(folder, {step for step in steps(folder) if step < kept[0]} - set(kept))


def is_complete(folder: Folder, step: int) -> bool:
    """Whether a step's index is there, and files of the sizes that it names."""
    try:
        checkpoint = opened(folder, step)
        return all(folder.size(part.name) == part.nbytes for part in checkpoint.parts)
    except (Damaged, FileNotFoundError):
        return False


def make_way(folder: Folder, step: int) -> None:
    """See to it that a step can be written: a damaged checkpoint of it is taken away.

    Raises FileExistsError where it can be loaded, since to write over it would put it at risk.
    """
    try:
        verified(folder, step)
    except Damaged:
        _remove(folder, {step})
        return
    raise FileExistsError(
        f"There is a checkpoint of step {step} already: it is not written over. Go on from it, or "
        "take another folder."
    )


def _remove(folder: Folder, of: set[int]) -> None:
    """Take all files of some steps away; an index first, so that no index lacks its parts."""
    names = [name for name in folder.names() if step_of(name) in of]
    indices = [name for name in names if name.endswith(".index")]
    for group in (indices, [name for name in names if name not in indices]):
        for name in group:
            folder.remove(name)
        if group:
            folder.sync_names()
