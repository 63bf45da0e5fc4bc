"""Memory in huge pages: the same bytes, and never an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

from helpers.engine import pages

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


def test_the_lines_of_maps_that_count() -> None:
    private = "7f2c40000000-7f2c60000000 rw-p 00000000 00:00 0"
    heap = "55d0c8a00000-55d0c9e00000 rw-p 00000000 00:00 0                    [heap]"
    stack = "7ffd1c200000-7ffd1c221000 rw-p 00000000 00:00 0                   [stack]"
    shared = "7f2c40000000-7f2c60000000 rw-s 00000000 00:01 1034                /dev/zero (deleted)"
    library = "7f2c70000000-7f2c70200000 rw-p 00100000 08:01 77                 /usr/lib/libc.so.6"
    found = [bool(pages._LINE.fullmatch(line)) for line in (private, heap, stack, shared, library)]
    assert found == [True, True, False, False, False]
