"""A folder in memory that crashes when it is told to, and forgets what was not synced.

`crashes` runs what writes to a folder again and again, and stops it before every operation and
after every byte. What is on the disk then depends on what stopped it, and on the file system: each
of `OUTCOMES` is one that POSIX allows.
Source: Pillai et al., "All File Systems Are Not Created Equal" (OSDI 2014), section 3: the tool
ALICE tries out which of the unsynced operations have come to the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

OUTCOMES = ("killed", "nothing unsynced", "names alone", "removals alone", "zeros")


class Crash(BaseException):
    """The process ends here: nothing of what it would do afterwards happens."""


class _File:
    """What readers see of a file, and what of it is on the disk."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.synced = bytes(data)


class Disk:
    """A folder in memory; `files.RealFolder` says what its methods do.

    files: what is there at first, on the disk. ticks: it crashes when so many have passed; None is
    never. Every operation is a tick, and so is every byte that is written.
    passed: ticks so far. done: the operations in words, such as "write a.tmp, 3 bytes".
    """

    def __init__(self, files: Mapping[str, bytes] | None = None, ticks: int | None = None) -> None:
        self._seen = {name: _File(data) for name, data in (files or {}).items()}
        self._on_disk = dict(self._seen)
        self.ticks, self.passed = ticks, 0
        self.done: list[str] = []

    def _tick(self) -> None:
        if self.ticks is not None and self.passed >= self.ticks:
            raise Crash
        self.passed += 1

    def _file(self, name: str) -> _File:
        if name not in self._seen:
            raise FileNotFoundError(f"There is no file {name!r} in this folder.")
        return self._seen[name]

    # --- reading ----------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The files that are there."""
        return list(self._seen)

    def read(self, name: str) -> bytes:
        """All bytes of a file."""
        return bytes(self._file(name).data)

    def size(self, name: str) -> int:
        """Bytes of a file."""
        return len(self._file(name).data)

    # --- writing ----------------------------------------------------------------------------------

    def write(self, name: str, data: bytes) -> None:
        """Make or empty a file and write to it, a byte at a time."""
        self._tick()
        self.done.append(f"write {name}, {len(data)} bytes")
        file = self._seen.setdefault(name, _File())
        file.data = bytearray()
        for byte in data:
            self._tick()
            file.data.append(byte)

    def sync(self, name: str) -> None:
        """A file's bytes come to the disk; its name may not be there."""
        self._tick()
        self.done.append(f"sync {name}")
        file = self._file(name)
        file.synced = bytes(file.data)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        self._tick()
        self.done.append(f"rename {old} to {new}")
        self._seen[new] = self._file(old)
        del self._seen[old]

    def remove(self, name: str) -> None:
        """Take a file away."""
        self._tick()
        self.done.append(f"remove {name}")
        self._file(name)
        del self._seen[name]

    def sync_names(self) -> None:
        """All names come to the disk."""
        self._tick()
        self.done.append("sync names")
        self._on_disk = dict(self._seen)

    # --- afterwards -------------------------------------------------------------------------------

    def after(self, outcome: str) -> Disk:
        """What is found once the machine is up again. Raises ValueError for no such outcome.

        "killed": only the process has ended, and the machine has kept all that it did. The others
        are power cuts. "nothing unsynced": all that was not synced is lost. "names alone": all
        names are as they were last, but files have the bytes of their last sync. "removals alone":
        files are gone that were removed, but new names are lost: no order is promised between them.
        "zeros": as "names alone", but files have their length, with zeros for what is not synced.
        """
        if outcome not in OUTCOMES:
            raise ValueError(f"There is no outcome {outcome!r}; there are: {', '.join(OUTCOMES)}.")
        seen, on_disk = self._seen, self._on_disk
        if outcome == "killed":
            return Disk({name: bytes(file.data) for name, file in seen.items()})
        if outcome == "nothing unsynced":
            return Disk({name: file.synced for name, file in on_disk.items()})
        if outcome == "names alone":
            return Disk({name: file.synced for name, file in seen.items()})
        if outcome == "removals alone":
            held = set(seen.values())
            kept = {n: f.synced for n, f in on_disk.items() if n in seen or f in held}
            return Disk(kept)
        return Disk({name: _with_zeros(file) for name, file in seen.items()})


def _with_zeros(file: _File) -> bytes:
    if file.synced == file.data:
        return file.synced
    return bytes(len(file.data))


class Crashed(NamedTuple):
    """A disk after a crash. at: the tick. outcome: of `OUTCOMES`. during: the last operation."""

    disk: Disk
    at: int
    outcome: str
    during: str


def crashes(
    action: Callable[[Disk], object],
    files: Mapping[str, bytes] | None = None,
    outcomes: tuple[str, ...] = OUTCOMES,
) -> Iterator[Crashed]:
    """Stop `action(disk)` at every tick, and give what each outcome leaves.

    files: that are on the disk before, each time. The last ones given are of an action that came
    to its end, and of a machine that stopped right after.
    Example: `all("a" in found.disk.names() for found in crashes(lambda d: d.write("a", b"xy")))` is
    false: after a power cut, a file that was only written may be missing.
    """
    at, ended = 0, False
    while not ended:
        disk = Disk(files, ticks=at)
        try:
            action(disk)
            ended = True
        except Crash:
            pass
        during = disk.done[-1] if disk.done else "nothing yet"
        for outcome in outcomes:
            yield Crashed(disk.after(outcome), at, outcome, during)
        at += 1
