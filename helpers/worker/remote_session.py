"""A session whose runs are the judge's: several threads of a submission's process may be in one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from helpers.checks.drives.calling import failed, wrong_signature
from helpers.checks.drives.threads import Enough, noting
from helpers.checks.spec import Observation
from helpers.worker.frames import Frames
from helpers.worker.remote_comm import raised


class RemoteSession:
    """Asks the judge for each run and waits for its end; a thread of its own takes the answers."""

    def __init__(self, frames: Frames, call: int) -> None:
        self._frames, self._call = frames, call
        self._waiting: dict[int, queue.SimpleQueue[Any]] = {}
        self._number, self._over, self._lock = 0, False, threading.Lock()
        self.reader = threading.Thread(target=self._deliver, name="messages", daemon=True)
        self.reader.start()

    def run(self, fetches: Any, *_: Any, **__: Any) -> Any:
        """One run, or one after the other."""
        if isinstance(fetches, list | tuple):
            return [self.run(each) for each in fetches]
        mine: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._lock:
            if self._over:
                raise Enough
            self._number += 1
            self._waiting[self._number] = mine
            self._tell("run", self._number, str(fetches)[:100])
        answer = mine.get()
        if answer is None:
            raise Enough
        if "error" in answer:
            kind, text = answer["error"]
            raise Enough if kind == "Enough" else raised(kind, text)
        return answer["value"]

    def tell(self, op: str, *args: Any) -> None:
        """Say something that is no run."""
        with self._lock:
            self._tell(op, *args)

    def _tell(self, op: str, *args: Any) -> None:
        self._frames.send({"call": self._call, "lane": 0, "op": op, "args": list(args)})

    def _deliver(self) -> None:
        while not (message := self._frames.read()).get("last"):
            self._waiting.pop(message["number"]).put(message)
        with self._lock:
            self._over = True
            for mine in self._waiting.values():
                mine.put(None)


def run(fn: Callable[..., Any], frames: Frames, call: int, ops: int, last: int) -> Observation:
    """One case: call the function, say that it has returned, then how its threads have ended."""
    session = RemoteSession(frames, call)
    before = set(threading.enumerate())
    trouble = wrong_signature(fn, 4)
    with noting() as faults:
        if trouble is None:
            try:
                fn(session, [f"update_{i}" for i in range(ops)], "step", last)
            except Enough:
                pass
            except Exception as error:
                trouble = failed(error, fn)
        session.tell("return")
        session.reader.join()
        for thread in threading.enumerate():
            if thread not in before:
                thread.join(1.0)
    fault = next((each for each in faults if isinstance(each, Exception)), None)
    if trouble is None and fault is not None and not isinstance(fault, Enough):
        trouble = failed(fault, fn)
    return trouble or Observation()
