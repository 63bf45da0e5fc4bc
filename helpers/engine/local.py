"""Messages between ranks on one machine: data in shared memory, notices over Unix datagrams.

A sender copies a tensor once into a block of its own anonymous file and posts a notice to the
receiver's inbox; the receiver copies it out and posts a receipt. A send is complete with its
receipt, so it waits for the receiver, whatever the size. Nothing has a name: when the last rank
ends, the kernel frees it all.
"""

from __future__ import annotations

import mmap
import os
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from helpers.engine import tensors
from helpers.engine.deadlock import Doing
from helpers.engine.inbox import Inbox
from helpers.engine.real import BackgroundCall, RealComm, Recorder, by_one_thread, label

_PAGE = mmap.PAGESIZE


class Mailbox(NamedTuple):
    """The sockets and files of one run, as they are before the ranks are forked.

    inboxes[lane][rank]: a pair of datagram sockets, (rank reads, others write).
    files[rank]: the descriptor of the file that holds what the rank sends.
    """

    inboxes: list[list[tuple[socket.socket, socket.socket]]]
    files: list[int]

    def close(self) -> None:
        """Close everything here; forked ranks keep theirs."""
        for lane in self.inboxes:
            for reader, writer in lane:
                reader.close()
                writer.close()
        for fd in self.files:
            os.close(fd)


class Block(NamedTuple):
    """A piece of a rank's file: where it starts, how long it is."""

    start: int
    length: int


class Memory:
    """One rank's view of all ranks' files: its own blocks to write, the others' to read."""

    def __init__(self, rank: int, files: Sequence[int]) -> None:
        self._rank = rank
        self._files = files
        self._end = 0
        self._free: list[Block] = []
        self._views: dict[tuple[int, Block], np.ndarray] = {}

    def take(self, nbytes: int) -> Block:
        """A block of this rank's own for so many bytes, used before where one fits."""
        fitting = [b for b in self._free if nbytes <= b.length <= max(4 * nbytes, _PAGE)]
        if fitting:
            block = min(fitting, key=lambda b: b.length)
            self._free.remove(block)
            return block
        length = max(-(-nbytes // _PAGE), 1) * _PAGE
        block = Block(self._end, length)
        self._end += length
        os.ftruncate(self._files[self._rank], self._end)
        return block

    def give_back(self, block: Block) -> None:
        """The receiver has copied it: it may be written again."""
        self._free.append(block)

    def view(self, rank: int, block: Block) -> np.ndarray:
        """A rank's block as bytes, mapped on first use."""
        key = (rank, block)
        if key not in self._views:
            memory = mmap.mmap(self._files[rank], block.length, offset=block.start)
            self._views[key] = np.frombuffer(memory, np.uint8)
        return self._views[key]


class SendRequest:
    """A message on its way. done once its receipt has come."""

    def __init__(self, comm: LocalComm, to: int, block: Block | None, nbytes: int) -> None:
        self._comm, self._to, self._block, self._nbytes = comm, to, block, nbytes
        self.received = False

    def done(self) -> bool:
        """Whether the receiver has taken the message."""
        self._comm.look()
        return self.received

    def wait(self) -> None:
        """Block until the receiver has taken the message."""
        if not self.received:
            self._comm.wait_for(lambda: self.received, "sending", self._to, self._nbytes)

    def receipt(self) -> None:
        """The receiver's word that it has the message."""
        self.received = True
        if self._block is not None:
            self._comm.memory.give_back(self._block)
        self._comm.open.remove(self)


class ReceiveRequest:
    """A message asked for: filled as soon as it has come and its rank looks at its inbox."""

    def __init__(self, comm: LocalComm, source: int, into: Any) -> None:
        self._comm, self._source, self._into = comm, source, into
        self._filled = False
        self._value: Any = None
        self._error: ValueError | None = None

    def fill(self, notice: Any) -> None:
        """Take the tensor out of the message; what goes wrong is told by `wait`."""
        try:
            self._value = self._comm.take(self._source, notice, self._into)
        except ValueError as error:
            self._error = error
        self._filled = True

    def done(self) -> bool:
        """Whether the message has come."""
        self._comm.look()
        return self._filled

    def wait(self) -> Any:
        """The tensor. Raises ValueError where it does not fit `into`."""
        self._comm.wait_for(lambda: self._filled, "receiving", self._source)
        if self._error is not None:
            raise self._error
        return self._value


class LocalComm(RealComm):
    """A rank among processes of one machine."""

    def __init__(
        self, rank: int, size: int, device: Any, recorder: Recorder, mailbox: Mailbox, lane: int = 0
    ) -> None:
        super().__init__(rank, size, device, recorder, lane)
        self._mailbox = mailbox
        # Each lane has a file view of its own; lane 1 allocates from a file of its own too.
        self.memory = Memory(rank + lane * size, mailbox.files)
        self.inbox = Inbox(rank, mailbox.inboxes[lane])
        self._barriers = 0
        self._windows = 0

    def wake(self, job: BackgroundCall) -> None:
        self.inbox.wake()

    def on_lane(self, lane: int) -> LocalComm:
        return LocalComm(self.rank, self.size, self.device, self.recorder, self._mailbox, lane)

    @by_one_thread
    def isend(self, tensor: Any, to: int) -> SendRequest:
        to = self.peer(to, "sends to")
        start = time.perf_counter()
        header, data = tensors.pack(tensor)
        block = self.memory.take(header.nbytes)
        if header.nbytes:
            self.memory.view(self._file, block)[: header.nbytes] = data
        request = SendRequest(self, to, block, header.nbytes)
        self.open.append(request)
        number = self.inbox.track(request)
        self.recorder.sent(header.nbytes, to)
        self.inbox.post(to, "message", self.rank, tuple(header), number, self._file, tuple(block))
        self.recorder.event("sending", start, label("sending", to), to, header.nbytes, self.lane)
        return request

    @by_one_thread
    def irecv(self, source: int, into: Any = None) -> ReceiveRequest:
        source = self.peer(source, "receives from")
        request = ReceiveRequest(self, source, into)
        self.inbox.ask(request, source)
        return request

    @property
    def _file(self) -> int:
        return self.rank + self.lane * self.size

    def take(self, source: int, notice: Any, into: Any) -> Any:
        """Copy a message that has come out of the sender's memory, and post the receipt."""
        fields, number, file, place = notice
        start = time.perf_counter()
        header = tensors.Header(*fields)
        data = self.bytes_of(file, Block(*place))

        def fill(target: np.ndarray) -> None:
            target[:] = data[: header.nbytes]

        who = f"Rank {self.rank} cannot receive from rank {source} so: rank {source}"
        try:
            value = tensors.received(header, into, who, self.device, fill)
        finally:
            self.inbox.post(source, "receipt", self.rank, number)
        name = label("receiving", source)
        self.recorder.event("sending", start, name, source, header.nbytes, self.lane)
        return value

    def bytes_of(self, file: int, block: Block) -> np.ndarray:
        """The block in which a message has come, a (n,) array of uint8."""
        return self.memory.view(file, block)

    @by_one_thread
    def look(self) -> None:
        """Sort what has come, without waiting."""
        self.inbox.read(block=False)

    @by_one_thread
    def wait_for(
        self, ready: Callable[[], bool], doing: Doing, peer: int | None = None, nbytes: int = 0
    ) -> None:
        """Read notices until `ready()`; the trace and the board say what is waited for."""
        self.inbox.read(block=False)
        if ready():
            return
        start = time.perf_counter()
        self.recorder.waits(self.lane, doing, peer, nbytes)
        while not ready():
            self.raise_failed()
            self.inbox.read(block=True)
        self.recorder.goes_on(self.lane)
        self.recorder.event("waiting", start, label(doing, peer), peer, nbytes, self.lane)

    @by_one_thread
    def barrier(self) -> None:
        # Dissemination barrier: after round k everyone has heard of 2^(k+1) ranks.
        distance = 1
        while distance < self.size:
            self._barriers += 1
            token = (self._barriers, (self.rank - distance) % self.size)
            self.inbox.post((self.rank + distance) % self.size, "token", self.rank, token[0])
            self.wait_for(partial(self.inbox.tokens.__contains__, token), "barrier")
            self.inbox.tokens.discard(token)
            distance *= 2

    @by_one_thread
    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        import torch

        shape, dtype = tuple(shape), dtype or torch.float32
        header = tensors.describe(torch.empty(shape, dtype=dtype, device="meta"))
        block = self.memory.take(header.nbytes)
        self.memory.view(self._file, block)[:] = 0
        self._windows += 1
        number = self._windows
        for other in range(self.size):
            self.inbox.post(other, "window", self.rank, number, tuple(header), self._file, block)
        buffers = []
        for rank in range(self.size):
            key = (number, rank)
            self.wait_for(partial(self.inbox.windows.__contains__, key), "shared")
            fields, file, place = self.inbox.windows.pop(key)
            if tensors.Header(*fields) != header:
                raise ValueError(
                    f"Rank {rank} shares {tensors.Header(*fields)} and rank {self.rank} {header}: "
                    "every rank calls comm.shared with the same shape and type."
                )
            view = self.memory.view(file, Block(*place))[: header.nbytes]
            flat = torch.from_numpy(view).view(dtype) if view.size else torch.empty(0, dtype=dtype)
            buffers.append(flat.reshape(shape))
        return buffers
