"""One call of a function in a process of its own, forked from the warm server, without a world."""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from helpers.engine.client import SERVER_GONE, Client, client_for
from helpers.engine.errors import RankDied, RankFailed, RunError, RunInterrupted
from helpers.engine.own_time import LOOK_SECONDS, Limit, OwnTime, descendants
from helpers.engine.plan import Plan, environment
from helpers.engine.wire import (
    Parcel,
    anonymous_file,
    pack_function,
    receive_message,
    unpack_value,
)


def call_apart(fn: Callable[[], Any], framework: str, own_time: float) -> Any:
    """What `fn()` returns, in a process that is gone afterwards. What it prints is not shown.

    own_time: seconds that it may compute, and as many that it may sleep; `own_time.Late` is raised
    behind these, and `own_time.Undecided` where the machine is too busy to tell. Raises RankFailed
    for an exception, RankDied where the process ends, RunError where it cannot be had, and
    TypeError where the function cannot be sent.
    """
    parcel = pack_function(fn, ())
    try:
        while True:
            client = client_for(framework)
            with client.lock:
                if client.alive:  # another thread's run may have taken the server down
                    return _called(client, parcel, own_time)
    finally:
        parcel.close()


def _called(client: Client, parcel: Parcel, own_time: float) -> Any:
    plan = Plan(
        1,
        client.framework,
        "none",
        "cpu",
        1,
        0.0,
        environment(client.given),
        [path or os.getcwd() for path in sys.path],
        os.getcwd(),
        parcel.head,
    )
    ours, theirs = socket.socketpair()
    told = anonymous_file()  # its output and its stack, which nobody reads
    with ours:
        try:
            with theirs:
                (pid,) = _started(client, plan, theirs.fileno(), told, parcel)
            return _answer(client, pid, ours, own_time)
        except KeyboardInterrupt:
            raise RunInterrupted("The call was interrupted.") from None
        finally:
            os.close(told)
            if client.alive:
                client.end()
            else:
                client.destroy()


def _started(client: Client, plan: Plan, control: int, told: int, parcel: Parcel) -> list[int]:
    fds = [told, control, told, told, told if parcel.fd is None else parcel.fd]
    try:
        return client.start(plan, fds)
    except BaseException:
        client.destroy()  # what it would say next nobody knows
        raise


def _answer(client: Client, pid: int, ours: socket.socket, own_time: float) -> Any:
    """Wait for what the function returned. Raises what it raised, and what `call_apart` does."""
    limit = Limit(OwnTime(lambda: descendants(pid)), own_time)
    poll = select.poll()
    for each in (ours, client.socket):
        poll.register(each, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll(1000 * LOOK_SECONDS)}
        if ours.fileno() in ready:
            if (message := _received(ours)) is not None:
                return _taken(*message)
            poll.unregister(ours)
        if client.socket.fileno() in ready:
            try:
                _, code = client.exits()
            except (EOFError, OSError):
                raise RunError(SERVER_GONE) from None
            if (message := _received(ours)) is not None:  # said before it ended
                return _taken(*message)
            raise RankDied(_ended(code))
        limit.check()


def _received(ours: socket.socket) -> tuple[bytes, list[int]] | None:
    """Its answer; None where none has come, or its end."""
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    try:
        return receive_message(ours) if poll.poll(0) else None
    except (EOFError, OSError):
        return None


def _taken(body: bytes, fds: list[int]) -> Any:
    what, head = pickle.loads(body)
    parcel = Parcel(head, fds[0] if fds else None)
    try:
        value = unpack_value(parcel, mapped=False)
    except Exception as error:
        raise RunError(
            "What came back cannot be taken out of its pickle here: "
            f"{type(error).__name__}: {error}."
        ) from error
    finally:
        parcel.close()
    if what == "failure":
        raise RankFailed(f"It raised {value.kind}: {value.message}", 0, value.kind, value.message)
    return value


def _ended(code: int) -> str:
    """How a process has ended, in words."""
    if code >= 0:
        return f"exit code {code}, and no answer."
    name = next((s.name for s in signal.Signals if s == -code), "a real-time signal")
    killed = " Somebody killed it, or the machine ran out of memory."
    return f"it was killed by signal {-code} ({name}).{killed if code == -signal.SIGKILL else ''}"
