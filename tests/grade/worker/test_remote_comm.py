"""The rank's end of a graded call: what its threads leave behind."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

from helpers.grade.worker.frames import Frames
from helpers.grade.worker.remote_comm import Line, RemoteComm

HELD_UP = 0.2  # seconds


class Slow(Line):
    """A line on which the communication thread comes late for every message but the first."""

    def next(self, lane: int) -> Any:
        if lane and self.begun:
            time.sleep(HELD_UP)
        self.begun = self.begun or bool(lane)
        return super().next(lane)

    begun = False


def test_the_communication_thread_ends_with_its_call_and_reads_nothing_of_the_next() -> None:
    ours, theirs = socket.socketpair()
    judge, line = Frames(ours), Slow(Frames(theirs), call=1)
    for message in ({"lane": 0, "value": None}, {"lane": 1, "begin": True}):
        judge.send(message)
    before = set(threading.enumerate())

    RemoteComm(line, rank=0, hosts=[0]).background(lambda comm: None)
    said = {judge.read()["op"], judge.read()["op"]}
    judge.send({"lane": 0, "last": True})
    line.over(None)
    judge.send({"call": 2})

    assert said <= {"background", "ended", "end"}
    assert line.frames.read() == {"call": 2}
    started = set(threading.enumerate()) - before
    for thread in started:
        thread.join(5.0)
    assert not any(thread.is_alive() for thread in started)
    ours.close()
    theirs.close()
