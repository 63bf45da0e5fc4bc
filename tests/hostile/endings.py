"""Attacks that end, stall or starve: the process, the sandbox, the machine, its memory, the time.

Each function runs in the sandbox, in a call of `fit` or in a cell of its own.
"""

from __future__ import annotations

from hostile.submission import Attack, ending, opening

GONE = ("crashed", "error", "time-out", "wrong")


def leaves_by_exit():
    import os

    os._exit(0)


def leaves_by_system_exit():
    raise SystemExit("passed")


def segfault():
    import ctypes

    ctypes.string_at(8)


def kills_everything():
    import os

    os.kill(-1, 9)


def stops_everything():
    import os
    import signal

    os.kill(-1, signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)


def fork_bomb():
    import os

    while True:
        try:
            os.fork()
        except OSError:
            pass


def double_forked_daemon():
    import os
    import signal

    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            for fd in range(256):
                try:
                    os.close(fd)
                except OSError:
                    pass
            while True:
                try:
                    os.fork()
                    signal.sigtimedwait([], 0.05)
                except OSError:
                    pass
        os._exit(0)
    os._exit(0)


def exception_after_a_copy_that_talks_on():
    import os
    import time

    if os.fork():
        raise OSError("the copy goes on")
    time.sleep(0.01)
    while True:
        os.write(3, b"words into the connection to the judge")


def never_ends():
    while True:
        pass


def closes_every_descriptor_and_waits_for_input():
    import os

    os.closerange(0, 256)
    return input()


def memory_hog():
    held = []
    while True:
        held.append(bytearray(b"x" * 50_000_000))


def shared_memory_hog():
    import mmap
    import os

    for number in range(1000):
        fd = os.open(f"/dev/shm/hostile-{number}", os.O_CREAT | os.O_RDWR)
        os.ftruncate(fd, 64 * 2**20)
        held = mmap.mmap(fd, 64 * 2**20)
        for start in range(0, len(held), 4096):
            held[start] = 1


def sockets_hog():
    import os
    import socket
    import time

    for _ in range(6):
        if os.fork() == 0:
            break
    held = []
    try:
        while True:
            held.append(socket.socketpair())
            for one in held[-1]:
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10**9)
                while True:
                    try:
                        one.send(b"x" * 100_000)
                    except BlockingIOError:
                        break
    except OSError:
        time.sleep(1e6)


def threads_hog():
    import threading
    import time

    while True:
        threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()


ENDINGS: list[Attack] = [
    ending(attack, *GONE)
    for attack in (
        leaves_by_exit,
        leaves_by_system_exit,
        segfault,
        kills_everything,
        stops_everything,
        fork_bomb,
        double_forked_daemon,
        exception_after_a_copy_that_talks_on,
        never_ends,
        closes_every_descriptor_and_waits_for_input,
        memory_hog,
        shared_memory_hog,
        sockets_hog,
        threads_hog,
    )
] + [
    opening(attack)
    for attack in (
        leaves_by_exit,
        leaves_by_system_exit,
        segfault,
        never_ends,
        memory_hog,
    )
]
