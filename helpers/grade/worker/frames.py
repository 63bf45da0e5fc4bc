"""Messages over a stream socket: four bytes of length, then JSON."""

from __future__ import annotations

import array
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from helpers.checks.encoding import Malformed, loads
from helpers.engine.own_time import LOOK_SECONDS, Limit

MAX_FRAME = 96 * 2**20
MOST_FDS = 64  # in one message
_HEAD = struct.Struct(">I")
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class Closed(ConnectionError):
    """The other side is gone."""


class Frames:
    """Both directions of one socket. Whoever reads with a limit trusts nothing that comes.

    limit: bytes of one message. received: file descriptors that came with messages, in order, for
    the side that takes them; the other side lets the kernel drop them. last: bytes of the last
    message that was read.
    """

    def __init__(self, sock: socket.socket, limit: int = MAX_FRAME, takes_fds: bool = False):
        self.socket, self.limit, self.takes_fds = sock, limit, takes_fds
        self.received: list[int] = []
        self.last = 0
        self._buffer = bytearray()
        # How long was waited for the other side since it was looked at, and at which look that was.
        self._waited = self._looked = 0.0

    def send(self, *messages: Any, fds: tuple[int, ...] = (), limit: Limit | None = None) -> None:
        """Send messages. Raises Closed where nobody is there, Late where they are not taken."""
        bodies = [_ENCODER.encode(message).encode() for message in messages]
        data = memoryview(b"".join(_HEAD.pack(len(body)) + body for body in bodies))
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        while data:
            with self._wait(limit):
                data = data[self.socket.sendmsg([data], ancillary) :]
                ancillary = []

    def read(self, limit: Limit | None = None) -> Any:
        """The next message. limit: of who is to send it. Raises Closed, Late, Malformed."""
        (self.last,) = _HEAD.unpack(self._take(_HEAD.size, limit))
        if self.last > self.limit:
            raise Malformed("a message is too long")
        return loads(self._take(self.last, limit))

    def _take(self, count: int, limit: Limit | None) -> bytes:
        """So many bytes of what has come, or comes."""
        while len(self._buffer) < count:
            with self._wait(limit):
                if self.takes_fds:
                    data, fds, _, _ = socket.recv_fds(self.socket, 1 << 20, MOST_FDS)
                    self.received += fds
                else:
                    data = self.socket.recv(1 << 20)
                if not data:
                    raise Closed
                self._buffer += data
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    @contextmanager
    def _wait(self, limit: Limit | None) -> Iterator[None]:
        """Have a call wait for a moment; without a limit, for as long as it takes."""
        if limit is not None:
            limit.check(self._waited)
            if limit.own.looked != self._looked:
                self._waited, self._looked = 0.0, limit.own.looked
        wanted = None if limit is None else LOOK_SECONDS
        if self.socket.gettimeout() != wanted:
            self.socket.settimeout(wanted)
        begun = time.monotonic()
        try:
            yield
        except TimeoutError:  # nothing has come, or was taken, in this moment
            pass
        except OSError:
            raise Closed from None
        finally:
            self._waited += time.monotonic() - begun

    def take_fd(self) -> int:
        """The first descriptor that has come and was not taken."""
        return self.received.pop(0)

    def close(self) -> None:
        """Close the socket, for who waits at it too, and what came and was not taken."""
        with suppress(OSError):  # the other side is gone
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.drop()

    def drop(self) -> None:
        """Close what came and was not taken."""
        while self.received:
            os.close(self.received.pop())
