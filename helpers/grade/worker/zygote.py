"""The process in a sandbox from which every submission's process is forked.

It has loaded what submissions use, has one thread and computes nothing, so that a fork is safe
and quick. After a submission it says whether the sandbox is as it was before; if not, the judge
throws the sandbox away. Inside it is process 1: no signal from inside ends it, orphans become its
children, and with it everything ends.

    python -m helpers.grade.worker.zygote CONFIGURATION
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import random
import resource
import shutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from helpers.engine import pages
from helpers.engine.family import adopt_orphans, has_children
from helpers.grade.worker import child

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MESSAGE = 4096
_PR_SET_DUMPABLE = 4
_PR_SET_PDEATHSIG = 1
_GRACE = 0.25  # seconds in which what a submission has ended may still be ending


class Zygote:
    """Forks children on request, ends them, and looks around.

    control: the judge's requests, one a message, as JSON. limits: resource limits of a child, by
    name. scratch: the folders that may be written to.
    """

    def __init__(
        self, control: socket.socket, limits: dict[str, int], scratch: Sequence[str]
    ) -> None:
        self.control, self.limits, self.scratch = control, limits, scratch
        self.children: set[int] = set()
        self.parts = pages.by_parts()
        self.before = self.surroundings()

    def serve(self) -> None:
        """Answer until the judge has gone."""
        while True:
            message, fds, _, _ = socket.recv_fds(self.control, _MESSAGE, 1)
            if not message:
                return
            request = json.loads(message)
            if request["do"] == "fork":
                answer: dict[str, Any] = {"pid": self.fork(fds[0])}
            else:
                answer = {"dirty": self.end(request["pid"])}
            self.control.send(json.dumps(answer).encode())
            if not self.children:
                next(self.parts, None)  # a little for each submission: many sandboxes see but few

    def fork(self, fd: int) -> int:
        """Fork a child that talks over `fd`; returns its number."""
        pid = os.fork()
        if pid == 0:
            be_child(fd, self.limits)
        os.close(fd)
        self.children.add(pid)
        return pid

    def end(self, pid: int) -> str:
        """End a child. Returns what is not as it was before, or "" where all is well."""
        if pid in self.children:
            self.children.discard(pid)
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        if self.children:
            return ""
        limit = time.monotonic() + _GRACE
        while has_children():
            if time.monotonic() > limit:
                return "a process is left"
            time.sleep(0.001)
        now = self.surroundings()
        return next((what for what in now if now[what] != self.before[what]), "")

    def surroundings(self) -> dict[str, Any]:
        """What a submission could leave behind for the next one: the filter of system calls
        refuses what else there is, objects of System V's and changes of this process."""
        return {
            "a file is left": [os.listdir(folder) for folder in self.scratch],
            "a folder is changed": [folder_state(folder) for folder in self.scratch],
        }


def folder_state(folder: str) -> list[Any]:
    """A folder's rights, owner and further attributes."""
    state = os.stat(folder)
    further = os.listxattr(folder) if sys.platform == "linux" else []
    return [state.st_mode, state.st_uid, state.st_gid, *further]


def be_child(fd: int, limits: dict[str, int]) -> NoReturn:
    """Serve one submission over `fd`, with nothing else open."""
    code = 1
    try:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(fd, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        say_nothing()
        os.setsid()
        for ignored in IGNORED:
            signal.signal(ignored, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        lower(limits)
        random.seed(0)  # Python draws a new one after a fork
        child.serve(socket.socket(fileno=3))
        code = 0
    finally:
        os._exit(code)


def say_nothing() -> None:
    """Have the three standard streams lead nowhere, opened anew for this process."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


def lower(limits: dict[str, int]) -> None:
    """Set this process's resource limits; those that the system does not have are left out."""
    for name, value in limits.items():
        if hasattr(resource, name):
            number = getattr(resource, name)
            most = resource.getrlimit(number)[1]
            value = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(number, (value, value))


def seed() -> None:
    """Start every submission with the same random numbers, so that a regrade repeats them."""
    import numpy
    import torch

    numpy.random.seed(0)
    torch.manual_seed(0)


def prctl(option: int, value: int) -> None:
    """Set a property of this process, on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def settle(scratch: Sequence[str], frameworks: Sequence[str]) -> None:
    """Load everything; then nothing of this process can be reached from others of its user."""
    prctl(_PR_SET_DUMPABLE, 0)
    adopt_orphans()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    child.preload(frameworks)
    import helpers.grade.worker.real_ranks  # noqa: F401

    seed()
    for folder in scratch:  # what libraries have left when they were loaded
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    gc.collect()
    gc.freeze()  # keeps the collector from touching, and so copying, pages that children share
    if sys.platform == "linux" and len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("A library has started a thread: a fork would be unsafe.")


def main() -> None:
    """Load, say so, serve."""
    told = json.loads(sys.argv[1])
    try:
        settle(told["scratch"], told["frameworks"])
        with socket.socket(fileno=told["fd"]) as control, contextlib.suppress(ConnectionError):
            zygote = Zygote(control, told["limits"], told["scratch"])
            say_nothing()
            control.send(json.dumps({"ready": True}).encode())
            zygote.serve()
    finally:
        if told["folder"]:
            shutil.rmtree(told["folder"], ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
