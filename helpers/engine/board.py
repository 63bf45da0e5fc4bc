"""The status board: what each rank is doing now, in memory that outlives the rank.

A rank writes its slot at each step; whoever supervises the run reads it, also after the rank was
killed, and so can tell who waits for whom.
"""

from __future__ import annotations

import dataclasses
import mmap
import struct
from typing import NamedTuple

import numpy as np

from helpers.engine.deadlock import Doing, State

LANES = 2
_STATES: tuple[Doing | None, ...] = (
    None, "idle", "computing", "sending", "receiving", "barrier", "shared", "background",
    "returned",
)  # fmt: skip
_SLOT = struct.Struct("=BxxxiQQ")
_COUNTS = 16  # bytes a rank: messages that it gave to links, and that have come to it over links


class Slot(NamedTuple):
    """One lane of a rank. doing is None before the rank begins; step counts the changes."""

    doing: Doing | None
    peer: int | None
    nbytes: int
    step: int

    @property
    def waits(self) -> bool:
        """Whether this lane can go on only when somebody else does something."""
        return self.doing not in (None, "idle", "computing", "returned")


class Board:
    """The slots of all ranks, in a shared file, and the messages that links between hosts hold.

    on_links: (size, 2) whole numbers, how many messages each rank has given to links and how many
    have come to it over them; a rank writes its own row alone.
    """

    def __init__(self, fd: int, size: int) -> None:
        self.size = size
        self._memory = mmap.mmap(fd, self.bytes(size))
        start = size * LANES * _SLOT.size
        self.on_links: np.ndarray = np.frombuffer(self._memory, np.int64, 2 * size, start)
        self.on_links = self.on_links.reshape(size, 2)

    @staticmethod
    def bytes(size: int) -> int:
        """How long the file has to be for so many ranks."""
        return size * (LANES * _SLOT.size + _COUNTS)

    def write(
        self, rank: int, lane: int, doing: Doing, peer: int | None, nbytes: int, step: int
    ) -> None:
        """Say what a lane of a rank is doing."""
        at = (rank * LANES + lane) * _SLOT.size
        other = -1 if peer is None else peer
        _SLOT.pack_into(self._memory, at, _STATES.index(doing), other, nbytes, step)

    def read(self, rank: int, lane: int = 0) -> Slot:
        """What a lane of a rank is doing, or was doing when the rank ended."""
        at = (rank * LANES + lane) * _SLOT.size
        state, peer, nbytes, step = _SLOT.unpack_from(self._memory, at)
        return Slot(_STATES[state], None if peer < 0 else peer, nbytes, step)

    def state(self, rank: int) -> State:
        """A rank's doing in the terms in which a deadlock is told."""
        main, beside = self.read(rank, 0), self.read(rank, 1)
        state = State(rank, main.doing or "idle", main.peer, main.nbytes)
        if beside.doing in (None, "idle", "returned"):
            return state
        behind = State(rank, beside.doing or "idle", beside.peer, beside.nbytes)
        return dataclasses.replace(state, background=behind)

    def travelling(self) -> bool:
        """Whether a message is on a link: then its receiver waits, and not for ever."""
        # Not by numpy: its own frames, if interrupted there, would keep the memory in use.
        given, come = zip(*self.on_links.tolist(), strict=True)
        return sum(given) != sum(come)

    def close(self) -> None:
        """Unmap the board."""
        del self.on_links  # a view of the memory keeps it open
        self._memory.close()
