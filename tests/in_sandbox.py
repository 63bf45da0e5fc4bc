"""Run a piece of Python in a sandbox's child and get its value, as a grader's call would."""

from __future__ import annotations

import textwrap
import time
from functools import cache
from typing import Any

import pytest

from helpers.checks.encoding import decode, encode
from helpers.grade.sandbox import Child, Sandbox, missing
from helpers.grade.worker.frames import Frames

SECONDS = 400.0  # ends what hangs
NUMBER = 150  # of the first sandbox of the tests; a grader counts from 0


def needs_sandbox() -> None:
    """Skip where there are no sandboxes here, and say why."""
    if why := missing():
        pytest.skip(why)


@cache
def shared() -> Sandbox:
    """One sandbox for tests that leave it as it was. Skips where there are none here."""
    needs_sandbox()
    return Sandbox(NUMBER, "03")


class Person:
    """A child and the connection to it."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.frames = Frames(child.socket)

    def starts(self, body: str) -> None:
        """Have it run the body of a function, without waiting for what comes of it."""
        source = "def answer():\n" + textwrap.indent(textwrap.dedent(body), "    ")
        cells = {"cells": [source], "functions": ["answer"], "skip": []}
        self.frames.send({"do": "cells", **cells})
        (states,) = self._end()
        assert states == {"answer": "there"}, states
        call = {"drive": "helpers.checks.drives.calling:plain_call", "function": "answer"}
        nothing = {"args": encode([]), "options": encode({}), "at once": False}
        self.frames.send({"do": "call", **call, **nothing})

    def says(self, body: str) -> Any:
        """What the body of a function returns, or the name and the text of what it raises."""
        self.starts(body)
        return self.said()

    def said(self) -> Any:
        """The value of the call that was started. Raises Closed where it has ended instead."""
        (seen,) = self._end()
        if seen["trouble"]:
            return seen["kind"], seen["text"]
        return decode(seen["values"])[0]

    def _end(self) -> Any:
        while True:
            message = self.frames.read()
            if message["op"] == "end":
                return message["args"]


def says(sandbox: Sandbox, body: str) -> Any:
    """What a fresh child says to the body of a function. Ends it."""
    child = sandbox.fork()
    try:
        return Person(child).says(body)
    finally:
        sandbox.end(child)


def gone(pids: list[int]) -> bool:
    """Whether these processes end within the time that a test has."""
    limit = time.monotonic() + SECONDS
    while any(map(alive, pids)):
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
