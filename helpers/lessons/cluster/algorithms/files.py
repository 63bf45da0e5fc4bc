"""A folder for checkpoints: what can be asked of it, and what may be lost when a machine stops.

Three things can be on their way then: bytes of a file, which `sync` waits for; names of files,
which `sync_names` waits for; and a `write` itself, of which any part may be done. Only `rename` is
whole or not at all.
Source: Pillai et al., "All File Systems Are Not Created Equal: On the Complexity of Crafting
Crash-Consistent Applications" (OSDI 2014), sections 2 and 3, for what file systems do not promise.
"""

from __future__ import annotations

import os
from pathlib import Path

from helpers.lessons.cluster.algorithms.crashes import Disk

TEMPORARY = ".tmp"  # how the name of a file ends that is being written


class RealFolder:
    """A folder with files and no folders, of this machine or of a disk that many machines see.

    path: is made where it is not there. Can be sent to ranks: it is only a path. Names are plain
    names, without a slash. `crashes.Disk` has the same methods, in memory.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """The files that are there, in any order."""
        return [entry.name for entry in os.scandir(self.path) if entry.is_file()]

    def read(self, name: str) -> bytes:
        """All bytes of a file. Raises FileNotFoundError where there is none of this name."""
        return (self.path / name).read_bytes()

    def size(self, name: str) -> int:
        """Bytes of a file. Raises FileNotFoundError where there is none of this name."""
        return (self.path / name).stat().st_size

    def write(self, name: str, data: bytes) -> None:
        """Make a file, or empty the one of this name, and write to it, a piece at a time.

        After a crash of the machine, any part of it may be there.
        """
        (self.path / name).write_bytes(data)

    def sync(self, name: str) -> None:
        """Wait until the file's bytes are on the disk. Its name may be lost yet."""
        _sync(self.path / name)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in place of a file that has it: whole or not at all."""
        (self.path / old).replace(self.path / new)

    def remove(self, name: str) -> None:
        """Take a file away."""
        (self.path / name).unlink()

    def sync_names(self) -> None:
        """Wait until all that was made, renamed and removed is so on the disk."""
        _sync(self.path)


Folder = RealFolder | Disk


def _sync(path: Path) -> None:
    # A descriptor for reading will do, also for a folder: what is synced is the file behind it.
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
