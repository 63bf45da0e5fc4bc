"""A socket to a worker that never makes the caller wait: whatever the other side does, or has done.

Messages are as `helpers.engine.wire` sends them, without descriptors. A worker may be killed in
the middle of one, or stopped so that it takes no more: what has come in part stays in part.
"""

from __future__ import annotations

import io
import pickle
import socket
import struct
from typing import Any

from helpers.engine.wire import Pickler

_HEAD = struct.Struct("!QB")
_PIECE = 1 << 18


def packed(value: Any) -> bytes:
    """A value as bytes, also where it is made of a cell's functions and classes, or of tensors."""
    stream = io.BytesIO()
    Pickler(stream, protocol=5).dump(value)
    return stream.getvalue()


class Line:
    """The caller's end. open: until the other side has gone."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.socket, self.open = sock, True
        self._in, self._out = bytearray(), bytearray()

    @property
    def unsent(self) -> bool:
        """Whether something still waits to be taken."""
        return bool(self._out)

    def put(self, message: bytes) -> None:
        """Send a message, as far as the other side takes it now; `flush` sends the rest."""
        self._out += _HEAD.pack(len(message), 0) + message
        self.flush()

    def flush(self) -> None:
        """Send what is left of earlier messages, as far as it is taken."""
        try:
            while self._out:
                del self._out[: self.socket.send(memoryview(self._out)[:_PIECE].tobytes())]
        except BlockingIOError:
            pass
        except OSError:  # it has gone, and reading tells so
            self._out.clear()

    def take(self) -> list[Any]:
        """The messages that have come in whole, also those that a process sent before it died."""
        try:
            while piece := self.socket.recv(_PIECE):
                self._in += piece
            self.open = False
        except BlockingIOError:
            pass
        except OSError:
            self.open = False
        found = []
        while len(self._in) >= _HEAD.size:
            length, _ = _HEAD.unpack_from(self._in)
            end = _HEAD.size + length
            if len(self._in) < end:
                break
            found.append(pickle.loads(bytes(self._in[_HEAD.size : end])))
            del self._in[:end]
        return found

    def close(self) -> None:
        """Close this end: an idle worker ends by that."""
        self.socket.close()
