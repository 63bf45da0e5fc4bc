"""The judge's end of the connections to a child: every message looked at, no long wait for one.

The child belongs to the submission. So a message is of the expected kind or the call is over: there
is no second try and no repair. Each thread of a child that asks for something has a connection of
its own, whose other end the judge gives it.
"""

from __future__ import annotations

import contextlib
import copy
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helpers.checks.compare import Other
from helpers.checks.drives.handed import Hands
from helpers.checks.drives.values import plain, tensors
from helpers.checks.encoding import Malformed, decode, encode
from helpers.checks.spec import Observation, Place
from helpers.engine.own_time import Late, Limit, OwnTime, Undecided
from helpers.grade.sandbox import Child
from helpers.grade.worker.frames import MAX_FRAME, MOST_FDS, Closed, Frames

MAX_MESSAGES = 200_000  # of one call
MAX_CALL_BYTES = 64 * 2**20  # what ranks send and nobody receives, the judge holds
SMALL = 2**20  # bytes of a message with what a function that is handed over is given
OVER = (Late, Closed, Malformed)  # after one of these a call is over
_TROUBLES = ("", "not done", "signature", "failed")  # what only the judge sees is not among them
_ON_REAL_RANKS = (*_TROUBLES, "deadlock", "timeout", "died")
_TEXT = 2000
_MOST = 2**13  # numbers that a function which is handed over is given: it computes with them
NOTHING = object()  # what a request gives that has no answer


@dataclass
class Left:
    """What a call may still take. limit: of its time; None for a thread beside another's."""

    limit: Limit | None
    messages: int = MAX_MESSAGES
    bytes: int = MAX_CALL_BYTES


class Channel:
    """A connection to one child. own: the time that the processes of its sandbox take.

    The methods raise Closed where the child is gone, Late where it has taken its time, Undecided
    where the machine was too busy to tell, Malformed where it says what cannot be.
    """

    def __init__(self, child: Child) -> None:
        self.child, self.frames = child, Frames(child.socket)
        self.own = OwnTime(child.processes)
        self.limit = Limit(self.own, 0.0)
        self.left = Left(self.limit)

    def begin(self, seconds: float) -> None:
        """A call begins that may take so many seconds."""
        self.own.look()
        self.limit = Limit(self.own, seconds)
        self.left = Left(self.limit)

    def beside(self, left: Left, most: int = MAX_FRAME) -> tuple[Channel, socket.socket]:
        """A connection for another thread of a call, and the end that is the child's.

        left: what that thread may take. most: bytes of a message.
        """
        mine, theirs = socket.socketpair()
        made = copy.copy(self)
        made.frames, made.left = Frames(mine, most), left
        return made, theirs

    def send(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        """Send one message."""
        self.frames.send(message, fds=fds, limit=self.left.limit)

    def request(self) -> tuple[str, list[Any]]:
        """What the child asks for next: a name, and arguments."""
        self.left.messages -= 1
        if self.left.messages < 0:
            raise Malformed("too many messages")
        message = self.frames.read(self.left.limit)
        self.left.bytes -= self.frames.last
        if self.left.bytes < 0:
            raise Malformed("too many bytes")
        if type(message) is not dict or message.keys() != {"op", "args"}:
            raise Malformed("a message of another kind")
        if type(message["op"]) is not str or type(message["args"]) is not list:
            raise Malformed("a message of another kind")
        return message["op"], message["args"]

    def settle(self) -> float:
        """Seconds that the call has taken, at its end: from then on it has taken nothing."""
        seconds = self.limit.look()
        self.begin(0.0)
        return seconds


class Lane:
    """One thread of a process during a call: what it asks the judge for, in turn.

    hands: what the driver hands over. comm: a rank's, of this thread. A request whose method
    raises one of Python's own exceptions is answered with that.
    """

    requests: ClassVar[tuple[str, ...]] = ("hand",)

    def __init__(self, channel: Channel, hands: Hands | None = None, comm: Any = None) -> None:
        self.channel, self.hands, self.comm = channel, hands, comm

    def serve(self, last: str = "end") -> list[Any]:
        """Do what the process asks for, up to this word; returns what it says with it."""
        while True:
            op, args = self.channel.request()
            if op == last:
                return args
            do = getattr(self, op) if op in self.requests else None
            if do is None or len(args) != do.__code__.co_argcount - 1:
                raise Malformed("a request of another kind")
            try:
                value = do(*args)
            except OVER:
                raise
            except Exception as error:  # what the course's own functions say to such arguments
                said = [type(error).__name__, str(error)[:_TEXT]]
                self.channel.send({"error": said})
                continue
            if value is not NOTHING:
                self.channel.send({"value": value})

    def hand(self, name: Any, args: Any, comms: Any) -> Any:
        """Call something that is handed over. comms: at these places its comm belongs."""
        given = decode(args)
        do = getattr(self.hands, name, None) if type(name) is str and name[:1] != "_" else None
        if not callable(do) or name == "noted":
            raise Malformed("nothing of that name is handed over")
        if type(given) is not list or type(comms) is not list or _numbers(given) > _MOST:
            raise Malformed("other arguments, or more numbers, than belong here")
        return encode(
            plain(do(*(self.comm if i in comms else tensors(v) for i, v in enumerate(given))))
        )


@contextlib.contextmanager
def threads(channel: Channel, hands: Hands) -> Iterator[tuple[int, ...]]:
    """Serve threads of an ordinary function for as long as a block runs: a call that one of them
    waits for holds up no other. Gives the descriptors that the child needs for them."""
    hands.own = lambda: OwnTime(channel.child.processes)
    both = [channel.beside(Left(None), SMALL) for _ in range(MOST_FDS)]
    for one, _ in both:
        threading.Thread(target=_serve_quietly, args=(Lane(one, hands),), daemon=True).start()
    try:
        yield tuple(theirs.fileno() for _, theirs in both)
    finally:
        hands.close()
        for one, theirs in both:
            theirs.close()
            one.frames.close()


def _serve_quietly(lane: Lane) -> None:
    """Serve a thread until its connection ends, which nobody hears of."""
    with contextlib.suppress(*OVER, OSError):
        lane.serve()


def _numbers(value: Any) -> int:
    """How many numbers and other single things a value holds."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(_numbers, value)) if isinstance(value, list | tuple) else 1


def observed(args: list[Any], rank: int | None = None, real: bool = False) -> Observation:
    """The observation in a child's last word. real: of a run on real ranks. Raises Malformed."""
    said = args[0] if len(args) == 1 else None
    keys = {"trouble", "kind", "text", "line", "values", "written"}
    if type(said) is not dict or set(said) != keys:
        raise Malformed("no observation")
    trouble, kind, text, line = (said[key] for key in ("trouble", "kind", "text", "line"))
    if list(map(type, (trouble, kind, text, line))) != [str, str, str, int]:
        raise Malformed("no observation")
    written = said["written"]
    if written is not None and (type(written) is not int or written < 0):
        raise Malformed("no observation")
    if trouble not in (_ON_REAL_RANKS if real else _TROUBLES):
        raise Malformed("trouble that only the judge sees")
    return Observation(
        values=_values(said["values"]) if not trouble else [],
        trouble=trouble,
        kind=kind[:80],
        text=text[:_TEXT],
        rank=rank,
        place=Place("", line) if 0 < line < 100_000 else None,
        written=written,
    )


def without_end(error: Exception, rank: int | None = None) -> Observation:
    """What is seen of a process whose connection gave this error."""
    if isinstance(error, Undecided):
        return Observation(trouble="not judged", rank=rank)
    if isinstance(error, Late):
        return Observation(trouble="timeout", text=error.how, rank=rank)
    gone = isinstance(error, Closed)
    text = "it was gone before it had answered." if gone else "it sent what no rank sends."
    return Observation(trouble="died", text=text, rank=rank)


def _values(data: Any) -> list[Any]:
    try:
        found = decode(data)
    except Malformed as error:
        return [Other(f"value that cannot be taken: {error}")]
    return found if type(found) is list else [Other("value that cannot be taken")]
