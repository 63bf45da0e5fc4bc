"""What lies in a folder of checkpoints: names, checksums, and the latest one that can be loaded.

A checkpoint is a part from each rank, and an index, which is written last: a set without its index
is none. Every file is named by its step, such as
`step-00000040.part-1-of-4`. Whatever is read is held against the bytes and the checksum that were
noted when it was written.
"""

from __future__ import annotations

import io
import json
import pickle
import re
import zlib
from typing import Any, NamedTuple

import torch

from helpers.lessons.cluster.algorithms.files import TEMPORARY, Folder

_NAME = re.compile(r"step-(\d{8,})\.(index|part-\d+-of-\d+)(?:\.tmp)?")
_MARK = "course checkpoint 1"


class Damaged(ValueError):
    """A checkpoint that cannot be loaded; the text says why."""


class Part(NamedTuple):
    """A file of a checkpoint. checksum: CRC-32 of its bytes."""

    name: str
    nbytes: int
    checksum: int


class Checkpoint(NamedTuple):
    """A checkpoint in a folder. parts: in the order of the ranks that wrote them."""

    step: int
    parts: tuple[Part, ...]


class Latest(NamedTuple):
    """The newest checkpoint that can be loaded. checkpoint: None where there is none.

    passed: for each newer step of which files were found, the newest first, why it cannot.
    """

    checkpoint: Checkpoint | None
    passed: dict[int, str]

    @property
    def step(self) -> int | None:
        """The checkpoint's step; None where there is none."""
        return self.checkpoint.step if self.checkpoint else None


# --- names and bytes ------------------------------------------------------------------------------


def part_name(step: int, number: int, parts: int) -> str:
    """The file of one part of a checkpoint. Example: step-00000040.part-1-of-4."""
    return f"step-{step:08d}.part-{number}-of-{parts}"


def index_name(step: int) -> str:
    """The file that makes the parts of a step a checkpoint."""
    return f"step-{step:08d}.index"


def step_of(name: str) -> int | None:
    """The step that a file belongs to; None for a file that is none of ours."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def pack(state: Any) -> bytes:
    """Tensors, numbers, texts, and lists and dictionaries of these, as `torch.save` writes them."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def unpack(data: bytes) -> Any:
    """What `pack` has packed. Raises Damaged for anything else, and runs no code that is in it."""
    try:
        return torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError) as error:
        raise Damaged(f"its content cannot be read: {str(error).splitlines()[0]}") from None


def described(name: str, data: bytes) -> Part:
    """A file's name with its size and its checksum."""
    return Part(name, len(data), zlib.crc32(data))


def index_bytes(checkpoint: Checkpoint) -> bytes:
    """What is written into an index: a line of JSON."""
    content = {"format": _MARK, "step": checkpoint.step, "parts": checkpoint.parts}
    return json.dumps(content).encode() + b"\n"


# --- reading --------------------------------------------------------------------------------------


def parsed(data: bytes, step: int) -> Checkpoint:
    """What `index_bytes` has written. Raises Damaged for anything else."""
    try:
        content = json.loads(data)
        parts = tuple(Part(str(n), int(b), int(c)) for n, b, c in content["parts"])
        ours = content["format"] == _MARK and content["step"] == step and parts
    except (ValueError, TypeError, KeyError):
        raise Damaged("its index cannot be read: it is torn or was written over") from None
    if not ours:
        raise Damaged("its index is one of another step or of another program")
    return Checkpoint(step, parts)


def opened(folder: Folder, step: int) -> Checkpoint:
    """The checkpoint of a step, of which only the index has been looked at.

    Raises Damaged where there is none.
    """
    names = folder.names()
    if index_name(step) in names:
        return parsed(folder.read(index_name(step)), step)
    ready = [n for n in names if step_of(n) == step and not n.endswith(TEMPORARY)]
    # Parts of several attempts may lie here, on other numbers of ranks: the fullest one is told.
    counts = sorted({int(name.rpartition("-")[2]) for name in ready}, reverse=True)
    told = [f"{sum(n.endswith(f'-of-{c}') for n in ready)} of {c} parts" for c in counts]
    raise Damaged(
        f"it has no index, and {' and '.join(told) or 'no part'} ready: a save was cut off"
    )


def verified(folder: Folder, step: int) -> Checkpoint:
    """The checkpoint of a step, every byte of which is right. Raises Damaged where one is not."""
    checkpoint = opened(folder, step)
    for number in range(len(checkpoint.parts)):
        part_bytes(folder, checkpoint, number)
    return checkpoint


def read_part(folder: Folder, checkpoint: Checkpoint, number: int) -> Any:
    """What rank `number` had saved. Raises Damaged where the bytes are not those written then."""
    return unpack(part_bytes(folder, checkpoint, number))


def part_bytes(folder: Folder, checkpoint: Checkpoint, number: int) -> bytes:
    """A part's bytes, held against its size and its checksum. Raises Damaged."""
    part = checkpoint.parts[number]
    try:
        data = folder.read(part.name)
    except FileNotFoundError:
        raise Damaged(f"{part.name} is not there") from None
    if len(data) != part.nbytes:
        raise Damaged(f"{part.name} has {len(data)} of {part.nbytes} bytes")
    if zlib.crc32(data) != part.checksum:
        raise Damaged(f"{part.name} has the right size, but its checksum is wrong")
    return data


def steps(folder: Folder) -> list[int]:
    """All steps of which there is a file, the newest first."""
    return sorted({s for n in folder.names() if (s := step_of(n)) is not None}, reverse=True)


def latest(folder: Folder) -> Latest:
    """The newest checkpoint of which every byte is right, and why newer ones are passed over.

    Reads all of it: on many ranks, let rank 0 look and tell the others the step.
    """
    passed: dict[int, str] = {}
    for step in steps(folder):
        try:
            return Latest(verified(folder, step), passed)
        except Damaged as why:
            passed[step] = str(why)
    return Latest(None, passed)
