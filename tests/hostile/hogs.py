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


def memory_hog_of_many_processes():
    import mmap
    import os

    for _ in range(6):
        os.fork()
    held = mmap.mmap(-1, 600 * 2**20)
    for start in range(0, len(held), 4096):
        held[start] = 1
    while True:
        pass


def disk_hog():
    number = 0
    while True:
        try:
            with open(f"/tmp/hostile-{number}", "wb") as file:
                file.write(b"x" * 8_000_000)
        except OSError:
            break
        number += 1
    raise OSError("full")


def many_small_files():
    import os

    number = 0
    try:
        while number < 3_000_000:
            os.close(os.open(f"/tmp/{number}", os.O_CREAT | os.O_WRONLY))
            number += 1
    except OSError:
        raise OSError("full") from None


def shared_memory_hog():
    import mmap
    import os

    for number in range(1000):
        fd = os.open(f"/dev/shm/hostile-{number}", os.O_CREAT | os.O_RDWR)
        os.ftruncate(fd, 64 * 2**20)
        held = mmap.mmap(fd, 64 * 2**20)
        for start in range(0, len(held), 4096):
            held[start] = 1


def hog_of_every_folder():
    import os

    for folder in ("/", "/dev", "/course", "/run", "/home", "/etc", "/var", "/mnt", "/tmp"):
        try:
            fd = os.open(os.path.join(folder, "hostile"), os.O_CREAT | os.O_WRONLY)
            for _ in range(400):
                os.write(fd, b"x" * 10_000_000)
        except OSError:
            continue
    raise OSError("full")


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


def descriptors_hog():
    import os

    held = []
    while True:
        held.append(os.dup(0))


def threads_hog():
    import threading
    import time

    while True:
        threading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()


def pipes_and_pseudo_terminals():
    import os

    held = []
    while True:
        held.append(os.openpty())
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        os.write(writer, b"x" * 65536)
        held.append((reader, writer))


def stack_overflow():
    def deeper(level):
        return deeper(level + 1)

    return deeper(0)


def stack_overflow_in_c():
    import sys

    sys.setrecursionlimit(10**9)

    class Deeper:
        def __getattr__(self, name):
            return getattr(self, name + "x")

    return Deeper().x


HOGS: list[Attack] = [
    ending(attack, *GONE)
    for attack in (
        memory_hog,
        memory_hog_of_many_processes,
        disk_hog,
        many_small_files,
        shared_memory_hog,
        hog_of_every_folder,
        sockets_hog,
        descriptors_hog,
        threads_hog,
        pipes_and_pseudo_terminals,
        stack_overflow,
        stack_overflow_in_c,
    )
] + [opening(memory_hog)]
