"""The rank's end of a graded call: what its threads leave behind."""

from __future__ import annotations

import socket
import threading

from helpers.grade.worker.frames import Frames
from helpers.grade.worker.remote_comm import Line, RemoteComm


def test_the_communication_thread_ends_with_its_call_and_reads_nothing_of_the_next() -> None:
    ours, theirs = socket.socketpair()
    its_own, behind = socket.socketpair()
    judge, line = Frames(ours), Line(Frames(theirs, takes_fds=True))
    judge.send({"value": None}, fds=(behind.fileno(),))
    Frames(its_own).send({"value": None})
    before = set(threading.enumerate())

    job = RemoteComm(line, rank=0, hosts=[0]).background(lambda comm: 7)
    assert judge.read()["op"] == "background"
    assert Frames(its_own).read() == {"op": "ended", "args": []}
    line.over(None)
    judge.send({"do": "call"})
    its_own.close()

    assert job.value == 7
    assert line.frames.read() == {"do": "call"}
    for thread in set(threading.enumerate()) - before:
        thread.join(60.0)
        assert not thread.is_alive()
    for one in (ours, theirs, behind):
        one.close()
