"""Who ends a process waits for its end, also for that of one that does not end when asked."""

from __future__ import annotations

import contextlib
import io
import socket
import subprocess
from typing import Any

import pytest

from helpers.grade.sandbox.sandbox import Running
from helpers.grade.slots import GRACE, Slot


class Process:
    """One that ends only when it is killed; done: what was done to it, in order."""

    pid = 0

    def __init__(self) -> None:
        self.done: list[str] = []

    def poll(self) -> int | None:
        return -9 if "killed" in self.done else None

    def kill(self) -> None:
        self.done.append("killed")

    def wait(self, seconds: float | None = None) -> int:
        self.done.append("waited for" if seconds is None else f"waited for, {seconds:.0f} s")
        if "killed" not in self.done:
            raise subprocess.TimeoutExpired("process", seconds or 0.0)
        return -9

    def join(self, seconds: float | None = None) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(seconds)


def test_a_slot_has_its_time_to_end_its_sandboxes_and_is_killed_after_it() -> None:
    slot, process = Slot.__new__(Slot), Process()
    slot.process, slot.channel = process, io.BytesIO()  # type: ignore[assignment]
    slot.end(kindly=True)
    assert process.done == [f"waited for, {GRACE:.0f} s", "killed", "waited for"]


def test_a_sandbox_that_does_not_end_by_itself_is_gone_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sandbox, (ours, theirs) = Running.__new__(Running), socket.socketpair()
    process: Any = Process()
    sandbox.process, sandbox._control, sandbox.folder = process, ours, ""
    sandbox._errors = io.BytesIO()
    monkeypatch.setattr(Running, "kill", lambda self: None)
    with theirs:
        sandbox.end()
    assert process.done[-2:] == ["killed", "waited for"]
