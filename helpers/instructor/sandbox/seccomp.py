"""The system calls that a sandbox refuses."""

from __future__ import annotations

import struct


def program() -> bytes:
    """The filter, as the kernel takes it."""
    return struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)
