"""Memory in huge pages: the same bytes, and never an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from helpers.engine.pages import by_parts

data = bytearray(range(256)) * 2**16  # 16 MiB, which malloc maps by itself
before = bytes(data)
count = sum(by_parts())
assert data == before
data[::4096] = bytes(len(data) // 4096)  # it can still be written to
assert data[4096] == 0 and data[4097] == before[4097]
print(count)
"""


@pytest.mark.real
def test_huge_pages_hold_the_same_bytes() -> None:
    # In a process of its own: it moves all the memory that it finds.
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 0
