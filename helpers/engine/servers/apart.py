"""A function in a process of its own, which may die while its rank goes on."""

from __future__ import annotations

import os
import pickle
import signal
import socket
from collections.abc import Callable
from typing import Any, NoReturn

from helpers.engine.errors import death
from helpers.engine.family import die_with_parent
from helpers.engine.rank import origin
from helpers.engine.report import behind
from helpers.engine.servers.job import dumps
from helpers.engine.wire import receive_message, send_message


class Died(Exception):
    """The process is gone. how: "was killed by signal 9 (SIGKILL)"."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class Apart:
    """Calls of a function that a process forked here answers, one after the other.

    Where the function has an attribute `doomed` that is true after a call, its process is killed
    behind that answer.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._line, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            self._line.close()
            answer(fn, theirs)
        theirs.close()

    def __call__(self, *args: Any) -> Any:
        """What the function returns there. Raises Died where its process is gone."""
        try:
            send_message(self._line, dumps(args))
            failed, value = pickle.loads(receive_message(self._line)[0])
        except (EOFError, OSError):
            _, status = os.waitpid(self._pid, 0)
            raise Died(death(os.waitstatus_to_exitcode(status))) from None
        if failed:
            raise RuntimeError(value)
        return value


def answer(fn: Callable[..., Any], line: socket.socket) -> NoReturn:
    """Be that process, until its rank is gone."""
    try:
        die_with_parent()
        while True:
            args = pickle.loads(receive_message(line)[0])
            try:
                said = dumps((False, fn(*args)))
            except BaseException as error:
                said = dumps(
                    (True, behind(origin("in the process that kill= names", error)).strip())
                )
            send_message(line, said)
            if getattr(fn, "doomed", False):
                os.kill(os.getpid(), signal.SIGKILL)
    finally:
        os._exit(1)
