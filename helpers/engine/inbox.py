"""The notices that come to a rank from its peers on one machine, over Unix datagrams."""

from __future__ import annotations

import contextlib
import errno
import pickle
import select
import socket
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from helpers.engine.local import SendRequest

_NOTICE_BYTES = 4096


class Asks(Protocol):
    """Who waits for a message."""

    def fill(self, notice: Any) -> None:
        """Take it."""


class Inbox:
    """The notices that come to one lane of a rank, sorted by what they are."""

    def __init__(self, rank: int, sockets: Sequence[tuple[socket.socket, socket.socket]]) -> None:
        self.tokens: set[tuple[int, int]] = set()
        self.windows: dict[tuple[int, int], Any] = {}
        self._arrived: dict[int, deque[Any]] = defaultdict(deque)
        self._asked: dict[int, deque[Asks]] = defaultdict(deque)
        self._sent: dict[int, SendRequest] = {}
        self._unsorted: deque[bytes] = deque()
        self._sorting = False
        self._count = 0
        self._mine = sockets[rank][0]
        self._others = [writer for _, writer in sockets]
        self._own = self._others[rank]

    def ask(self, request: Asks, source: int) -> None:
        """Give a request the oldest message from `source` that nobody has asked for yet."""
        if self._arrived[source]:
            request.fill(self._arrived[source].popleft())
        else:
            self._asked[source].append(request)

    def track(self, request: SendRequest) -> int:
        """A number for a message, to know its receipt by."""
        self._count += 1
        self._sent[self._count] = request
        return self._count

    def post(self, to: int, *notice: Any) -> None:
        """Put a notice into another rank's inbox, reading our own while theirs is full."""
        data = pickle.dumps(notice, protocol=5)
        while True:
            try:
                self._others[to].send(data, socket.MSG_DONTWAIT)
                return
            except (BlockingIOError, OSError) as error:
                if not isinstance(error, BlockingIOError) and error.errno != errno.ENOBUFS:
                    raise
            self.read(block=False)
            select.select([], [self._others[to]], [], 0.001)

    def read(self, block: bool) -> None:
        """Sort the notices that are there; with `block`, wait until there is one."""
        flags = 0 if block else socket.MSG_DONTWAIT
        with contextlib.suppress(BlockingIOError):
            while True:
                self._unsorted.append(self._mine.recv(_NOTICE_BYTES, flags))
                flags = socket.MSG_DONTWAIT
        # Sorting posts receipts, which reads where the other inbox is full: that only collects, or
        # every message would be sorted inside the one before.
        if self._sorting:
            return
        self._sorting = True
        try:
            while self._unsorted:
                self._sort(*pickle.loads(self._unsorted.popleft()))
        finally:
            self._sorting = False

    def wake(self) -> None:
        """From another thread: end a read that blocks. A full inbox does not block."""
        with contextlib.suppress(OSError):
            self._own.send(pickle.dumps(("wake", 0), protocol=5), socket.MSG_DONTWAIT)

    def _sort(self, kind: str, source: int, *rest: Any) -> None:
        if kind == "message" and self._asked[source]:
            self._asked[source].popleft().fill(rest)
        elif kind == "message":
            self._arrived[source].append(rest)
        elif kind == "receipt":
            self._sent.pop(rest[0]).receipt()
        elif kind == "token":
            self.tokens.add((rest[0], source))
        elif kind == "wake":
            return
        else:
            self.windows[rest[0], source] = rest[1:]
