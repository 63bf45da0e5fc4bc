"""A rank on a host: memory to the ranks beside it, its host's link to all others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.engine import tensors
from helpers.engine.comm import NO_COMMON_MEMORY
from helpers.engine.hosts.network import Network
from helpers.engine.hosts.wires import ON_A_WIRE, Post
from helpers.engine.local import Block, LocalComm, Mailbox, SendRequest
from helpers.engine.real import Recorder, by_one_thread, label


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
        return self._post.take(block.start) if file == ON_A_WIRE else super().bytes_of(file, block)

    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        if len(set(self.hosts)) == 1:
            return super().shared(shape, dtype)
        raise RuntimeError(NO_COMMON_MEMORY)
