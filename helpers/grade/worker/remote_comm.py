"""What rank code sees when it is graded: a comm whose network is the judge.

Every send, receive, barrier and look at the clock goes to the judge, in another process outside
the sandbox, which plays it on its own virtual clock and counts. Between two answers of the judge
no other rank runs, so a run here is as deterministic as on the virtual clock itself.
"""

from __future__ import annotations

import builtins
import math
import mmap
import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from helpers.checks.drives.values import plain, tensors
from helpers.checks.encoding import decode, encode
from helpers.engine import tensors as wire
from helpers.engine.comm import Comm
from helpers.grade.worker.frames import Frames

_FLUSH = 2**20
_BEHIND = "communication"  # the name of a rank's other thread


def raised(kind: str, text: str) -> Exception:
    """The exception that the judge's side raised, as one of Python's own."""
    known = getattr(builtins, kind, None)
    if isinstance(known, type) and issubclass(known, Exception):
        return known(text)
    return RuntimeError(text)


class Line:
    """The connection to the judge during one call, shared by a rank's two threads.

    A message names its call and its lane: 0 for the rank's own thread, 1 for its communication
    thread. Until there is one, the rank's own thread reads; then a thread of its own does.
    ahead: whether the rank may go on while the judge still plays what it has said. What it does
    then shows to nobody, as long as it shares no memory and has no second thread.
    """

    def __init__(self, frames: Frames, call: int) -> None:
        self.frames, self.call, self.ahead = frames, call, True
        self._answers: dict[int, queue.SimpleQueue[Any]] = {}
        self._ended = False
        self._writing = threading.Lock()

    def tell(self, lane: int, op: str, *args: Any) -> None:
        """Say something; it goes out with the next `flush`, or where much has come together."""
        with self._writing:
            if self._ended:
                raise RuntimeError("This call is over.")
            if self._answers and lane not in self._answers:
                self._answers[lane] = queue.SimpleQueue()
            self.frames.queue({"call": self.call, "lane": lane, "op": op, "args": list(args)})
            if self.frames.queued > _FLUSH:
                self.frames.flush()

    def flush(self) -> None:
        """Send what was said: until the judge answers, no other rank moves anyway."""
        with self._writing:
            self.frames.flush()

    def answer(self, lane: int) -> Any:
        """The judge's answer to what was said last. Raises what the judge's comm raised."""
        self.flush()
        answer = self.next(lane)
        if "error" in answer:
            raise raised(*answer["error"])
        return answer.get("value")

    def next(self, lane: int) -> Any:
        """The next message for a lane."""
        if self._answers:
            return self._answers[lane].get()
        return self.frames.read()

    def share(self) -> None:
        """From now on two threads wait for messages."""
        if not self._answers:
            self._answers = {0: queue.SimpleQueue(), 1: queue.SimpleQueue()}
            threading.Thread(target=self._deliver, name="messages", daemon=True).start()

    def over(self, seen: Any) -> None:
        """The call has returned: say what was seen, and wait for the judge's last word, which ends
        the other threads."""
        self.tell(0, "end", seen)
        with self._writing:
            self._ended = True
            self.frames.flush()
        if self._answers:
            self.next(0)
        while self.frames.received:  # descriptors that nobody took
            os.close(self.frames.received.pop())

    def _deliver(self) -> None:
        while True:
            message = self.frames.read()
            if message.get("last"):
                break
            self._answers[message.get("lane", 0)].put(message)
        for answers in list(self._answers.values()):  # from here on the first thread reads
            answers.put(message)


class HandsOf:
    """Stands for what a driver hands over: each call is made by the judge, by value.

    at_once: whether several threads may call at one time, each on a lane of its own.
    """

    def __init__(self, line: Line, at_once: bool = False) -> None:
        self._line, self._lanes = line, {threading.current_thread(): 0}
        if at_once:
            line.share()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any) -> Any:
            thread = threading.current_thread()
            behind = thread.name == _BEHIND
            lane = 1 if behind else self._lanes.setdefault(thread, 1 + len(self._lanes))
            comms = [place for place, each in enumerate(args) if isinstance(each, Comm)]
            self._line.tell(lane, "hand", name, encode(plain(list(args))), comms)
            return tensors(decode(self._line.answer(lane)))

        return call


class RemoteComm(Comm):
    """One rank of a call. The judge tells its rank and the host of each rank."""

    device = torch.device("cpu")

    def __init__(self, line: Line, rank: int, hosts: Sequence[int], lane: int = 0) -> None:
        self.rank, self.size, self._hosts = rank, len(hosts), tuple(hosts)
        self._line, self._lane = line, lane
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
        fd = self._line.frames.received.pop(0)
        memory = mmap.mmap(fd, 0)
        os.close(fd)
        whole = torch.frombuffer(memory, dtype=buffer.dtype, count=self.size * buffer.numel())
        return list(whole.view(self.size, *buffer.shape).unbind())

    def shares_memory(self) -> None:
        """From now on others see what this rank does at once: it goes on only when it may."""
        self._line.ahead = False

    def background(self, fn: Callable[..., Any], *args: Any) -> RemoteCall:
        if self._lane:
            raise RuntimeError("A function on the communication thread cannot start another there.")
        job = RemoteCall(self, self._next(), fn, args)
        self._line.ahead = False
        self._line.share()
        if self._jobs is None:
            self._jobs = queue.SimpleQueue()
            behind = RemoteComm(self._line, self.rank, self.hosts, lane=1)
            threading.Thread(
                target=behind.work, args=(self._jobs,), name=_BEHIND, daemon=True
            ).start()
        self._jobs.put(job)
        self.ask("background", job.number, str(getattr(fn, "__name__", type(fn).__name__)))
        return job

    def work(self, jobs: queue.SimpleQueue[RemoteCall]) -> None:
        """What the communication thread does: each job when the judge says so."""
        self._thread = threading.get_ident()
        while not self._line.next(1).get("last"):
            jobs.get().run(self)
            self._line.tell(1, "ended")
            self._line.flush()

    def ask(self, op: str, *args: Any) -> Any:
        """Ask the judge on this comm's lane."""
        self._tell(op, *args)
        return self._line.answer(self._lane)

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
        self._line.tell(self._lane, op, *args)

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
