"""A sandbox as the judge has it: children for it, and a new one whenever one was spoilt."""

from __future__ import annotations

import atexit
import os
import socket
from dataclasses import dataclass

from helpers.instructor.grades import Mode
from helpers.instructor.sandbox.errors import SandboxError
from helpers.instructor.sandbox.limits import LIMITS, Limits
from helpers.instructor.sandbox.running import Running
from helpers.instructor.sandbox.users import user_of
from helpers.instructor.sandbox.watch import WATCH, inside


@dataclass
class Child:
    """A submission's process. socket: the judge's end. pid: its number inside the sandbox.

    generation: which start of the sandbox it belongs to.
    """

    socket: socket.socket
    pid: int
    generation: int
    sandbox: Sandbox

    def processes(self) -> list[int]:
        """The processes of its sandbox, by their numbers outside."""
        return inside(self.sandbox)


class Sandbox:
    """One sandbox; started where it is first needed, and again where it was thrown away.

    number: no other sandbox of this machine has it. Use it in the main thread of a process: with
    that thread, it ends. trouble: why the sandbox of the last child was ended from here: "memory",
    "files" (too many of them), "dirty" or "gone"; "" where it was not. why: what was not as it was
    before, where it is "dirty". starts: how often it was started.
    """

    def __init__(
        self, number: int, lesson: str, mode: Mode = "bubblewrap", limits: Limits = LIMITS
    ) -> None:
        self.number, self.lesson, self.mode, self.limits = number, lesson, mode, limits
        self.trouble = ""
        self.why = ""
        self.starts = 0
        self._running: Running | None = None
        self._children: set[int] = set()
        self._owner = os.getpid()
        atexit.register(self.stop)

    @property
    def pid(self) -> int | None:
        """The process, outside, with which everything in it ends; None where it does not run."""
        return self._running.process.pid if self._running is not None else None

    def prepare(self) -> None:
        """Begin to start it where it does not run; nothing waits for that before `fork` does.

        Raises SandboxError where that cannot even begin.
        """
        if self._running is None:
            uid = user_of(self.number, self.mode)
            self._running = Running(self.lesson, self.mode, self.limits, uid)
            self.starts += 1

    def fork(self) -> Child:
        """A new child. Raises SandboxError where the sandbox does not start."""
        self.why = ""
        for _ in range(2):
            self.prepare()
            assert self._running is not None
            try:
                self._running.ready()
            except SandboxError:
                self.stop()
                raise
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    pid = self._running.ask({"do": "fork"}, theirs.fileno())["pid"]
            except (OSError, ValueError, KeyError):  # somebody ended it between two submissions
                ours.close()
                self.stop()
                continue
            self.trouble = ""
            self._children.add(pid)
            WATCH.add(self)
            return Child(ours, pid, self.starts, self)
        raise SandboxError(
            "The sandbox ends as soon as it has started. Was memory short? `./course doctor` says "
            "what this machine has."
        )

    def end(self, child: Child) -> None:
        """End a child; throw the sandbox away where it is not as it was before.

        A new one then begins to start, for the next child.
        """
        child.socket.close()
        if self._running is None or child.generation != self.starts:
            return
        self._children.discard(child.pid)
        try:
            self.why = self._running.ask({"do": "end", "pid": child.pid})["dirty"]
        except (OSError, ValueError, KeyError):
            self.trouble = self.trouble or "gone"
        if not self._children:
            WATCH.remove(self)
        if self.why:
            self.trouble = self.trouble or "dirty"
        if self.trouble:
            self.stop()
            self.prepare()

    def stop(self) -> None:
        """End everything in it, and return when it is gone. A later fork starts it again."""
        WATCH.remove(self)
        running, self._running = self._running, None
        self._children.clear()
        if running is not None and self._owner == os.getpid():
            running.end()

    def overdone(self, trouble: str) -> None:
        """End everything in it, because of this; from any thread."""
        self.trouble = trouble
        if self._running is not None:
            self._running.kill()
