"""The two kinds of test: those *without a clock*, and `real` ones.

A test without a clock lives in one process and starts no other. It waits for nobody, so many run
side by side on a busy machine and none of them notices. Whatever starts a process, host, server,
job, sandbox, kernel or browser bears the mark `real`, and runs when no other test does.
Here this is enforced: a test without the mark fails where it, or a fixture of it, starts a process.
What C code starts is not seen, nor what `multiprocessing` spawns (what it forks is).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CLOCKLESS, REAL = "clockless", "real"
# What bears one of these marks is real as well, and what runs on one of these engines.
IMPLIED, ENGINES = ("hosts", "browser"), ("processes", "hosts", "cluster")
# What Python tells of before a process starts, and of which arguments names the program.
STARTS = {
    "subprocess.Popen": 1,
    "os.exec": 0,
    "os.posix_spawn": 0,
    "os.spawn": 1,
    "os.system": 0,
    "os.fork": None,
    "os.forkpty": None,
}
# Programs that libraries ask for a fact, and which answer at once whatever else runs.
HARMLESS = {
    "ldconfig": "ctypes.util.find_library looks for a library",
    "gcc": "the same",
    "ld": "the same",
    "uname": "platform.processor asks which it is",
    "git": "what differs is asked of it; it works on local files and waits for nobody",
}
_test: str | None = None  # the test without a clock that runs now
_started: list[str] = []


def is_real(item: pytest.Item) -> bool:
    """Whether a test may start processes: by a mark, or by what it gets as `engine`."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    return given.get("engine") in ENGINES or any(
        item.get_closest_marker(mark) for mark in (REAL, *IMPLIED)
    )


def add_options(parser: pytest.Parser) -> None:
    """What `./course test` hands over."""
    parser.addoption("--kind", choices=[CLOCKLESS, REAL], help="run one of the two kinds alone")


def choose(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests of the kind that was asked for; of both, those without a clock come first."""
    real = [item for item in items if is_real(item)]
    for item in real:
        item.add_marker(REAL)  # so that pytest's own `-m real` finds them all
    if config.getoption("--kind") == REAL:
        return real
    apart = set(real)
    clockless = [item for item in items if item not in apart]
    return clockless if config.getoption("--kind") == CLOCKLESS else clockless + real


@contextmanager
def watched(item: pytest.Item) -> Iterator[None]:
    """Fail a test without a clock that starts a process in this phase, caught or not."""
    global _test
    if is_real(item):
        yield
        return
    _test = item.nodeid
    _started.clear()
    try:
        yield
    finally:
        _test = None
        if _started:
            pytest.fail(sentence(_started[0]), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Watch a test; and likewise what comes before it and after it."""
    with watched(item):
        return (yield)


pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup


def sentence(what: str) -> str:
    """What somebody is told whose test starts a process."""
    return (
        f"This test starts a process ({what}). Only tests marked `real` may, since they run one at "
        "a time: mark it, or let something stand in for the process."
    )


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse the start of a process while a test without a clock runs."""
    if _test is None or event not in STARTS:
        return
    what = _program(event, arguments)
    if os.path.basename(what) in HARMLESS:
        return
    _started.append(what)
    pytest.fail(sentence(what), pytrace=False)


def _program(event: str, arguments: tuple[Any, ...]) -> str:
    """The program that is about to start, or the event where it is this one again.

    Of `subprocess.Popen`, the arguments: its executable is a shell where there is one.
    """
    place = STARTS[event]
    if place is None:
        return event
    words = arguments[place]
    if isinstance(words, (list, tuple)):
        words = words[0] if words else event
    return os.fsdecode(words)


sys.addaudithook(_hear)
