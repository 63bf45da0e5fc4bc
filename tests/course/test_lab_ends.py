"""`./course lab` ends when it is told to, with a request still open too."""

from __future__ import annotations

import asyncio
import threading

import anyio.to_thread
import pytest

from helpers.course.lab import let_threads_end

pytestmark = pytest.mark.real


def waiting() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "AnyIO worker thread"]


def test_a_thread_of_a_request_that_was_cut_off_ends() -> None:
    loop, read = asyncio.new_event_loop(), asyncio.Event()

    async def request() -> None:
        await anyio.to_thread.run_sync(int)
        read.set()
        await asyncio.Event().wait()

    task = loop.create_task(request())
    loop.run_until_complete(read.wait())  # it stops there, as a server's does that is told to end
    left = waiting()
    assert left
    let_threads_end()
    let_threads_end()  # a second time does no harm
    for thread in left:
        thread.join(300)
    assert not waiting()
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
