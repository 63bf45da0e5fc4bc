"""A run of the tests that may be ended: what passes is written down, and left out the next time.

`./course test --all` asks for it. A run that was ended loses the test that ran; what failed, was
skipped or never ran is run by the next one.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


def add_options(parser: pytest.Parser) -> None:
    """What `./course test --all` hands over."""
    parser.addoption("--passed", help="leave out the tests in this file; add those that pass")


def configure(config: pytest.Config) -> None:
    """Note what passes, where one process hears of all."""
    file = config.getoption("--passed")
    if file and not hasattr(config, "workerinput"):
        shutil.copy(file, before(file))
        config.pluginmanager.register(Noting(Path(file)))


def before(file: str) -> Path:
    """What had passed before this run: it stays, so that all workers leave out the same."""
    return Path(f"{file}.before")


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that have not passed yet."""
    file = config.getoption("--passed")
    if not file:
        return items
    passed = set(before(file).read_text(encoding="utf-8").splitlines())
    return [item for item in items if item.nodeid not in passed]


class Noting:
    """Notes each test that has passed, as it ends."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.others: set[str] = set()  # what has failed or was skipped by now

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the test after its last phase."""
        if not report.passed and not hasattr(report, "wasxfail"):
            self.others.add(report.nodeid)
        elif report.when == "teardown" and report.nodeid not in self.others:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\n")
