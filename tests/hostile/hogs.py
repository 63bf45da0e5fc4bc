"""Attacks that take all there is: memory, disk, descriptors, threads, stack.

Each function runs in the sandbox, in a call of `fit` or in a cell of its own.
"""

from __future__ import annotations

from hostile.endings import GONE
from hostile.submission import Attack, ending, opening


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


def stack_overflow():
    def deeper(level):
        return deeper(level + 1)

    return deeper(0)


HOGS: list[Attack] = [
    ending(attack, *GONE)
    for attack in (
        memory_hog,
        shared_memory_hog,
        sockets_hog,
        threads_hog,
        stack_overflow,
    )
] + [opening(memory_hog)]
