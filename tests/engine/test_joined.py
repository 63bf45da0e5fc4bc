"""Who ends a thread, or is told of an end, has waited for it."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from helpers.engine.real import CommunicationThread
from helpers.engine.scheduler import Task
from helpers.engine.tf_cluster import until_told


class Ended:
    """A thread, or a message that comes in. waited: how often somebody waited for it."""

    def __init__(self) -> None:
        self.waited = 0

    def join(self, seconds: float | None = None) -> None:
        self.waited += 1

    wait = join

    def done(self) -> bool:
        return False


def test_the_communication_thread_is_gone_when_it_is_closed() -> None:
    one = CommunicationThread(SimpleNamespace())  # type: ignore[arg-type]
    thread, ended = one._thread, Ended()
    one._thread = ended  # type: ignore[assignment]
    one.close()
    assert ended.waited == 1
    thread.join()


def test_a_rank_that_has_left_is_gone_before_anybody_goes_on() -> None:
    task: Any = Task.__new__(Task)
    task._gone, task.thread = threading.Semaphore(1), Ended()
    task.wait_gone(60.0)
    assert task.thread.waited == 1


def test_a_client_that_has_returned_hears_the_end_all_the_same() -> None:
    told = Ended()
    comm: Any = SimpleNamespace(irecv=lambda source: told)
    assert until_told(comm, lambda: "value") == "value"
    assert told.waited == 1
