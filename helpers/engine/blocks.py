"""Memory that the ranks of one machine share: every rank writes its own file, and reads all."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_PAGE = mmap.PAGESIZE


class Block(NamedTuple):
    """A piece of a rank's file: where it starts, how long it is."""

    start: int
    length: int


class Memory:
    """One rank's view of all ranks' files: its own blocks to write, the others' to read."""

    def __init__(self, rank: int, files: Sequence[int]) -> None:
        self._rank = rank
        self._files = files
        self._end = 0
        self._free: list[Block] = []
        self._views: dict[tuple[int, Block], np.ndarray] = {}

    def take(self, nbytes: int) -> Block:
        """A block of this rank's own for so many bytes, used before where one fits."""
        fitting = [b for b in self._free if nbytes <= b.length <= max(4 * nbytes, _PAGE)]
        if fitting:
            block = min(fitting, key=lambda b: b.length)
            self._free.remove(block)
            return block
        length = max(-(-nbytes // _PAGE), 1) * _PAGE
        block = Block(self._end, length)
        self._end += length
        os.ftruncate(self._files[self._rank], self._end)
        return block

    def give_back(self, block: Block) -> None:
        """The receiver has copied it: it may be written again."""
        self._free.append(block)

    def view(self, rank: int, block: Block) -> np.ndarray:
        """A rank's block as bytes, mapped on first use."""
        key = (rank, block)
        if key not in self._views:
            memory = mmap.mmap(self._files[rank], block.length, offset=block.start)
            self._views[key] = np.frombuffer(memory, np.uint8)
        return self._views[key]
