"""What the ranks of one run are told, and what an exception of theirs is when it has travelled."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from helpers.engine.hosts.network import Network

START = "COURSE_START"  # "spawn": as on a system without fork


def forks() -> bool:
    """Whether ranks are forked on this machine; else each gets a Python of its own."""
    return hasattr(os, "fork") and os.environ.get(START) != "spawn"


class Plan(NamedTuple):
    """What the ranks of one run are told. head: of the parcel with the function and arguments.

    The descriptors that come with it: the board, then for each rank its control socket, its
    output, and the file for its stack and its chatter; last the parcel's file, where it has one.
    transport: "none" for a single call, which has no comm and no world, and seconds of its own
    time.
    """

    size: int
    framework: str
    transport: str
    device: str | None
    threads: int
    timeout: float
    environment: Mapping[str, str | None] = {}
    path: Sequence[str] = ()
    folder: str = ""
    head: bytes = b""
    network: Network | None = None

    @property
    def interface(self) -> str:
        """The name of the network interface that leads to the other ranks."""
        if self.network is not None:
            from helpers.engine.hosts.network import INTERFACE

            return INTERFACE
        return "lo0" if sys.platform == "darwin" else "lo"

    def address(self, rank: int) -> str:
        """Where a rank can be reached."""
        return "127.0.0.1" if self.network is None else self.network.address(rank)


class Failure(NamedTuple):
    """An exception as the client gets it."""

    kind: str
    message: str
    frames: traceback.StackSummary
    origins: list[Origin]
    doing: str


class Origin(NamedTuple):
    """An exception behind another: what it came of, or one of a group's."""

    how: str
    text: str
    frames: traceback.StackSummary
