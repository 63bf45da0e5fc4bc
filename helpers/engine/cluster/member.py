"""The process of a rank on its node: settle in, bring the world up, run the function, answer."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import threading
import time
from typing import Any

from helpers.engine.chatter import NOISY, keep_apart
from helpers.engine.cluster.folder import Outcome, Plan, RunFolder
from helpers.engine.cluster.notes import Frame, Notes
from helpers.engine.cluster.place import Place
from helpers.engine.rank import describe_failure, pack_answer
from helpers.engine.real import RealComm, Recorder
from helpers.engine.wire import Parcel, pack_value

_STAY = 4.0  # seconds that a rank that failed stays, so that its end is nobody's first news


def be_rank(here: Place, plan: Plan, folder: RunFolder, notes: Notes) -> int:
    """Be one rank of a run; returns the exit status."""
    from helpers.engine.cluster.world import join, wait_for_all

    stack = settle(here, plan, folder)
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

    def fail(error: BaseException) -> None:
        others = [each for each in (comm.untold() if comm else []) if each is not error]
        send("failure", pack_value(describe_failure(error, recorder, others)))

    def fail_at_once(error: BaseException) -> None:
        fail(error)
        time.sleep(_STAY)
        os._exit(1)

    try:
        comm, world = join(here, plan, folder)
        comm.fail = fail_at_once
        fn, args = folder.parcel_value("function")
        comm.barrier()
        # Clocks of different machines have different zeros: all count from the same barrier.
        zero = time.perf_counter()
        comm.recorder = recorder
        recorder.goes_on(0)
        notes.follow(where_it_begins(fn))
        value = fn(comm, *args)
        comm.finish()
        span = (0.0, time.perf_counter() - zero)
        recorder.goes_on(0, "returned")
        parcel = pack_answer(here.rank, value)
    except BaseException as error:
        fail(error)
        time.sleep(_STAY)
        return 1
    send("value", parcel)
    # The others may still need this rank's sockets, and its store.
    wait_for_all(world)
    os.close(stack)
    return 0


def settle(here: Place, plan: Plan, folder: RunFolder) -> int:
    """Send output where it belongs, and set the place up in which the function runs."""
    for name, lines in plan.sources.items():
        import linecache

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
    return stack


def where_it_begins(fn: Any) -> Frame:
    """The line of a function's definition."""
    code = getattr(fn, "__code__", None)
    name = getattr(fn, "__name__", type(fn).__name__)
    return (code.co_filename, code.co_firstlineno, code.co_name) if code else ("", 0, name)
