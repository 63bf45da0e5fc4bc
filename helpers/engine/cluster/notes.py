"""What a rank is doing, in memory that it shares with its keeper and that outlives it.

The rank writes what its comm does at each step, and up to twenty times a second where in its code
it is. The keeper reads, and so has the last word of a rank that was killed.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import sys
import threading
import time
from types import FrameType
from typing import Any

from helpers.engine.board import LANES, Board
from helpers.engine.places import is_engine
from helpers.engine.wire import anonymous_file

OFTEN, SELDOM = 0.05, 0.5  # seconds; seldom in a rank that waits, which is seen to use no processor
_ROOM = 1 << 15
_MOST = 100  # frames

Frame = tuple[str, int, str]


class Notes:
    """A rank's notes. Make them before the rank's process is forked."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.board = Board(anonymous_file(Board.bytes(size)), size)
        self._memory = mmap.mmap(-1, _ROOM)
        self._frames: list[Frame] = []

    def write(self, frames: list[Frame]) -> None:
        """Say where in its code the rank is, outermost first."""
        data = json.dumps(frames[-_MOST:]).encode() + b"\0"
        if len(data) <= _ROOM:
            self._memory[: len(data)] = data

    def read(self) -> dict[str, Any]:
        """What the rank does, lane by lane, and where it is."""
        with contextlib.suppress(ValueError):  # it is being written: what was read before stands
            self._frames = json.loads(self._memory[:].partition(b"\0")[0] or b"[]")
        lanes = [self.board.read(self.rank, lane) for lane in range(LANES)]
        return {"lanes": lanes, "frames": self._frames}

    def follow(self, fn: Any) -> None:
        """Write down where the main thread is, from now on; it is about to call a function."""
        main = threading.main_thread().ident or 0
        code = getattr(fn, "__code__", None)
        self.write([(code.co_filename, code.co_firstlineno, code.co_name)] if code else [])

        def work() -> None:
            told: list[Frame] = []
            pause = OFTEN
            while True:
                frames = stack(sys._current_frames().get(main))
                pause = min(1.5 * pause, SELDOM)
                if frames and frames != told:
                    self.write(told := frames)
                    pause = OFTEN
                time.sleep(pause)

        threading.Thread(target=work, daemon=True, name="notes").start()


def stack(frame: FrameType | None) -> list[Frame]:
    """Where a thread is, without the engine's own frames, outermost first."""
    found: list[Frame] = []
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith("<frozen") and not is_engine(name):
            found.append((name, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return found[::-1]
