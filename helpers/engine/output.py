"""What ranks print: collected as it comes, shown at once for rank 0, and for all in rank order."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Sequence

_LIMIT = 4 << 20


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
        f"{name} | {line}"
        for name, output in zip(names, outputs, strict=True)
        for line in output.splitlines()
    ]
    if lines:
        print("\n".join(lines), flush=True)
