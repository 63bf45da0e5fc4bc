"""TCP connections between ranks on different hosts: one for each pair, direction and lane.

A thread a connection writes what its rank sends, so that sending goes on while the rank computes,
and a thread a connection reads what comes, so that a sender is never held up by a busy receiver.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import queue
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.engine.board import Board
from helpers.engine.hosts.network import Network
from helpers.engine.local import Mailbox

ON_A_WIRE = -1  # where a notice names the file that holds a message
_FIRST_PORT = 7000
_HELLO = struct.Struct("=II")  # who sends, on which lane
_FRAME = struct.Struct("=QI")  # bytes of data, bytes of what is said about them


class Post:
    """What one rank sends over wires, and what has come for it and has not been taken yet.

    Notices go into the rank's inbox, so that its own thread finds them where it waits for all else.
    board: where it counts both, for whoever wonders why nothing moves.
    """

    def __init__(self, rank: int, network: Network, mailbox: Mailbox, board: Board) -> None:
        self._rank, self._network = rank, network
        self._inboxes = [lane[rank][1] for lane in mailbox.inboxes]
        self._held: dict[int, np.ndarray] = {}
        self._numbers = itertools.count()
        self._counts, self._lock = board.on_links[rank], threading.Lock()
        self._writers: dict[tuple[int, int], queue.SimpleQueue[tuple[bytes, Any]]] = {}
        self._listener = socket.create_server(
            (network.address(rank), _FIRST_PORT + rank), backlog=128
        )
        _start(self._accept)

    def send(self, to: int, lane: int, about: Any, data: np.ndarray) -> None:
        """Send bytes to a rank on another host, after those that were sent before on this lane.

        data: (n,) uint8, not to be changed until it has arrived. Returns at once.
        """
        with self._lock:
            self._counts[0] += 1
        said = pickle.dumps(about, protocol=5)
        writer = self._writers.get((to, lane))
        if writer is None:
            writer = self._writers[to, lane] = queue.SimpleQueue()
            _start(self._write, to, lane, writer)
        writer.put((_FRAME.pack(data.nbytes, len(said)) + said, data))

    def take(self, place: int) -> np.ndarray:
        """The bytes of a message, (n,) uint8, which are the caller's from now on."""
        return self._held.pop(place)

    def _deliver(self, source: int, lane: int, about: Any, data: np.ndarray) -> None:
        """Put a message that has come where it can be taken. Called on a reading thread."""
        fields, number = about
        place = next(self._numbers)
        self._held[place] = data
        notice = ("message", source, fields, number, ON_A_WIRE, (place, 0))
        self._inboxes[lane].send(pickle.dumps(notice, protocol=5))
        with self._lock:
            self._counts[1] += 1

    def _write(
        self, to: int, lane: int, writer: queue.SimpleQueue[tuple[bytes, np.ndarray]]
    ) -> None:
        place = (self._network.address(to), _FIRST_PORT + to)
        with socket.create_connection(place) as wire, contextlib.suppress(OSError):
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire.sendall(_HELLO.pack(self._rank, lane))
            while True:
                frame, data = writer.get()
                wire.sendall(frame, socket.MSG_MORE if data.nbytes else 0)
                if data.nbytes:
                    wire.sendall(data.data)

    def _accept(self) -> None:
        while True:
            _start(self._read, self._listener.accept()[0])

    def _read(self, wire: socket.socket) -> None:
        with wire, contextlib.suppress(EOFError, OSError):  # whoever ended is told of elsewhere
            source, lane = _HELLO.unpack(_exactly(wire, _HELLO.size).data)
            while True:
                nbytes, said = _FRAME.unpack(_exactly(wire, _FRAME.size).data)
                about = pickle.loads(_exactly(wire, said).data)
                self._deliver(source, lane, about, _exactly(wire, nbytes))


def _exactly(wire: socket.socket, nbytes: int) -> np.ndarray:
    """The next bytes of a connection. Raises EOFError where it ends before."""
    got = np.empty(nbytes, np.uint8)
    left = got.data
    while left:
        # One call until all is there: each return to Python would wait for the rank's own thread.
        count = wire.recv_into(left, len(left), socket.MSG_WAITALL)
        if not count:
            raise EOFError
        left = left[count:]
    return got


def _start(fn: Callable[..., None], *args: Any) -> None:
    threading.Thread(target=fn, args=args, name="wire", daemon=True).start()
