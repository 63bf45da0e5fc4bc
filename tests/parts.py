"""A run of the tests that may be ended: it notes how each ends, and leaves out what passed before.

`./course test --all` asks for it: `helpers.course.testing.parts` has the notes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.course.testing import parts


def add_options(parser: pytest.Parser) -> None:
    """What `./course test --all` hands over."""
    parser.addoption(
        "--notes", help="note in this folder how each test ends; leave out what passed"
    )


def configure(config: pytest.Config) -> None:
    """Note how tests end, where one process hears of all."""
    folder = config.getoption("--notes")
    if folder and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Noting(parts.Notes(Path(folder))))


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
    """Notes each test as it ends."""

    def __init__(self, notes: parts.Notes) -> None:
        self.notes = notes
        self.ended: dict[str, tuple[str, str]] = {}  # how a test has ended by now, and why

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a phase says, and the test after its last one."""
        if report.failed:
            self.ended[report.nodeid] = ("failed", "")
        elif report.skipped and not hasattr(report, "wasxfail"):
            self.ended[report.nodeid] = ("skipped", _why(report))
        if report.when not in ("setup", "call"):  # its last, or the worker that had it is gone
            how, why = self.ended.pop(report.nodeid, ("passed", ""))
            self.notes.note(report.nodeid, how, why)


def _why(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")
