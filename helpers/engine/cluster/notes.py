"""What a rank is doing, in memory that it shares with its keeper and that outlives it.

The rank writes what its comm does at each step, and some twenty times a second where in its code it
is. The keeper reads, and so has the last word of a rank that was killed.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import tempfile
import threading
import time
from types import FrameType
from typing import Any

from helpers.engine.board import LANES, Board

EVERY = 0.05  # seconds
_SLOT = 1 << 15
_MOST = 100  # frames
_HEAD = struct.Struct("=BxxxI")
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep

Frame = tuple[str, int, str]


class Notes:
    """A rank's notes. Make them before the rank's process is forked."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        board = Board.bytes(size)
        at = -(-board // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        fd = shared_file(at + 2 * _SLOT)
        self.board = Board(fd, size)
        # Two places in turn: one is whole even where the rank dies while it writes the other.
        self._memory = mmap.mmap(fd, 2 * _SLOT, offset=at)
        os.close(fd)
        self._turn = 0

    def write(self, frames: list[Frame]) -> None:
        """Say where in its code the rank is, outermost first."""
        data = json.dumps(frames[-_MOST:]).encode()
        if len(data) > _SLOT - _HEAD.size:
            return
        self._turn = 1 - self._turn
        at = self._turn * _SLOT
        self._memory[at + _HEAD.size : at + _HEAD.size + len(data)] = data
        _HEAD.pack_into(self._memory, at, 1, len(data))
        _HEAD.pack_into(self._memory, (1 - self._turn) * _SLOT, 0, 0)

    def read(self) -> dict[str, Any]:
        """What the rank does, lane by lane, and where it is, for the folder."""
        frames: Any = []
        for at in (0, _SLOT):
            there, length = _HEAD.unpack_from(self._memory, at)
            if there:
                data = self._memory[at + _HEAD.size : at + _HEAD.size + length]
                frames = json.loads(data)
        lanes = [tuple(self.board.read(self.rank, lane)) for lane in range(LANES)]
        return {"lanes": lanes, "frames": frames}

    def follow(self, first: Frame) -> None:
        """Write down where the main thread is, from now on. first: where it is about to be."""
        main = threading.main_thread().ident or 0

        def work() -> None:
            told: list[Frame] = []
            while True:
                frames = stack(sys._current_frames().get(main))
                if frames and frames != told:
                    self.write(frames)
                    told = frames
                time.sleep(EVERY)

        self.write([first])
        threading.Thread(target=work, daemon=True, name="notes").start()


def stack(frame: FrameType | None) -> list[Frame]:
    """Where a thread is, without the engine's own frames, outermost first; [] in this module."""
    found: list[Frame] = []
    while frame is not None:
        name = frame.f_code.co_filename
        if name == __file__:
            return []
        if not name.startswith(("<frozen", _HERE)):
            found.append((name, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return found[::-1]


def shared_file(size: int) -> int:
    """A file in memory without a name, so long."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("course")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return fd
