"""The judge's end of the connection to one child: every message looked at, nothing waited for long.

The child belongs to the submission. So a message is a dict of the expected keys or the call is
over: there is no second try and no repair.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from helpers.checks.compare import Other
from helpers.checks.drives.handed import Hands
from helpers.checks.drives.values import plain, tensors
from helpers.checks.encoding import Malformed, decode, encode
from helpers.checks.spec import Observation, Place
from helpers.engine.own_time import Late, Limit, OwnTime, Undecided
from helpers.grade.sandbox import Child
from helpers.grade.worker.frames import Closed, Frames

MAX_MESSAGES = 200_000  # of one call
MAX_CALL_BYTES = 64 * 2**20  # what ranks send and nobody receives, the judge holds
_TROUBLES = ("", "not done", "signature", "failed")  # what only the judge sees is not among them
_ON_REAL_RANKS = (*_TROUBLES, "deadlock", "timeout", "died")
_TEXT = 2000
_MOST = 2**13  # numbers that a function which is handed over is given: it computes with them
_AT_ONCE = 64  # calls that wait at one time


class Violation(Exception):
    """The child said something that a worker never says."""


class Channel:
    """One child's connection. own: the time that the processes of its sandbox take.

    The methods raise Closed where the child is gone, Late where it has taken its time, Undecided
    where the machine was too busy to tell, Violation where it says what cannot be.
    """

    def __init__(self, child: Child) -> None:
        self.child = child
        self.frames = Frames(child.socket)
        self.own = OwnTime(child.processes)
        self.limit = Limit(self.own, 0.0)
        self._sending = threading.Lock()
        self._call = 0
        self._left = 0
        self._bytes = 0

    def begin(self, seconds: float) -> int:
        """A call begins that may take so many seconds; returns its number, which all its messages
        bear."""
        self._call += 1
        self.own.look()
        self.limit = Limit(self.own, seconds)
        self._left, self._bytes = MAX_MESSAGES, MAX_CALL_BYTES
        return self._call

    def send(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        """Send one message, from any thread."""
        with self._sending:
            self.frames.send(message, fds, self.limit)

    def read(self, *keys: str) -> dict[str, Any]:
        """The next message, a dict with at least one of these keys."""
        self._left -= 1
        if self._left < 0:
            raise Violation("too many messages")
        try:
            message = self.frames.read(self.limit)
        except Malformed as error:
            raise Violation(str(error)) from None
        self._bytes -= self.frames.last
        if self._bytes < 0:
            raise Violation("too many bytes")
        if type(message) is not dict or not any(key in message for key in keys):
            raise Violation("a message of another kind")
        return message

    def answer(self, lane: int | None, *keys: str) -> dict[str, Any]:
        """The next message of this call, from one lane; None: from any."""
        message = self.read(*keys)
        call, its_lane = message.get("call"), message.get("lane")
        if call != self._call or its_lane != (its_lane if lane is None else lane):
            raise Violation("a message of another call")
        if type(call) is not int or type(its_lane) is not int:
            raise Violation("a message of another call")
        return message

    def taken(self) -> float:
        """Seconds that the call has taken."""
        return self.limit.look()

    def settle(self) -> float:
        """The same, at the call's end: from then on it has taken nothing."""
        seconds = self.taken()
        self.limit = Limit(self.own, 0.0)
        return seconds


class Lane:
    """One thread of a process during a call: what it asks the judge for, in turn.

    hands: what the driver hands over. lane: 0, or 1 for the communication thread of a rank. comm:
    of that thread; None for an ordinary function.
    """

    requests: ClassVar[dict[str, Callable[..., None]]] = {}

    def __init__(
        self, channel: Channel, hands: Hands | None = None, lane: int = 0, comm: Any = None
    ) -> None:
        self.channel, self.hands, self.lane, self.comm = channel, hands, lane, comm

    def serve(self, last: str = "end") -> list[Any]:
        """Do what the process asks for, up to this word; returns what it says with it."""
        while True:
            message = self.channel.answer(self.lane, "op")
            op, args = message["op"], message.get("args")
            if type(op) is not str or type(args) is not list:
                raise Violation("a request of another kind")
            if op == last:
                return args
            do = self.requests.get(op)
            if do is None or len(args) != do.__code__.co_argcount - 1:
                raise Violation("a request that there is not")
            do(self, *args)

    def answer(self, value: Any, fds: tuple[int, ...] = ()) -> None:
        """Answer the process's last request."""
        self.channel.send({"lane": self.lane, "value": value}, fds)

    def refuse(self, error: Exception) -> None:
        """Answer it with an exception, which is raised there."""
        said = [type(error).__name__, str(error)[:_TEXT]]
        self.channel.send({"lane": self.lane, "error": said})

    def hand(self, name: Any, args: Any, comms: Any) -> None:
        """Call something that is handed over. comms: at these places its comm belongs."""
        try:
            given = decode(args)
        except Malformed as error:
            raise Violation(str(error)) from None
        do = getattr(self.hands, name, None) if type(name) is str and name[:1] != "_" else None
        if (
            not callable(do)
            or name == "noted"
            or type(given) is not list
            or type(comms) is not list
        ):
            raise Violation("nothing of that name is handed over")
        if _numbers(given) > _MOST:
            raise Violation("more numbers than belong here")
        given = [self.comm if place in comms else tensors(each) for place, each in enumerate(given)]
        try:
            value = plain(do(*given))
        except (Late, Closed, Violation):
            raise
        except Exception as error:  # what it says to such arguments
            self.refuse(error)
        else:
            self.answer(encode(value))


Lane.requests = {"hand": Lane.hand}


class Threads(Lane):
    """The threads of an ordinary function: a call that one of them waits for holds up no other."""

    def serve(self, last: str = "end") -> list[Any]:
        """Do what any of them asks for, up to this word of the first one's."""
        assert self.hands is not None
        self.hands.own = lambda: OwnTime(self.channel.child.processes)
        waiting: list[threading.Thread] = []
        try:
            while True:
                message = self.channel.answer(None, "op")
                op, args = message["op"], message.get("args")
                if type(args) is not list or (op != "hand" and (op, message["lane"]) != (last, 0)):
                    raise Violation("a request of another kind")
                if op == last:
                    return args
                if len(args) != 3:
                    raise Violation("a request with other arguments")
                one = OneThread(self.channel, self.hands, message["lane"])
                waiting = [each for each in waiting if each.is_alive()]
                waiting.append(threading.Thread(target=one.hand_over, args=args, daemon=True))
                if len(waiting) > _AT_ONCE:
                    raise Violation("too many calls at one time")
                waiting[-1].start()
        finally:
            self.hands.close()


class OneThread(Lane):
    """One of them, which waits for its call."""

    def hand_over(self, *args: Any) -> None:
        """As `hand`; when the case is over, nobody hears of it."""
        with contextlib.suppress(Late, Closed, Violation, OSError):
            self.hand(*args)


def _numbers(value: Any) -> int:
    """How many numbers and other single things a value holds."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(_numbers, value)) if isinstance(value, list | tuple) else 1


def observed(args: list[Any], rank: int | None = None, real: bool = False) -> Observation:
    """The observation in a child's last word. real: of a run on real ranks. Raises Violation."""
    said = args[0] if len(args) == 1 else None
    if type(said) is not dict or set(said) != {"trouble", "kind", "text", "line", "values"}:
        raise Violation("no observation")
    trouble, line = said["trouble"], said["line"]
    possible = _ON_REAL_RANKS if real else _TROUBLES
    if type(trouble) is not str or trouble not in possible or type(line) is not int:
        raise Violation("no observation")
    return Observation(
        values=_values(said["values"]) if not trouble else [],
        trouble=trouble,  # type: ignore[arg-type]
        kind=_text(said["kind"], 80),
        text=_text(said["text"], _TEXT),
        rank=rank,
        place=Place("", line) if 0 < line < 100_000 else None,
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


def _text(value: Any, length: int) -> str:
    if type(value) is not str:
        raise Violation("no text")
    return value[:length]
