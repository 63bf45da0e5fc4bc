"""A server's state, saved so that a server that is killed at any moment can go on from it.

Two files take turns: a state is written to the one that does not count, and then one number, in
memory that the servers share, says that it does. What only grows (the log, the updates) goes to
the end of a third file, so that saving after every update costs the same each time. The files are
in memory and have no names: they outlive their server and end with the run.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from helpers.engine.servers.parameter_server import Reply, Server
from helpers.engine.servers.slots import Slots
from helpers.engine.wire import Pickler, anonymous_file


class State(NamedTuple):
    """A server between two messages.

    replies: the answers that follow from the last one, which may not have been given yet. taken:
    for each worker, the number of its request that was last taken up.
    """

    server: Server
    replies: list[Reply]
    taken: list[int]


class Known:
    """Functions and classes that every process has by inheritance, as they are forked from one.

    They are saved by number: those of a cell would otherwise be saved whole, each time.
    """

    def __init__(self, values: Any) -> None:
        self.objects: list[Any] = []
        self.numbers: dict[int, int] = {}
        self._open = True
        self.dump(values)
        self._open = False

    def dump(self, value: Any) -> bytes:
        """A value as bytes. Raises what pickling raises."""
        stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
        _Saver(self, stream, protocol=5, buffer_callback=buffers.append).dump(value)
        raws = [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]
        lengths = np.array([len(raws), *(raw.nbytes for raw in raws)], np.int64)
        return b"".join([lengths.tobytes(), *raws])

    def load(self, data: bytearray) -> Any:
        """The value again; its arrays lie in `data`."""
        view = memoryview(data)
        count = int(np.frombuffer(view[:8], np.int64)[0])
        ends: np.ndarray = 8 * (1 + count) + np.cumsum(
            np.frombuffer(view[8 : 8 * (1 + count)], np.int64)
        )
        starts = [8 * (1 + count), *ends[:-1]]
        stream, *buffers = [view[a:b] for a, b in zip(starts, ends, strict=True)]
        return _Loader(self, io.BytesIO(stream), buffers=buffers).load()

    def number(self, obj: Any) -> int | None:
        """The number of a known function or class; at first all that are met become known."""
        if not isinstance(obj, FunctionType | type):
            return None
        if self._open and id(obj) not in self.numbers:
            self.numbers[id(obj)] = len(self.objects)
            self.objects.append(obj)
        return self.numbers.get(id(obj))


class _Saver(Pickler):
    def __init__(self, known: Known, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._known = known

    def persistent_id(self, obj: Any) -> int | None:
        return self._known.number(obj)


class _Loader(pickle.Unpickler):
    def __init__(self, known: Known, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._known = known

    def persistent_load(self, number: Any) -> Any:
        return self._known.objects[number]


class Vault:
    """The files of one server. Made before it is forked; every incarnation uses the same."""

    def __init__(self, number: int, slots: Slots, known: Known) -> None:
        self.number, self.slots, self.known = number, slots, known
        self._sides = (anonymous_file(), anonymous_file())
        self._journal = anonymous_file()
        self._written = (0, 0, 0)  # messages, updates and drops that the journal has

    def close(self) -> None:
        """Give the files back."""
        for fd in (*self._sides, self._journal):
            os.close(fd)

    def save(self, server: Server, replies: Sequence[Reply], taken: Sequence[int]) -> None:
        """Save a server; what was saved before counts until the very end of this."""
        saved, number = self.slots.saved[self.number], self.number
        side = int(self.slots.side[number])
        grown: tuple[list[Any], ...] = (server.log, server.updates, server.dropped)
        new = [rows[start:] for rows, start in zip(grown, self._written, strict=True)]
        entry = pickle.dumps(new, protocol=5)
        end = int(saved[side, 1]) if side >= 0 else 0
        _write(self._journal, entry, end)
        server.log, server.updates, server.dropped = [], [], []
        try:
            state = self.known.dump(State(server, list(replies), [int(n) for n in taken]))
        finally:
            server.log, server.updates, server.dropped = grown
        other = 1 if side == 0 else 0
        _write(self._sides[other], state, 0)
        saved[other] = len(state), end + len(entry), server.rule.version
        self.slots.side[number] = other
        self._written = (len(grown[0]), len(grown[1]), len(grown[2]))

    @property
    def version(self) -> int:
        """How many updates the saved state has; 0 where nothing was saved."""
        side = int(self.slots.side[self.number])
        return int(self.slots.saved[self.number, side, 2]) if side >= 0 else 0

    def load(self) -> State | None:
        """The state that was saved last, None where there is none."""
        side = int(self.slots.side[self.number])
        if side < 0:
            return None
        length, journal, _ = (int(n) for n in self.slots.saved[self.number, side])
        state: State = self.known.load(_read(self._sides[side], length))
        server = state.server
        stream = io.BytesIO(_read(self._journal, journal))
        while stream.tell() < journal:
            log, updates, dropped = pickle.load(stream)
            server.log += log
            server.updates += updates
            server.dropped += dropped
        self._written = (len(server.log), len(server.updates), len(server.dropped))
        return state


def _write(fd: int, data: bytes, start: int) -> None:
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view, start)
        view, start = view[done:], start + done


def _read(fd: int, length: int) -> bytearray:
    data = bytearray()
    while len(data) < length:
        data += os.pread(fd, length - len(data), len(data))
    return data
