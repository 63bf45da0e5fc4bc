"""A run of the tests in parts: it notes how each ends, leaves out what passed, and stops in time.

`./course test --all` asks for it: `helpers.commands.parts` has the notes, and begins the next part.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from helpers.commands import parts


def add_options(parser: pytest.Parser) -> None:
    """What `./course test --all` hands over."""
    parser.addoption(
        "--notes", help="note in this folder how each test ends; leave out what passed"
    )
    parser.addoption(
        "--part", type=float, help="stop after the test that is over past these seconds"
    )


def configure(config: pytest.Config) -> None:
    """Note how tests end, where one process hears of all."""
    folder = config.getoption("--notes")
    if folder and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Noting(parts.Notes(Path(folder)), config.getoption("--part")))


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that have not passed yet; all of them are named in the notes."""
    folder = config.getoption("--notes")
    if not folder:
        return items
    notes = parts.Notes(Path(folder))
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
        notes.choose(config.getoption("--kind"), [item.nodeid for item in items])
    before = notes.left_out()
    return [item for item in items if item.nodeid not in before]


class Noting:
    """Notes each test as it ends, and ends a part that lasts long enough."""

    def __init__(self, notes: parts.Notes, seconds: float | None) -> None:
        self.notes = notes
        self.end = time.monotonic() + seconds if seconds is not None else None
        self.ended: dict[str, tuple[str, str]] = {}  # how a test has ended by now, and why
        self.over = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a phase says, and the test after its last one."""
        if report.failed:
            self.ended[report.nodeid] = ("failed", "")
        elif report.skipped and not hasattr(report, "wasxfail"):
            self.ended[report.nodeid] = ("skipped", _why(report))
        if report.when not in ("setup", "call"):  # its last, or the worker that had it is gone
            how, why = self.ended.pop(report.nodeid, ("passed", ""))
            self.notes.note(report.nodeid, how, why)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Begin no further test when the part has lasted long enough."""
        done = yield
        if self.end is not None and time.monotonic() > self.end and nextitem is not None:
            self.over = True
            item.session.shouldstop = "this part is over"
        return done

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell by the exit status that more is to come."""
        if self.over:
            session.exitstatus = parts.MORE


def _why(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")
