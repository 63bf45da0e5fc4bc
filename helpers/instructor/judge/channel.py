"""The judge's end of the connection to one child: every message looked at, nothing waited for long.

The child belongs to the submission. So a message is a dict of the expected keys or the call is
over: there is no second try and no repair.
"""

from __future__ import annotations

from typing import Any

from helpers.engine.own_time import Limit, OwnTime
from helpers.instructor.sandbox import Child
from helpers.worker.encoding import Malformed
from helpers.worker.frames import Frames

MAX_MESSAGES = 200_000  # of one call
MAX_CALL_BYTES = 64 * 2**20  # what ranks send and nobody receives, the judge holds


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
        """Send one message."""
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

    def answer(self, lane: int, *keys: str) -> dict[str, Any]:
        """The next message of this call, from one lane."""
        message = self.read(*keys)
        if message.get("call") != self._call or message.get("lane") != lane:
            raise Violation("a message of another call")
        if type(message["call"]) is not int or type(message["lane"]) is not int:
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
