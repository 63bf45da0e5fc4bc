"""A rank on a host: memory to the ranks beside it, its host's link to all others."""

from __future__ import annotations

import itertools
import pickle
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.engine import tensors
from helpers.engine.blocks import Block
from helpers.engine.board import Board
from helpers.engine.comm import NO_COMMON_MEMORY
from helpers.engine.hosts.network import Network
from helpers.engine.hosts.wires import Wires
from helpers.engine.local import LocalComm, Mailbox, SendRequest
from helpers.engine.real import Recorder, by_one_thread, label

_ON_A_WIRE = -1  # where a notice names the file that holds a message


class Post:
    """What one rank sends over wires, and what has come for it and has not been taken yet.

    Notices go into the rank's inbox, so that its own thread finds them where it waits for all else.
    board: where it counts both, for whoever wonders why nothing moves.
    """

    def __init__(self, rank: int, network: Network, mailbox: Mailbox, board: Board) -> None:
        self._inboxes = [lane[rank][1] for lane in mailbox.inboxes]
        self._held: dict[int, np.ndarray] = {}
        self._numbers = itertools.count()
        self._counts, self._lock = board.on_links[rank], threading.Lock()
        self._wires = Wires(rank, network, self._deliver)

    def send(self, to: int, lane: int, about: Any, data: np.ndarray) -> None:
        """Send bytes to a rank on another host, as `Wires.send` does."""
        with self._lock:
            self._counts[0] += 1
        self._wires.send(to, lane, about, data)

    def _deliver(self, source: int, lane: int, about: Any, data: np.ndarray) -> None:
        fields, number = about
        place = next(self._numbers)
        self._held[place] = data
        notice = ("message", source, fields, number, _ON_A_WIRE, (place, 0))
        self._inboxes[lane].send(pickle.dumps(notice, protocol=5))
        with self._lock:
            self._counts[1] += 1

    def take(self, place: int) -> np.ndarray:
        """The bytes of a message, which are the caller's from now on."""
        return self._held.pop(place)


class HostComm(LocalComm):
    """A rank among the processes of several hosts.

    Only tensors for other hosts cross links. Receipts, barriers and what `shared` agrees on have
    no bytes to speak of and go between all ranks as on one machine.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        device: Any,
        recorder: Recorder,
        mailbox: Mailbox,
        network: Network,
        post: Post,
        lane: int = 0,
    ) -> None:
        super().__init__(rank, size, device, recorder, mailbox, lane)
        self._network, self._post = network, post

    @property
    def hosts(self) -> tuple[int, ...]:
        return self._network.hosts

    def on_lane(self, lane: int) -> HostComm:
        return HostComm(
            self.rank, self.size, self.device, self.recorder, self._mailbox, self._network,
            self._post, lane,
        )  # fmt: skip

    @by_one_thread
    def isend(self, tensor: Any, to: int) -> SendRequest:
        to = self.peer(to, "sends to")
        if self.hosts[to] == self.host:
            return super().isend(tensor, to)
        start = time.perf_counter()
        header, data = tensors.pack(tensor)
        request = SendRequest(self, to, None, header.nbytes)
        self.open.append(request)
        number = self.inbox.track(request)
        self.recorder.sent(header.nbytes, to)
        self._post.send(to, self.lane, (tuple(header), number), data)
        self.recorder.event("sending", start, label("sending", to), to, header.nbytes, self.lane)
        return request

    def bytes_of(self, file: int, block: Block) -> np.ndarray:
        return self._post.take(block.start) if file == _ON_A_WIRE else super().bytes_of(file, block)

    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        if len(set(self.hosts)) == 1:
            return super().shared(shape, dtype)
        raise RuntimeError(NO_COMMON_MEMORY)
