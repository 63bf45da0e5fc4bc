"""TCP connections between ranks on different hosts: one for each pair, direction and lane.

A thread a connection writes what its rank sends, so that sending goes on while the rank computes,
and a thread a connection reads what comes, so that a sender is never held up by a busy receiver.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.engine.hosts.network import Network

Deliver = Callable[[int, int, Any, Any], None]

_FIRST_PORT = 7000
_HELLO = struct.Struct("=II")  # who sends, on which lane
_FRAME = struct.Struct("=QI")  # bytes of data, bytes of what is said about them


class Wires:
    """One rank's connections.

    deliver(source, lane, about, data): called on a reading thread for each message that has come,
    with what the sender said about it and its bytes, a (n,) array of uint8.
    """

    def __init__(self, rank: int, network: Network, deliver: Deliver) -> None:
        self._rank, self._network, self._deliver = rank, network, deliver
        self._writers: dict[tuple[int, int], queue.SimpleQueue[tuple[bytes, Any]]] = {}
        self._listener = socket.create_server(
            (network.address(rank), _FIRST_PORT + rank), backlog=128
        )
        _start(self._accept)

    def send(self, to: int, lane: int, about: Any, data: np.ndarray) -> None:
        """Send bytes to a rank on another host, after those that were sent before on this lane.

        data: (n,) uint8, not to be changed until it has arrived. Returns at once.
        """
        said = pickle.dumps(about, protocol=5)
        writer = self._writers.get((to, lane))
        if writer is None:
            writer = self._writers[to, lane] = queue.SimpleQueue()
            _start(self._write, to, lane, writer)
        writer.put((_FRAME.pack(data.nbytes, len(said)) + said, data))

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
