"""The process of a rank on its node: settle in, bring the world up, run the function, answer."""

from __future__ import annotations

import contextlib
import faulthandler
import linecache
import os
import sys
import threading
import time
from datetime import timedelta
from typing import Any, NoReturn

import torch
import torch.distributed as dist

from helpers.engine import job, worlds
from helpers.engine.chatter import NOISY, keep_apart
from helpers.engine.cluster.folder import Outcome, Plan, RunFolder
from helpers.engine.cluster.notes import Notes
from helpers.engine.cluster.place import Place, address_of
from helpers.engine.rank import describe_failure, pack_answer
from helpers.engine.real import RealComm, Recorder
from helpers.engine.wire import Parcel, pack_value

_STAY = 4.0  # seconds that a rank that failed stays, so that its end is nobody's first news


def be_rank(here: Place, plan: Plan, folder: RunFolder, notes: Notes) -> int:
    """Be one rank of a run; returns the exit status."""
    settle(here, plan, folder)
    recorder = Recorder(here.rank, notes.board)
    once = threading.Lock()  # whoever has it gives the rank's one answer
    span, zero = (0.0, 0.0), 0.0
    comm: RealComm | None = None

    def send(what: str, parcel: Parcel) -> None:
        events = [tuple(getattr(e, name) for name in e.__slots__) for e in recorder.events]
        events = [(r, kind, a - zero, b - zero, *rest) for r, kind, a, b, *rest in events]
        account = (events, dict(recorder.sent_to), recorder.messages, span)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the function may have closed or replaced it
                stream.flush()
        if once.acquire(blocking=False):
            outcome = Outcome(what, here.node, time.time(), account=account)
            folder.put_outcome(here.rank, outcome, parcel)

    def fail(error: BaseException) -> NoReturn:
        others = [each for each in (comm.untold() if comm else []) if each is not error]
        send("failure", pack_value(describe_failure(error, recorder, others)))
        time.sleep(_STAY)
        os._exit(1)

    try:
        comm = join(here, plan)
        comm.fail = fail
        fn, args = folder.value("function", mapped=True)
        comm.barrier()
        # Clocks of different machines have different zeros: all count from the same barrier.
        zero = time.perf_counter()
        comm.recorder = recorder
        recorder.goes_on(0)
        notes.follow(fn)
        value = fn(comm, *args)
        comm.finish()
        span = (0.0, time.perf_counter() - zero)
        recorder.goes_on(0, "returned")
        parcel = pack_answer(here.rank, value)
    except BaseException as error:
        fail(error)
    send("value", parcel)
    comm.recorder = Recorder(here.rank)
    with contextlib.suppress(Exception):  # another has failed, and tells of it itself
        comm.barrier()  # the others may still need this rank's sockets, and its store
    return 0


def settle(here: Place, plan: Plan, folder: RunFolder) -> None:
    """Send output where it belongs, and set the place up in which the function runs."""
    for name, lines in plan.sources.items():
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    output = os.open(folder.file(here.rank, "log"), os.O_WRONLY | os.O_APPEND)
    stack = os.open(folder.file(here.rank, "stack"), os.O_RDWR | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    if plan.framework in NOISY:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        keep_apart(stack, output)
    faulthandler.enable(stack, all_threads=True)
    sys.path[:] = [*plan.path, *(each for each in sys.path if each and each not in plan.path)]
    with contextlib.suppress(OSError):  # it may not be there on this node
        os.chdir(plan.folder)
    sys.setswitchinterval(0.0005)  # the communication thread should not wait 5 ms for its turn


def join(here: Place, plan: Plan) -> RealComm:
    """Bring this rank's world up: the job's, as `helpers.comm` has it, and the framework's own."""
    torch.set_num_threads(plan.threads)
    if plan.interface:
        address_of(plan.interface)  # there has to be one
        os.environ["GLOO_SOCKET_IFNAME"] = plan.interface
    wanted = plan.device if plan.framework == "torch" else "cpu"
    patience = min(plan.timeout + plan.start_timeout, worlds.LONGEST)
    nodes = job.join(here, wanted, timedelta(seconds=patience))
    device, _ = worlds.torch_device(here.local_rank, here.local_size, wanted)
    comm = job.DistributedComm(here.rank, here.size, device, Recorder(here.rank))
    comm._hosts = nodes
    if plan.framework != "torch":
        comm.device = join_framework(here, plan, comm)
    return comm


def join_framework(here: Place, plan: Plan, comm: Any) -> Any:
    """Bring TensorFlow's or Horovod's own world up; returns the rank's device."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "")
    addresses: list[Any] = [""] * here.size
    dist.all_gather_object(addresses, address_of(interface))
    there: Any = plan._replace(interface=interface, addresses=tuple(addresses))
    if plan.framework == "tensorflow":
        return worlds.join_tensorflow(comm, there)
    if here.launcher != "horovodrun":
        return worlds.join_horovod(comm, there)
    port = worlds.rendezvous(comm)  # of a second world, which is for the TensorFlow binding
    os.environ.update(
        HOROVOD_GLOO_RENDEZVOUS_ADDR=addresses[0], HOROVOD_GLOO_RENDEZVOUS_PORT=str(port)
    )
    return torch.device("cpu")
