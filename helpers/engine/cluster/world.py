"""The world of a job's ranks: a process group over gloo or NCCL, and the framework's own."""

from __future__ import annotations

import contextlib
import datetime
import os
import socket
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from helpers.engine import worlds
from helpers.engine.cluster.folder import Plan, RunFolder
from helpers.engine.cluster.place import (
    Place,
    address_of,
    first_address,
    interface_to,
    node_address,
    own_address,
)
from helpers.engine.job import DistributedComm
from helpers.engine.real import Recorder

_LOOK = 0.05
_LEAVE = 2.0  # seconds for the others to hear that all have answered


@dataclass(frozen=True)
class World:
    """What `worlds.join_...` asks of a plan, for ranks on several machines."""

    framework: str
    device: str | None
    threads: int
    timeout: float
    interface: str
    addresses: tuple[str, ...]
    store: Any
    here: Place

    def address(self, rank: int) -> str:
        """Where a rank can be reached."""
        return self.addresses[rank]


def join(here: Place, plan: Plan, folder: RunFolder) -> tuple[DistributedComm, World]:
    """Bring this rank's world up. Raises what the frameworks raise where that fails."""
    torch.set_num_threads(plan.threads)
    longest = min(plan.timeout + plan.start_timeout, worlds.LONGEST)
    limit = datetime.timedelta(seconds=longest)
    store, first = meet(here, plan, folder, limit)
    interface = plan.interface or interface_to(first)
    own = address_of(plan.interface) if plan.interface else own_address(first)
    if interface:
        os.environ["GLOO_SOCKET_IFNAME"] = interface
    told = dist.PrefixStore("course", store)
    told.set(f"place {here.rank}", f"{here.node} {own}")
    there = [told.get(f"place {rank}").decode().rsplit(" ", 1) for rank in range(here.size)]
    nodes, addresses = zip(*there, strict=True)
    device, backend = worlds.torch_device(here.local_rank, here.local_size, plan.device)
    if plan.framework != "torch":
        device, backend = torch.device("cpu"), "gloo"
    os.environ.update(
        RANK=str(here.rank),
        LOCAL_RANK=str(here.local_rank),
        WORLD_SIZE=str(here.size),
        LOCAL_WORLD_SIZE=str(here.local_size),
        GROUP_RANK=str(list(dict.fromkeys(nodes)).index(here.node)),
        MASTER_ADDR=first,
        MASTER_PORT=str(store.port),
    )
    dist.init_process_group(
        backend, store=store, rank=here.rank, world_size=here.size, timeout=limit
    )
    world = World(
        plan.framework, plan.device, plan.threads, longest, interface, addresses, told, here
    )
    comm = DistributedComm(here.rank, here.size, device, Recorder(here.rank))
    comm._hosts = nodes
    if plan.framework == "tensorflow":
        comm.device = worlds.join_tensorflow(comm, world)  # type: ignore[arg-type]
    elif plan.framework == "horovod":
        comm.device = join_horovod(comm, world)
    return comm, world


def meet(here: Place, plan: Plan, folder: RunFolder, limit: datetime.timedelta) -> tuple[Any, str]:
    """The store of all ranks, in rank 0's process, and its address, which the folder tells."""
    if here.rank == 0:
        first = address_of(plan.interface) if plan.interface else my_address(here)
        store = dist.TCPStore(first, 0, here.size, True, limit, wait_for_workers=False)
        folder.put("meet", f"{first} {store.port}".encode())
        return store, first
    end = time.monotonic() + plan.start_timeout
    while (told := folder.get("meet")) is None:
        if time.monotonic() > end:
            raise TimeoutError(
                f"Rank 0 did not say within {plan.start_timeout:g} s where it can be reached. Do "
                f"all nodes see the folder {folder.path}?"
            )
        time.sleep(_LOOK)
    first, port = told.decode().split()
    return dist.TCPStore(first, int(port), here.size, False, limit), first


def my_address(here: Place) -> str:
    """Rank 0's own address, by which the other nodes reach it."""
    if here.launcher in ("srun", "ibrun"):
        return node_address(here.node)
    first = first_address()
    if here.launcher == "horovodrun":
        first = here.node
    with contextlib.suppress(OSError):
        return socket.gethostbyname(first)
    return first


def join_horovod(comm: Any, world: Any) -> Any:
    """Horovod's world: the launcher's where `horovodrun` has started the ranks."""
    if world.here.launcher != "horovodrun":
        return worlds.join_horovod(comm, world)
    import horovod.torch as hvd
    from horovod.common import process_sets
    from horovod.torch.mpi_ops import _basics

    process_sets._setup(_basics)  # see worlds.join_horovod
    hvd.init()
    port = worlds.rendezvous(comm)  # a second one, for the TensorFlow binding's own world
    os.environ.update(
        HOROVOD_GLOO_RENDEZVOUS_ADDR=world.address(0), HOROVOD_GLOO_RENDEZVOUS_PORT=str(port)
    )
    return torch.device("cpu")


def wait_for_all(world: World) -> None:
    """Stay until every rank has answered; rank 0, whose process has the store, a little longer."""
    here, store = world.here, world.store
    with contextlib.suppress(Exception):  # the store's end says that all have gone
        store.add("answered", 1)
        while store.add("answered", 0) < here.size:
            time.sleep(_LOOK)
        store.add("left", 1)
        end = time.monotonic() + _LEAVE
        while here.rank == 0 and store.add("left", 0) < here.size and time.monotonic() < end:
            time.sleep(_LOOK)
