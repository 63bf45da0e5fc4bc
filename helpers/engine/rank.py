"""What a forked process does to be a rank: settle in, bring the world up, run, answer."""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

from helpers.engine.board import Board
from helpers.engine.chatter import NOISY, keep_apart, shorten
from helpers.engine.family import die_with_parent
from helpers.engine.local import LocalComm, Mailbox
from helpers.engine.plan import Failure, Origin, Plan
from helpers.engine.real import RealComm, Recorder
from helpers.engine.wire import Parcel, pack_value, send_message, unpack_value

_MOST_ORIGINS = 8


def be_rank(rank: int, plan: Plan, fds: list[int], mailbox: Mailbox) -> NoReturn:
    """Be one rank of a run, then wait for the end."""
    code = 1
    try:
        if plan.network is not None:
            from helpers.engine.hosts.namespaces import be_on

            be_on(plan.network.hosts[rank])
        control = settle(rank, plan, fds)
        answer(rank, plan, fds, mailbox, control)
        # The others may still need this rank's memory and sockets: stay until the client ends us.
        control.recv(1)
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def settle(rank: int, plan: Plan, fds: list[int]) -> socket.socket:
    """Make the fork a process of its own: group, signals, output, environment."""
    os.setsid()
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    _, control, output, stack = rank_fds(rank, fds)
    os.dup2(output, 1)
    os.dup2(output, 2)
    keep = {*rank_fds(rank, fds), fds[-1]}
    for fd in fds:
        if fd not in keep:
            os.close(fd)
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    if plan.framework in NOISY:
        keep_apart(stack, output)
    faulthandler.enable(stack, all_threads=True)
    faulthandler.register(signal.SIGUSR1, stack, all_threads=True)
    for name, value in plan.environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    sys.path[:] = plan.path
    os.chdir(plan.folder)
    builtins.input = no_input
    sys.setswitchinterval(0.0005)  # the communication thread should not wait 5 ms for its turn
    return socket.socket(fileno=control)


def no_input(prompt: object = "") -> str:
    """In the place of `input`. Raises EOFError: a rank has no keyboard."""
    raise EOFError(
        "A rank has no keyboard: ask in the cell, and hand the function the answer as an argument."
    )


def rank_fds(rank: int, fds: list[int]) -> tuple[int, int, int, int]:
    """The descriptors of one rank: board, control, output, stack."""
    control, output, stack = fds[1 + 3 * rank : 4 + 3 * rank]
    return fds[0], control, output, stack


def answer(rank: int, plan: Plan, fds: list[int], mailbox: Mailbox, control: socket.socket) -> None:
    """Run the function and send what it returned, or what it raised."""
    from helpers.engine import worlds

    board = Board(fds[0], plan.size)
    recorder = Recorder(rank, board)
    span, me = (0.0, 0.0), os.getpid()
    comm: RealComm | None = None
    once = threading.Lock()  # whoever has it gives the rank's one answer

    def send(what: str, parcel: Parcel) -> None:
        events = [tuple(getattr(e, name) for name in e.__slots__) for e in recorder.events]
        account = (events, dict(recorder.sent_to), recorder.messages, span)
        body = pickle.dumps((what, parcel.head, account), protocol=5)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the function may have closed or replaced it
                stream.flush()
        if once.acquire(blocking=False):
            send_message(control, body, () if parcel.fd is None else (parcel.fd,))

    def fail(error: BaseException) -> None:
        others = [each for each in (comm.untold() if comm else []) if each is not error]
        send("failure", pack_value(describe_failure(error, recorder, others)))

    try:
        if plan.transport == "none":
            worlds.take_threads(plan)
        else:
            comm = make_comm(rank, plan, mailbox, recorder, board)
            comm.fail = fail
        fn, args = unpack_value(Parcel(plan.head, fds[-1]))
        recorder.goes_on(0)
        start = time.perf_counter()
        if comm is None:
            value = fn(*args)
        else:
            value = fn(comm, *args)
            comm.finish()
        span = (start, time.perf_counter())
        recorder.goes_on(0, "returned")
        parcel = pack_answer(rank, value)
    except BaseException as error:
        if os.getpid() != me:
            end_child(error)
        return fail(error)
    if os.getpid() != me:
        end_child(None)
    return send("value", parcel)


def end_child(error: BaseException | None) -> NoReturn:
    """End a process that the function has forked and that came back: the answer is its parent's."""
    code = 0
    if isinstance(error, SystemExit) and isinstance(error.code, int | None):
        code = error.code or 0
    elif error is not None:
        traceback.print_exception(error)
        code = 1
    os._exit(code)


def pack_answer(rank: int, value: Any) -> Parcel:
    """Pickle what the function returned, or say what cannot be returned."""
    try:
        return pack_value(value)
    except Exception as error:
        raise TypeError(
            f"Rank {rank} returned a {type(value).__name__} that cannot be sent back ({error}). "
            "Return numbers, tensors, or containers of them."
        ) from None


def make_comm(
    rank: int, plan: Plan, mailbox: Mailbox, recorder: Recorder, board: Board
) -> RealComm:
    """Bring up the framework's world and the comm for it.

    The set-up talks over the same comm, with a recorder that nobody reads.
    """
    from helpers.engine import worlds

    comm: LocalComm = LocalComm(rank, plan.size, None, Recorder(rank), mailbox)
    if plan.network is not None:
        from helpers.engine.hosts.comm import HostComm, Post

        post = Post(rank, plan.network, mailbox, board)
        comm = HostComm(rank, plan.size, None, Recorder(rank), mailbox, plan.network, post)
        comm.barrier()  # all listen now
    comm.device = worlds.join(comm, plan)
    comm.barrier()
    comm.recorder = recorder
    if plan.transport == "sockets":
        from helpers.engine.job import DistributedComm

        return DistributedComm(rank, plan.size, comm.device, recorder)
    return comm


def describe_failure(
    error: BaseException, recorder: Recorder | None = None, others: Sequence[BaseException] = ()
) -> Failure:
    """An exception in plain parts, its frames without the engine's own.

    others: what background functions have raised besides.
    """
    shorten(error)
    frames = traceback.extract_tb(error.__traceback__)
    while frames and frames[0].filename == __file__:
        frames.pop(0)
    last = recorder.events[-1] if recorder and recorder.events else None
    doing = f"after: {last.label}" if last else ""
    try:
        message = str(error)
    except Exception as another:
        message = f"(its text cannot be made: {type(another).__name__})"
    behind = origins(error)
    for other in others:
        behind += [origin("A background function raised too", other), *origins(other)]
    return Failure(type(error).__name__, message, frames, behind, doing)


def origin(how: str, error: BaseException) -> Origin:
    """An exception behind another, in plain parts."""
    text = "".join(traceback.format_exception_only(error)).strip()
    return Origin(how, text, traceback.extract_tb(error.__traceback__))


def origins(error: BaseException) -> list[Origin]:
    """What an exception came of, and what a group of exceptions holds, the nearest first."""
    found: list[Origin] = []
    seen, todo = {id(error)}, deque([error])
    while todo and len(found) < _MOST_ORIGINS:
        error = todo.popleft()
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        behind = [("It came of", cause)] if cause else []
        behind += [("The group holds", held) for held in getattr(error, "exceptions", ())]
        for how, other in behind:
            if isinstance(other, BaseException) and id(other) not in seen:
                seen.add(id(other))
                todo.append(other)
                found.append(origin(how, other))
    return found
