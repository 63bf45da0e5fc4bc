"""What may not be different after the bank: files, processes, and who has called from inside."""

from __future__ import annotations

import hashlib
import os
import site
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "hostile"  # in the name of every file that an attack writes


def snapshot(*folders: Path) -> dict[str, tuple[int, int, str]]:
    """Every file and folder under these: its mode, its owner, and a digest of what it holds."""
    found = {}
    for folder in folders:
        for path in (folder, *sorted(folder.rglob("*"))):
            status = path.lstat()
            held = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            digest = hashlib.sha256(held).hexdigest()
            found[str(path)] = (status.st_mode, status.st_uid, digest)
    return found


def marked() -> list[str]:
    """Files with the attacks' mark where everybody may write, and beside installed packages."""
    folders = ["/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~"), *site.getsitepackages()]
    names = (os.path.join(f, n) for f in folders if os.path.isdir(f) for n in os.listdir(f))
    return [name for name in names if MARK in os.path.basename(name) and "pytest" not in name]


class Listeners:
    """Sockets of this machine that nothing in a sandbox may reach.

    tcp: a port of the loopback. name: of abstract sockets, with the kind's number behind it.
    path: of one in the file system.
    """

    def __init__(self, folder: Path) -> None:
        self.name = f"distributed-course-{os.getpid()}-"
        self.path = str(folder / "socket")
        loopback = socket.create_server(("127.0.0.1", 0))
        self.tcp: int = loopback.getsockname()[1]
        kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)
        self._all = [loopback, self._bound(socket.SOCK_STREAM, self.path)]
        self._all += [self._bound(kind, f"\0{self.name}{int(kind)}") for kind in kinds]
        os.chmod(self.path, 0o777)

    def _bound(self, kind: socket.SocketKind, name: str) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, kind)
        made.bind(name)
        if kind != socket.SOCK_DGRAM:
            made.listen()
        return made

    def heard(self) -> int:
        """How many have called."""
        calls = 0
        for one in self._all:
            one.setblocking(False)
            try:
                one.recv(1) if one.type == socket.SOCK_DGRAM else one.accept()
                calls += 1
            except BlockingIOError:
                continue
        return calls

    def close(self) -> None:
        """Stop listening."""
        for one in self._all:
            one.close()


@contextmanager
def listeners(folder: Path) -> Iterator[Listeners]:
    """Listeners for as long as a block runs."""
    made = Listeners(folder)
    try:
        yield made
    finally:
        made.close()
