"""The framework's own world on local ranks: a process group, a Horovod world, or TF_CONFIG."""

from __future__ import annotations

import datetime
import glob
import json
import os
import socket
from collections import Counter
from typing import Any

import numpy as np

from helpers.engine.local import LocalComm
from helpers.engine.plan import Plan


def join(comm: LocalComm, plan: Plan) -> Any:
    """Bring this rank's world up; returns the device on which it computes."""
    return {"torch": join_torch, "tensorflow": join_tensorflow, "horovod": join_horovod}[
        plan.framework
    ](comm, plan)


def take_threads(plan: Plan) -> None:
    """Let the framework compute on as many threads as the plan has, and no more."""
    import torch

    torch.set_num_threads(plan.threads)
    if plan.framework == "tensorflow":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(plan.threads)
        tf.config.threading.set_inter_op_parallelism_threads(max(2, plan.threads))


def tell_all(comm: LocalComm, number: int) -> int:
    """Rank 0's number, on every rank."""
    if comm.rank == 0:
        requests = [comm.isend(np.int64(number), to) for to in range(1, comm.size)]
        for request in requests:
            request.wait()
        return number
    return int(comm.recv(0))


def torch_device(rank: int, size: int, wanted: str | None) -> tuple[Any, str]:
    """The device of a rank and the backend for it.

    NCCL needs a GPU for each rank; where there are fewer, ranks share them under gloo.
    """
    import torch

    gpus = 0 if wanted == "cpu" else torch.cuda.device_count()
    if not gpus:
        return torch.device("cpu"), "gloo"
    device = torch.device("cuda", rank % gpus)
    torch.cuda.set_device(device)
    return device, "cpu:gloo,cuda:nccl" if gpus >= size else "gloo"


LONGEST = 1e8  # seconds that a time-out of torch's may have


def peers_patience(plan: Plan) -> float:
    """Seconds for which a framework waits for a peer: longer than the run, which tells more."""
    return min(10 * plan.timeout + 60, LONGEST)


def join_torch(comm: LocalComm, plan: Plan) -> Any:
    """Set torch's threads and default process group up."""
    import torch.distributed as dist

    take_threads(plan)
    device, backend = torch_device(comm.rank, comm.size, plan.device)
    os.environ["GLOO_SOCKET_IFNAME"] = plan.interface
    limit = datetime.timedelta(seconds=peers_patience(plan))
    store: Any = None
    first, beside = plan.address(0), comm.host_ranks
    if comm.rank == 0:
        store = dist.TCPStore(first, 0, comm.size, True, limit, wait_for_workers=False)
    port = tell_all(comm, store.port if store else 0)
    if comm.rank:
        store = dist.TCPStore(first, port, comm.size, False, limit)
    os.environ.update(
        RANK=str(comm.rank),
        LOCAL_RANK=str(beside.index(comm.rank)),
        WORLD_SIZE=str(comm.size),
        LOCAL_WORLD_SIZE=str(len(beside)),
        GROUP_RANK=str(comm.host),
        MASTER_ADDR=first,
        MASTER_PORT=str(port),
    )
    dist.init_process_group(
        backend, store=store, rank=comm.rank, world_size=comm.size, timeout=limit
    )
    return device


def join_tensorflow(comm: LocalComm, plan: Plan) -> Any:
    """Set TensorFlow's threads up and TF_CONFIG, with a free port for each rank."""
    gpus = 0 if plan.device == "cpu" else len(glob.glob("/dev/nvidia[0-9]*"))
    os.environ["CUDA_VISIBLE_DEVICES"] = str(comm.rank % gpus) if gpus else "-1"

    take_threads(plan)
    addresses = [plan.address(rank) for rank in range(comm.size)]
    found = ports(comm, plan)
    workers = [f"{address}:{port}" for address, port in zip(addresses, found, strict=True)]
    task = {"type": "worker", "index": comm.rank}
    os.environ.update(
        TF_CONFIG=json.dumps({"cluster": {"worker": workers}, "task": task}),
        TF_GRPC_REUSE_PORT="1",
        no_grpc_proxy=",".join(addresses),
    )
    return "/GPU:0" if gpus else "/CPU:0"


def ports(comm: LocalComm, plan: Plan) -> list[int]:
    """A free port for every rank, held for as long as the process lives.

    A port that is free when asked for may be taken a moment later, by a connection of another
    task too. So it is kept bound, and TensorFlow's server shares it.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind((plan.address(comm.rank), 0))
    mine = held.getsockname()[1]
    held.detach()  # stays open until the process ends
    if comm.rank:
        comm.send(np.int64(mine), 0)
        return [int(port) for port in comm.recv(0)]
    found = [mine, *(int(comm.recv(source)) for source in range(1, comm.size))]
    for other in range(1, comm.size):
        comm.send(np.array(found), other)
    return found


def join_horovod(comm: LocalComm, plan: Plan) -> Any:
    """Start Horovod's rendezvous on rank 0, and the world of its torch binding.

    A second rendezvous is left in the environment for whoever calls `init()` of the TensorFlow
    binding: each binding has a world of its own.
    """
    import horovod.torch as hvd
    import torch
    from horovod.common import process_sets
    from horovod.torch.mpi_ops import _basics

    take_threads(plan)
    first, second = rendezvous(comm), rendezvous(comm)
    mine = comm.host_ranks.index(comm.rank)
    across = [r for r in range(comm.size) if comm.hosts[:r].count(comm.hosts[r]) == mine]
    os.environ.update(
        HOROVOD_RANK=str(comm.rank),
        HOROVOD_SIZE=str(comm.size),
        HOROVOD_CROSS_RANK=str(across.index(comm.rank)),
        HOROVOD_LOCAL_RANK=str(mine),
        HOROVOD_LOCAL_SIZE=str(len(comm.host_ranks)),
        HOROVOD_CROSS_SIZE=str(len(across)),
        HOROVOD_CONTROLLER="gloo",
        HOROVOD_CPU_OPERATIONS="gloo",
        HOROVOD_GLOO_IFACE=plan.interface,
        HOROVOD_HOSTNAME=host_name(comm, comm.host),
        HOROVOD_GLOO_RENDEZVOUS_ADDR=plan.address(0),
        HOROVOD_GLOO_RENDEZVOUS_PORT=str(first),
        HOROVOD_GLOO_TIMEOUT_SECONDS=str(int(peers_patience(plan))),
    )
    # Horovod asks the binding that was imported last who is in the world; only torch's is up, and
    # DistributedOptimizer would otherwise average nothing without saying so.
    process_sets._setup(_basics)
    hvd.init()
    os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"] = str(second)
    return torch.device("cpu")  # set-up builds Horovod for the CPU, on a machine with GPUs too


def host_name(comm: LocalComm, host: int) -> str:
    """What Horovod calls a host."""
    return f"host{host}" if len(set(comm.hosts)) > 1 else "localhost"


def rendezvous(comm: LocalComm) -> int:
    """The port of a rendezvous server in rank 0's process."""
    port = 0
    if comm.rank == 0:
        from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
        from horovod.runner.http.http_server import RendezvousServer

        server = RendezvousServer(verbose=0)
        port = server.start()
        counts = Counter(comm.hosts)
        slots = ",".join(f"{host_name(comm, host)}:{counts[host]}" for host in sorted(counts))
        server.init(get_host_assignments(parse_hosts(slots), comm.size))
    return tell_all(comm, port)
