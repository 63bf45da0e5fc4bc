"""How gradients and weights get from a process into the slot of another: by memory, or by links.

On one machine both look at the same memory. Between hosts, the bytes go over a connection to the
host that the slot belongs to, where a porter puts them in: a process that is there for this alone,
so that it outlives servers and workers.
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from helpers.engine.hosts.namespaces import be_on
from helpers.engine.hosts.network import address
from helpers.engine.rank import die_with_server
from helpers.engine.servers.places import Places
from helpers.engine.servers.slots import Array, Slots, fits, put
from helpers.engine.tensors import memory_of

_PORT = 6900
_LABEL = struct.Struct("=BIIQ")  # which of the slots, server, worker, bytes
PUSHED, GIVEN = 0, 1


class Freight:
    """What one process sends. places: None where all are on one machine; mine: its own host."""

    def __init__(self, slots: Slots, places: Places | None = None, mine: int | None = None) -> None:
        self._slots, self._places, self._mine = slots, places, mine
        self._wires: dict[tuple[int, int], Wire] = {}

    def push(self, worker: int, parts: Sequence[Array]) -> None:
        """Put a worker's parts into every server's slot, over all links at once.

        Raises ValueError where a part has not the slot's shape or type.
        """
        going: list[tuple[Wire, memoryview]] = []
        for server, part in enumerate(parts):
            slot = self._slots.pushed[server][worker]
            what = f"What worker {worker} pushes to server {server}"
            if self._places is None or self._places.servers[server] == self._mine:
                put(slot, part, what)
                continue
            data = bytes_to_send(slot, part, what)
            label = _LABEL.pack(PUSHED, server, worker, len(data))
            wire = self._wire(self._places.servers[server], server)
            wire.start(label)
            going.append((wire, data))
        send_all(going)

    def give(self, server: int, worker: int, weights: Array, then: Callable[[], None]) -> None:
        """Put weights into a worker's slot, and call `then()` once they are there.

        Returns at once; where a link lies between, `then` is called on a thread for this worker.
        """
        slot = self._slots.given[server][worker]
        what = f"What the rule of server {server} gives as weights"
        if self._places is None or self._places.workers[worker] == self._mine:
            put(slot, weights, what)
            then()
            return
        data = bytes_to_send(slot, weights, what, copied=True)
        label = _LABEL.pack(GIVEN, server, worker, len(data))
        host = self._places.workers[worker]

        def deliver() -> None:
            wire = self._wire(host, worker)
            wire.start(label)
            send_all([(wire, data)])
            then()

        threading.Thread(target=deliver, name=f"to worker {worker}", daemon=True).start()

    def _wire(self, host: int, peer: int) -> Wire:
        """The connection to a host for what goes to one of its servers or workers."""
        if (host, peer) not in self._wires:
            self._wires[host, peer] = Wire(host)
        return self._wires[host, peer]


class Wire:
    """A connection to a host's porter."""

    def __init__(self, host: int) -> None:
        self.socket = socket.create_connection((address(host), _PORT))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self, label: bytes) -> None:
        """Say what comes next."""
        self.socket.setblocking(True)
        self.socket.sendall(label, socket.MSG_MORE)
        self.socket.setblocking(False)


def bytes_to_send(slot: Array, array: Array, what: str, copied: bool = False) -> memoryview:
    """An array's bytes. copied: of its own, for an array that changes before they are sent."""
    fits(slot, array, what)
    data = memory_of(array.detach() if hasattr(array, "detach") else np.ascontiguousarray(array))
    return (data.copy() if copied else data).data


def send_all(going: Sequence[tuple[Wire, memoryview]]) -> None:
    """Send over several connections at once, and wait until the porters have all of it."""
    left: Mapping[socket.socket, list[memoryview]] = {w.socket: [data] for w, data in going}
    with selectors.DefaultSelector() as selector:
        for opened in left:
            selector.register(opened, selectors.EVENT_WRITE | selectors.EVENT_READ)
        while selector.get_map():
            for key, events in selector.select():
                wire: Any = key.fileobj
                if events & selectors.EVENT_READ:
                    if not wire.recv(1):
                        raise EOFError("A host's porter has ended.")
                    selector.unregister(wire)
                    continue
                rest = left[wire][0]
                left[wire][0] = rest = rest[wire.send(rest) :]
                if not rest:
                    selector.modify(wire, selectors.EVENT_READ)


# --- the porter of a host -------------------------------------------------------------------------


def be_porter(slots: Slots, host: int, ready: int) -> NoReturn:
    """Put what comes to this host into its slots, until the process is ended.

    ready: a descriptor to write a byte to, once the porter listens.
    """
    try:
        die_with_server()
        be_on(host)
        with socket.create_server((address(host), _PORT), backlog=128) as listener:
            os.write(ready, b"!")
            os.close(ready)
            while True:
                wire, _ = listener.accept()
                threading.Thread(target=unload, args=(slots, wire), daemon=True).start()
    finally:
        os._exit(1)


def unload(slots: Slots, wire: socket.socket) -> None:
    """Take what comes over one connection; a byte back says that it is in its slot."""
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while True:
            label = bytearray(_LABEL.size)
            receive(wire, memoryview(label))
            which, server, worker, nbytes = _LABEL.unpack(label)
            slot = (slots.pushed if which == PUSHED else slots.given)[server][worker]
            receive(wire, memory_of(slot).data[:nbytes])
            wire.sendall(b"!")
    except (EOFError, OSError):
        wire.close()  # whoever sent has ended; its supervisor knows


def receive(wire: socket.socket, target: memoryview) -> None:
    """Fill a piece of memory. Raises EOFError where the connection ends before."""
    while target:
        count = wire.recv_into(target, len(target), socket.MSG_WAITALL)
        if not count:
            raise EOFError
        target = target[count:]
