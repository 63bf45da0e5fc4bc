"""Sandboxes of an ordinary user: where the tests run as root, some of them run again as nobody."""

from __future__ import annotations

import subprocess
from pathlib import Path

import in_sandbox
import pytest

from tests.ordinary import ROOT, python_as_nobody

pytestmark = [pytest.mark.real, pytest.mark.thorough]

CHOSEN = (
    "nothing_of_the_repository or no_other_process or only_the_two or kernel_settings "
    "or fork_bomb or starter_was_killed"
)


def test_as_an_ordinary_user() -> None:
    in_sandbox.needs_sandbox()
    python = python_as_nobody()
    names = ("test_sandbox.py", "test_sandbox_limits.py", "test_sandbox_end.py")
    files = [str(Path(__file__).with_name(name)) for name in names]
    pytest_words = ["-m", "pytest", "-q", "--all", "-p", "no:cacheprovider", "-k", CHOSEN, *files]
    told = subprocess.run([*python, *pytest_words], cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "6 passed" in told.stdout
