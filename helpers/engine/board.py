"""What can be seen of a rank while it runs: its slot on the status board, and what it prints.

A rank writes its slot at each step, in memory that outlives it; whoever supervises the run reads
it, also after the rank was killed, and so can tell who waits for whom. Output is collected as it
comes, shown at once for rank 0, and for all in rank order.
"""

from __future__ import annotations

import codecs
import dataclasses
import mmap
import os
import struct
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helpers.engine.deadlock import Doing, State

LANES = 2
_STATES: tuple[Doing | None, ...] = (
    None, "idle", "computing", "sending", "receiving", "barrier", "shared", "background",
    "returned",
)  # fmt: skip
_SLOT = struct.Struct("=BxxxiQQ")
_LIMIT = 4 << 20  # of what a rank prints
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


class RankOutput:
    """The reading end of a rank's output. live: show it at once, so that a progress bar moves.

    name: what the rank is called, such as "rank 0".
    """

    def __init__(self, name: str, fd: int, live: bool) -> None:
        self.name, self.fd, self.live = name, fd, live
        os.set_blocking(fd, False)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._length = 0
        self._fresh = True

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self._parts)

    def read(self) -> bool:
        """Take what is there, 1 MB at most; False where the rank has closed its end."""
        for _ in range(16):  # one that prints without end must not keep us from the time-out
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._add(self._decoder.decode(data))
        return True

    def finish(self) -> None:
        """Take the rest, once the rank has ended."""
        self.read()
        self._add(self._decoder.decode(b"", final=True))
        if self.live and not self._fresh:
            sys.stdout.write("\n")
        if self.live:
            sys.stdout.flush()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)

    def _add(self, text: str) -> None:
        if self._length >= _LIMIT or not text:
            return
        self._length += len(text)
        if self._length >= _LIMIT:
            text += f"\n… {self.name} printed more than 4 MB; the rest is left out\n"
        self._parts.append(text)
        if self.live:
            self._show(text)

    def _show(self, text: str) -> None:
        prefix = f"{self.name} | "
        for line in text.splitlines(keepends=True):
            # After a carriage return the line is written again, and so is its prefix.
            sys.stdout.write((prefix if self._fresh else "") + line)
            self._fresh = line[-1] in "\r\n"
        sys.stdout.flush()


def show_output(outputs: Sequence[str], names: Sequence[str] = ()) -> None:
    """Print what each rank printed, rank after rank, each line with the rank before it.

    names: what the ranks are called, if not "rank 0" and so on.
    """
    names = names or [f"rank {rank}" for rank in range(len(outputs))]
    lines = [
        f"{name} | {last_written(line)}"
        for name, output in zip(names, outputs, strict=True)
        if output
        for line in output.removesuffix("\n").split("\n")
    ]
    if lines:
        print("\n".join(lines), flush=True)


def last_written(line: str) -> str:
    """What a terminal shows of a line that was written again, as a progress bar's is."""
    return next((piece for piece in reversed(line.split("\r")) if piece), "")
