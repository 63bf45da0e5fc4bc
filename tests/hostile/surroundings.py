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


def memory_of_the_parent():
    import os

    def plant():
        import ctypes

        import torch

        # Where this process has a text, its parent has the same one.
        text = b"\x93NUMPY hostile marker 0123456789"
        address = id(torch.linalg.lstsq) + 16
        for pid in {os.getppid(), 1}:
            try:
                fd = os.open(f"/proc/{pid}/mem", os.O_RDWR)
                os.pwrite(fd, ctypes.string_at(address, 8), address)
                with open(f"/proc/{pid}/maps") as file:
                    for line in file:
                        if "rw-p" in line and "heap" in line:
                            start = int(line.split("-")[0], 16)
                            os.pwrite(fd, text, start + 4096)
            except OSError:
                continue

    def look():
        import ctypes

        with open("/proc/self/maps") as file:
            heaps = [line for line in file if "rw-p" in line and "heap" in line]
        ranges = [[int(end, 16) for end in line.split()[0].split("-")] for line in heaps]
        starts = [first + 4096 for first, last in ranges if last - first > 8192]
        return any(ctypes.string_at(start, 14) == b"\x93NUMPY hostile" for start in starts)


def the_parents_settings():
    """What the process has from which the next submission's processes are forked."""
    import os

    def plant():
        import ctypes
        import resource
        import signal

        libc, parent = ctypes.CDLL(None), os.getppid()
        for pid in (parent, 1):
            libc.setpriority(0, pid, 19)
            libc.syscall(251, 1, pid, 3 << 13)  # ioprio_set
            for change in (
                lambda p=pid: os.sched_setaffinity(p, {min(os.sched_getaffinity(0))}),
                lambda p=pid: os.sched_setscheduler(p, os.SCHED_BATCH, os.sched_param(0)),
                lambda p=pid: resource.prlimit(p, resource.RLIMIT_NOFILE, (50, 50)),
                lambda p=pid: resource.prlimit(p, resource.RLIMIT_CPU, (1, 1)),
                lambda p=pid: open(f"/proc/{p}/oom_score_adj", "w").write("999"),
                lambda p=pid: open(f"/proc/{p}/timerslack_ns", "w").write("4000000000"),
                lambda p=pid: os.kill(p, signal.SIGSTOP) if p == 1 else None,
            ):
                try:
                    change()
                except OSError:
                    continue

    def look():
        import resource

        with open("/proc/self/oom_score_adj") as file:
            oom = file.read().strip()
        return (
            os.nice(0) >= 19
            or os.sched_getscheduler(0) != os.SCHED_OTHER
            or resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 50
            or resource.getrlimit(resource.RLIMIT_CPU)[0] == 1
            or oom == "999"
        )


SURROUNDINGS: list[Leftover] = [
    leftover(function)
    for function in (
        shared_objects,
        folders_closed,
        memory_of_the_parent,
        the_parents_settings,
    )
]
