"""What rank code sees when it is graded: a comm whose network is the judge.

Every send, receive, barrier and look at the clock goes to the judge, in another process outside
the sandbox, which plays it on its own virtual clock and counts. Between two answers of the judge
no other rank runs, so a run here is as deterministic as on the virtual clock itself.
"""

from __future__ import annotations

import builtins
import contextlib
import math
import mmap
import os
import queue
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from helpers.checks.drives.values import plain, tensors
from helpers.checks.encoding import decode, encode
from helpers.engine import tensors as wire
from helpers.engine.comm import Comm
from helpers.grade.worker.frames import Closed, Frames

_TOGETHER = 64  # messages


def raised(kind: str, text: str) -> Exception:
    """The exception that the judge's side raised, as one of Python's own."""
    known = getattr(builtins, kind, None)
    if isinstance(known, type) and issubclass(known, Exception):
        return known(text)
    return RuntimeError(text)


class Line:
    """One thread's connection to the judge during a call.

    ahead: whether the rank may go on while the judge still plays what it has said. What it does
    then shows to nobody, as long as it shares no memory and has no second thread.
    """

    def __init__(self, frames: Frames) -> None:
        self.frames, self.ahead = frames, True
        self._said: list[dict[str, Any]] = []
        self._ended = False

    def tell(self, op: str, *args: Any) -> None:
        """Say something; it goes out with the next `flush`, or where much has come together."""
        if self._ended:
            raise RuntimeError("This call is over.")
        self._said.append({"op": op, "args": list(args)})
        if len(self._said) >= _TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Send what was said: until the judge answers, no other rank moves anyway."""
        said, self._said = self._said, []
        self.frames.send(*said)

    def answer(self) -> Any:
        """The judge's answer to what was said last. Raises what the judge's side raised."""
        self.flush()
        answer = self.frames.read()
        if "error" in answer:
            raise raised(*answer["error"])
        return answer["value"]

    def over(self, *seen: Any) -> None:
        """The call has returned: say what was seen."""
        self.tell("end", *seen)
        self.flush()
        self._ended = True
        self.frames.drop()


_here = threading.local()  # line: of a communication thread


class HandsOf:
    """Stands for what a driver hands over: each call is made by the judge, by value.

    at_once: whether several threads may call at one time, each over a connection of its own.
    """

    def __init__(self, line: Line, at_once: bool = False) -> None:
        self._line, self._thread = line, threading.get_ident()
        self._free: queue.SimpleQueue[Line] | None = None
        if at_once:
            self._free = queue.SimpleQueue()
            while line.frames.received:
                one = socket.socket(fileno=line.frames.received.pop())
                self._free.put(Line(Frames(one)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any) -> Any:
            if self._free is not None:
                line = self._free.get()
                try:
                    return _handed(line, name, args)
                finally:
                    self._free.put(line)
            line = getattr(_here, "line", self._line)
            if line is self._line and threading.get_ident() != self._thread:
                raise RuntimeError(f"{name} is called by a thread that it does not belong to.")
            return _handed(line, name, args)

        return call


def _handed(line: Line, name: str, args: Sequence[Any]) -> Any:
    """What the judge's side gives for a call of something that is handed over."""
    comms = [place for place, each in enumerate(args) if isinstance(each, Comm)]
    line.tell("hand", name, encode(plain(list(args))), comms)
    return tensors(decode(line.answer()))


class RemoteComm(Comm):
    """One rank of a call. The judge tells its rank and the host of each rank."""

    device = torch.device("cpu")

    def __init__(self, line: Line, rank: int, hosts: Sequence[int]) -> None:
        self.rank, self.size, self._hosts = rank, len(hosts), tuple(hosts)
        self._line = line
        self._number = 0
        self._jobs: queue.SimpleQueue[RemoteCall] | None = None
        self._thread = threading.get_ident()

    def isend(self, tensor: Any, to: int) -> Remote:
        to = self.peer(to, "sends to")
        header, data = wire.snapshot(tensor)
        # No answer is waited for: what can go wrong was looked at here.
        self._tell("isend", self._next(), to, pack(header, data))
        return Remote(self, self._number)

    def irecv(self, source: int, into: Any = None) -> Receive:
        source = self.peer(source, "receives from")
        self._tell("irecv", self._next(), source)
        return Receive(self, self._number, source, into)

    def barrier(self) -> None:
        self.pass_by("barrier")

    def time(self) -> float:
        return float(self.ask("time"))

    def compute(self, seconds: float) -> None:
        seconds = float(seconds)
        if seconds >= 0 and math.isfinite(seconds):
            self.pass_by("compute", encode(seconds))
        else:
            self.ask("compute", encode(seconds), True)  # the judge refuses, with words

    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        buffer = torch.zeros(tuple(shape), dtype=dtype or torch.float32)
        header = wire.describe(buffer)
        self.shares_memory()
        self.ask("shared", list(header.shape), header.dtype)
        fd = self._line.frames.take_fd()
        memory = mmap.mmap(fd, 0)
        os.close(fd)
        count = self.size * buffer.numel()
        if not count:  # which `frombuffer` refuses
            return [buffer.new_empty(buffer.shape) for _ in range(self.size)]
        whole = torch.frombuffer(memory, dtype=buffer.dtype, count=count)
        return list(whole.view(self.size, *buffer.shape).unbind())

    def shares_memory(self) -> None:
        """From now on others see what this rank does at once: it goes on only when it may."""
        self._line.ahead = False

    def background(self, fn: Callable[..., Any], *args: Any) -> RemoteCall:
        if getattr(_here, "line", None) is self._line:
            raise RuntimeError("A function on the communication thread cannot start another there.")
        job = RemoteCall(self, self._next(), fn, args)
        self._line.ahead = False
        self.ask("background", job.number, str(getattr(fn, "__name__", type(fn).__name__)))
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            line = Line(Frames(socket.socket(fileno=self._line.frames.take_fd()), takes_fds=True))
            behind = RemoteComm(line, self.rank, self.hosts)
            threading.Thread(target=behind.work, args=(self._jobs,), daemon=True).start()
        self._jobs.put(job)
        return job

    def work(self, jobs: queue.SimpleQueue[RemoteCall]) -> None:
        """What the communication thread does, until the call ends: each job when the judge says
        so."""
        self._thread, self._line.ahead = threading.get_ident(), False
        _here.line = self._line
        with contextlib.suppress(Closed):
            while True:
                self._line.answer()
                jobs.get().run(self)
                self._line.tell("ended")
        self._line.frames.close()

    def ask(self, op: str, *args: Any) -> Any:
        """Ask the judge."""
        self._tell(op, *args)
        return self._line.answer()

    def pass_by(self, op: str, *args: Any) -> None:
        """Something whose answer says nothing: go on without it where nobody could tell."""
        if self._line.ahead:
            self._tell(op, *args, False)
        else:
            self.ask(op, *args, True)

    def _tell(self, op: str, *args: Any) -> None:
        if threading.get_ident() != self._thread:
            raise RuntimeError(
                f"Rank {self.rank}'s comm is used from elsewhere than where it belongs. A "
                "background function uses the comm that it is given; threads of its own a rank "
                "cannot have."
            )
        self._line.tell(op, *args)

    def _next(self) -> int:
        self._number += 1
        return self._number


class Remote:
    """A communication under way, as rank code sees it."""

    def __init__(self, comm: RemoteComm, number: int) -> None:
        self.comm, self.number = comm, number
        self.waited = False

    def done(self) -> bool:
        """Whether `wait` would return at once."""
        return self.waited or bool(self.comm.ask("done", self.number))

    def wait(self) -> Any:
        """Block until it is done."""
        if not self.waited:
            self.waited = True
            self.comm.pass_by("wait", self.number)


class Receive(Remote):
    """A message asked for."""

    def __init__(self, comm: RemoteComm, number: int, source: int, into: Any) -> None:
        super().__init__(comm, number)
        self.source, self.into = source, into
        self.value: Any = None

    def wait(self) -> Any:
        """The tensor, the same each time. Raises ValueError where it does not fit `into`."""
        if not self.waited:
            self.waited = True
            self._finish(*unpack(self.comm.ask("wait", self.number, True)))
        return self.value

    def _finish(self, header: wire.Header, data: Any) -> None:
        if self.into is None:
            self.value = data
            return
        who = f"Rank {self.comm.rank} cannot receive from rank {self.source} so: rank {self.source}"
        wire.writable(self.into, header, who)
        wire.store(self.into, data)
        self.value = self.into


class RemoteCall(Remote):
    """A function on the communication thread."""

    def __init__(self, comm: RemoteComm, number: int, fn: Callable[..., Any], args: Any) -> None:
        super().__init__(comm, number)
        self.fn, self.args = fn, args
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self, comm: RemoteComm) -> None:
        """Run it, on the communication thread."""
        try:
            self.value = self.fn(comm, *self.args)
        except BaseException as error:  # told by wait(), on the thread that asked for it
            self.error = error

    def wait(self) -> Any:
        """The function's value. Raises what it raised."""
        super().wait()
        if self.error is not None:
            raise self.error
        return self.value


def pack(header: wire.Header, data: Any) -> list[Any]:
    """A message as JSON data: kind, type, shape, and its bytes as an encoded array."""
    _, flat = wire.pack(data)
    return [header.kind, header.dtype, list(header.shape), encode(flat)["array"][2]]


def unpack(message: Any) -> tuple[wire.Header, Any]:
    """A tensor from JSON data, as the judge sends it."""
    kind, dtype, shape, text = message
    flat = decode({"array": ["uint8", [byte_count(text)], text]})
    header = wire.Header(kind, dtype, tuple(shape), len(flat))
    tensor, target = wire.empty(header)
    target[:] = flat
    return header, tensor


def byte_count(text: str) -> int:
    """How many bytes a text in base64 stands for."""
    return len(text) // 4 * 3 - text[-2:].count("=")
