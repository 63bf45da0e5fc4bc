"""What a submission changes beside files and processes, and whether the next one sees it.

As in leftovers.py, `plant` runs in the first submission and `look` in the second.
"""

from __future__ import annotations

from hostile.pairs import Leftover, leftover


def shared_objects():
    def plant():
        import ctypes
        from multiprocessing import shared_memory

        libc = ctypes.CDLL(None)
        libc.syscall(29, 0x48535431, 4096, 0o1666)  # shmget
        libc.syscall(64, 0x48535432, 1, 0o1666)  # semget
        libc.syscall(68, 0x48535433, 0o1666)  # msgget
        libc.syscall(240, b"hostile", 0o102, 0o666, None)  # mq_open
        libc.syscall(248, b"user", b"hostile", b"x", 1, -4)  # add_key to the user's keyring
        try:
            kept = shared_memory.SharedMemory("hostile", create=True, size=4096)
            kept.buf[0] = 7
        except OSError:
            pass

    def look():
        import ctypes
        import os

        libc = ctypes.CDLL(None)
        return (
            libc.syscall(29, 0x48535431, 4096, 0) >= 0
            or libc.syscall(64, 0x48535432, 1, 0) >= 0
            or libc.syscall(68, 0x48535433, 0) >= 0
            or libc.syscall(240, b"hostile", 0, 0, None) >= 0
            or libc.syscall(249, b"user", b"hostile", 0, 0) > 0
            or "hostile" in os.listdir("/dev/shm")
        )


def folders_closed():
    import os

    def plant():
        os.chmod("/tmp", 0o1577)
        os.chmod("/dev/shm", 0)

    def look():
        return any(os.stat(f).st_mode & 0o700 != 0o700 for f in ("/tmp", "/dev/shm"))


SURROUNDINGS: list[Leftover] = [
    leftover(function)
    for function in (
        shared_objects,
        folders_closed,
    )
]
