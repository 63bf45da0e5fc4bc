"""What a rank is doing, in memory that it shares with its keeper and that outlives it.

The rank writes what its comm does at each step, and some twenty times a second where in its code it
is. The keeper reads, and so has the last word of a rank that was killed.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import sys
import threading
import time
from types import FrameType
from typing import Any

from helpers.engine.board import LANES, Board
from helpers.engine.wire import anonymous_file

EVERY = 0.05  # seconds
_ROOM = 1 << 15
_MOST = 100  # frames
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep

Frame = tuple[str, int, str]


class Notes:
    """A rank's notes. Make them before the rank's process is forked."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        pages = -(-Board.bytes(size) // mmap.ALLOCATIONGRANULARITY)
        fd = anonymous_file(pages * mmap.ALLOCATIONGRANULARITY + _ROOM)
        self.board = Board(fd, size)
        self._memory = mmap.mmap(fd, _ROOM, offset=pages * mmap.ALLOCATIONGRANULARITY)
        os.close(fd)
        self._frames: list[Frame] = []

    def write(self, frames: list[Frame]) -> None:
        """Say where in its code the rank is, outermost first."""
        data = json.dumps(frames[-_MOST:]).encode() + b"\0"
        if len(data) <= _ROOM:
            self._memory[: len(data)] = data

    def read(self) -> dict[str, Any]:
        """What the rank does, lane by lane, and where it is, for the folder."""
        with contextlib.suppress(ValueError):  # it is being written: what was read before stands
            self._frames = json.loads(self._memory[:].partition(b"\0")[0] or b"[]")
        lanes = [tuple(self.board.read(self.rank, lane)) for lane in range(LANES)]
        return {"lanes": lanes, "frames": self._frames}

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
