"""Messages over a stream socket: four bytes of length, then JSON."""

from __future__ import annotations

import array
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from helpers.checks.encoding import Malformed, loads
from helpers.engine.own_time import LOOK_SECONDS, Late, Limit

MAX_FRAME = 96 * 2**20
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
        self._buffer, self._queued = bytearray(), bytearray()
        # How long was waited for the other side since it was looked at, and at which look that was.
        self._waited = self._looked = 0.0

    def queue(self, message: Any) -> None:
        """Send a message together with the next one."""
        body = _ENCODER.encode(message).encode()
        self._queued += _HEAD.pack(len(body)) + body

    def send(self, message: Any, fds: tuple[int, ...] = (), limit: Limit | None = None) -> None:
        """Send one message. Raises Closed where nobody is there, Late where it is not taken."""
        self.queue(message)
        self.flush(fds, limit)

    @property
    def queued(self) -> int:
        """Bytes that wait to be sent."""
        return len(self._queued)

    def flush(self, fds: tuple[int, ...] = (), limit: Limit | None = None) -> None:
        """Send what is queued. Raises as `send`."""
        data, self._queued = memoryview(self._queued), bytearray()
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        while data:
            try:
                with self._wait(limit):
                    data = data[self.socket.sendmsg([data], ancillary) :]
                ancillary = []
            except Late:
                raise
            except TimeoutError:  # nobody has taken anything yet
                continue
            except OSError:
                raise Closed from None

    def read(self, limit: Limit | None = None) -> Any:
        """The next message. limit: of who is to send it. Raises Closed, Late, Malformed."""
        while len(self._buffer) < _HEAD.size:
            self._fill(limit)
        (length,) = _HEAD.unpack_from(self._buffer)
        if length > self.limit:
            raise Malformed("a message is too long")
        while len(self._buffer) < _HEAD.size + length:
            self._fill(limit)
        body, self.last = bytes(self._buffer[_HEAD.size : _HEAD.size + length]), length
        del self._buffer[: _HEAD.size + length]
        return loads(body)

    def _fill(self, limit: Limit | None) -> None:
        """Take what has come, or what comes within a moment."""
        try:
            with self._wait(limit):
                if self.takes_fds:
                    data, fds, _, _ = socket.recv_fds(self.socket, 1 << 20, 16)
                    self.received += fds
                else:
                    data = self.socket.recv(1 << 20)
        except Late:
            raise
        except TimeoutError:
            return
        except OSError:
            raise Closed from None
        if not data:
            raise Closed
        self._buffer += data

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
        finally:
            self._waited += time.monotonic() - begun

    def close(self) -> None:
        """Close the socket and what came and was not taken."""
        self.socket.close()
        for fd in self.received:
            os.close(fd)
        self.received.clear()
