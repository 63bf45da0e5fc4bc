"""Rank code inside a job that is already running: the same comm over torch's process group."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from helpers.engine import tensors
from helpers.engine.cluster.place import Place, first_address, interface_to, place, step_port
from helpers.engine.real import BackgroundCall, RealComm, Recorder, by_one_thread, label

_KINDS = ("torch", "numpy", "tensorflow")
_HEADER = 12  # kind, type's name in two words, number of dimensions, dimensions
_MAX_DIMS = _HEADER - 4
_LOOK_SECONDS = 0.2


def comm() -> DistributedComm:
    """This process's rank in the job that `torchrun`, `horovodrun`, `srun` or `ibrun` has started.

    Starts the process group where the script has not, and then knows each rank's node as well
    (`.host`, `.hosts`). Raises RuntimeError outside a job.
    """
    global _nodes
    if not dist.is_initialized():
        here = place()
        if here is None:
            raise RuntimeError(
                "helpers.comm() works inside a running job: start the script with `torchrun "
                "--nproc_per_node=4 script.py`, `srun -n4 python script.py` or `horovodrun -np 4 "
                "python script.py`, or call helpers.run(fn, ranks=4) from a cell."
            )
        _nodes = join(here)
    device = torch.device("cpu")
    if gpus := torch.cuda.device_count():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", dist.get_rank())) % gpus)
        torch.cuda.set_device(device)
    rank = dist.get_rank()
    found = DistributedComm(rank, dist.get_world_size(), device, Recorder(rank))
    found._hosts = _nodes
    return found


_nodes: tuple[str, ...] | None = None  # by rank, where this module has started the process group


def join(here: Place, wanted: str | None = None, limit: timedelta | None = None) -> tuple[str, ...]:
    """Start the process group; returns the name of each rank's node.

    wanted: "cpu" to leave GPUs alone. limit: how long a rank waits for its peers, if not as long
    as torch does by itself.
    """
    if here.launcher == "horovodrun":
        _join_horovod_job(limit)
    else:
        if here.launcher in ("srun", "ibrun"):
            os.environ.update(
                RANK=str(here.rank),
                WORLD_SIZE=str(here.size),
                LOCAL_RANK=str(here.local_rank),
                LOCAL_WORLD_SIZE=str(here.local_size),
                MASTER_ADDR=first_address(),
                MASTER_PORT=str(step_port()),
            )
        _choose_interface(os.environ["MASTER_ADDR"])
        gpus = 0 if wanted == "cpu" else torch.cuda.device_count()
        backend = "cpu:gloo,cuda:nccl" if gpus and gpus >= here.local_size else "gloo"
        dist.init_process_group(backend, timeout=limit)
    names: list[Any] = [None] * here.size
    dist.all_gather_object(names, here.node)
    return tuple(names)


def _choose_interface(first: str) -> None:
    """Have gloo use the interface that leads to the first rank, where nobody has named another."""
    if interface := interface_to(first):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)


def _join_horovod_job(limit: timedelta | None) -> None:
    import socket

    import horovod.torch as hvd

    hvd.init()
    store = None
    address = (socket.gethostbyname(socket.gethostname()), 0)
    if hvd.rank() == 0:
        store = dist.TCPStore(address[0], 0, hvd.size(), True, wait_for_workers=False)
        address = (address[0], store.port)
    address = hvd.broadcast_object(address, 0)
    _choose_interface(address[0])
    if store is None:
        store = dist.TCPStore(address[0], address[1], hvd.size(), False)
    dist.init_process_group(
        "gloo", store=store, rank=hvd.rank(), world_size=hvd.size(), timeout=limit
    )


class DistributedComm(RealComm):
    """A rank that talks over torch.distributed's send and receive: gloo's sockets, or a cluster.

    Each message is a header and, where it is not empty, its data. Tensors on a GPU go by way of
    the host's memory.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        device: Any,
        recorder: Recorder,
        lane: int = 0,
        group: Any = None,
    ) -> None:
        super().__init__(rank, size, device, recorder, lane)
        if group is None and dist.get_backend() == "nccl":
            group = dist.new_group(backend="gloo")
        self.group = group
        self.asked: dict[int, deque[ReceiveRequest]] = defaultdict(deque)

    def on_lane(self, lane: int) -> DistributedComm:
        return DistributedComm(self.rank, self.size, self.device, self.recorder, lane, self.group)

    def wake(self, job: BackgroundCall) -> None:
        threading.Thread(target=self._tell, args=(job,), daemon=True).start()

    def _tell(self, job: BackgroundCall) -> None:
        """A wait inside gloo hears of nothing else: end the rank if its own thread is in one."""
        before = None
        while not job.settled():
            now = self.recorder.waiting(self.lane)
            if now is not None and now == before and job.error is not None:
                self.fail(job.error)
                return
            before = now
            time.sleep(_LOOK_SECONDS)

    @by_one_thread
    def isend(self, tensor: Any, to: int) -> SendRequest:
        to = self.peer(to, "sends to")
        start = time.perf_counter()
        header, data = tensors.pack(tensor)
        if to == self.rank:
            raise ValueError(
                f"Rank {to} sends to itself, which gloo's sockets cannot do: keep your own part."
            )
        payload = torch.from_numpy(data) if data.flags.writeable else torch.tensor(data)
        works = [dist.isend(encode(header), to, self.group, tag=2 * self.lane)]
        if header.nbytes:
            works.append(dist.isend(payload, to, self.group, tag=2 * self.lane + 1))
        self.recorder.sent(header.nbytes, to)
        self.recorder.event("sending", start, label("sending", to), to, header.nbytes, self.lane)
        request = SendRequest(self, to, works, header.nbytes, payload)
        self.open.append(request)
        return request

    @by_one_thread
    def irecv(self, source: int, into: Any = None) -> ReceiveRequest:
        source = self.peer(source, "receives from")
        request = ReceiveRequest(self, source, into)
        self.asked[source].append(request)
        return request

    @by_one_thread
    def barrier(self) -> None:
        start = time.perf_counter()
        self.recorder.waits(self.lane, "barrier")
        # A barrier of messages: dist.barrier() would mix with collectives that the caller runs.
        distance, token, got = 1, torch.zeros(1), torch.zeros(1)
        while distance < self.size:
            after = (self.rank + distance) % self.size
            work = dist.isend(token, after, self.group, tag=8 + self.lane)
            before = (self.rank - distance) % self.size
            dist.recv(got, before, self.group, tag=8 + self.lane)
            if work is not None:
                work.wait()
            distance *= 2
        self.recorder.goes_on(self.lane)
        self.recorder.event("waiting", start, label("barrier"), None, 0, self.lane)

    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        raise RuntimeError(
            "Ranks that talk over sockets have no memory in common: comm.shared works on one "
            'machine, with transport="shared memory".'
        )


class SendRequest:
    """A header and its data on their way."""

    def __init__(
        self, comm: DistributedComm, to: int, works: list[Any], nbytes: int, payload: torch.Tensor
    ) -> None:
        self._comm, self._to, self._works, self._nbytes = comm, to, works, nbytes
        self._payload = payload  # has to live until it has been sent

    def done(self) -> bool:
        """Whether the receiver has taken the message."""
        return not self._works or all(work.is_completed() for work in self._works)

    def wait(self) -> None:
        """Block until the receiver has taken the message."""
        if not self._works:
            return
        comm, start = self._comm, time.perf_counter()
        comm.recorder.waits(comm.lane, "sending", self._to, self._nbytes)
        for work in self._works:
            work.wait()
        self._works = []
        comm.open.remove(self)
        comm.recorder.goes_on(comm.lane)
        name = label("sending", self._to)
        comm.recorder.event("waiting", start, name, self._to, self._nbytes, comm.lane)


class ReceiveRequest:
    """A message asked for; it is taken by `wait()`, after those asked for before it."""

    def __init__(self, comm: DistributedComm, source: int, into: Any) -> None:
        self._comm, self._source, self._into = comm, source, into
        self._words = torch.zeros(_HEADER, dtype=torch.int64)
        self._work: Any = dist.irecv(self._words, source, comm.group, tag=2 * comm.lane)
        self._taken = False
        self._value: Any = None

    def done(self) -> bool:
        """Whether the message has been taken, or has begun to come."""
        return self._taken or bool(self._work.is_completed())

    def wait(self) -> Any:
        """The tensor. Raises ValueError where it does not fit `into`."""
        asked = self._comm.asked[self._source]
        while not self._taken:
            asked.popleft()._take()
        return self._value

    def _take(self) -> None:
        comm, source, start = self._comm, self._source, time.perf_counter()
        comm.recorder.waits(comm.lane, "receiving", source)
        self._work.wait()
        self._taken = True
        header = decode(self._words)

        def fill(target: np.ndarray) -> None:
            if header.nbytes:
                dist.recv(torch.from_numpy(target), source, comm.group, tag=2 * comm.lane + 1)

        who = f"Rank {comm.rank} cannot receive from rank {source} so: rank {source}"
        try:
            self._value = tensors.received(header, self._into, who, comm.device, fill)
        except ValueError:
            fill(tensors.empty(header)[1])  # or it would be read as a header
            raise
        comm.recorder.goes_on(comm.lane)
        name = label("receiving", source)
        comm.recorder.event("waiting", start, name, source, header.nbytes, comm.lane)


def encode(header: tensors.Header) -> torch.Tensor:
    """A header as whole numbers. Raises ValueError for more than 8 dimensions."""
    if len(header.shape) > _MAX_DIMS:
        raise ValueError(f"A message has at most {_MAX_DIMS} dimensions, not {len(header.shape)}.")
    name = np.frombuffer(header.dtype.encode().ljust(16, b"\0"), np.int64)
    dims = [*header.shape, *[0] * (_MAX_DIMS - len(header.shape))]
    return torch.tensor([_KINDS.index(header.kind), *name.tolist(), len(header.shape), *dims])


def decode(words: torch.Tensor) -> tensors.Header:
    """The header that `encode` made into numbers."""
    kind, first, second, count, *dims = words.tolist()
    dtype = np.array([first, second], np.int64).tobytes().rstrip(b"\0").decode()
    shape = tuple(dims[:count])
    width = getattr(torch, dtype).itemsize if _KINDS[kind] == "torch" else np.dtype(dtype).itemsize
    return tensors.Header(_KINDS[kind], dtype, shape, width * int(np.prod(shape, dtype=np.int64)))
