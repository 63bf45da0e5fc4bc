"""Attacks that end, stall or starve: the process, the sandbox, the machine, the time.

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


def leaves_by_interrupt():
    raise KeyboardInterrupt


def leaves_by_generator_exit():
    raise GeneratorExit


def segfault():
    import ctypes

    ctypes.string_at(8)


def abort():
    import ctypes

    ctypes.CDLL(None).abort()


def kills_everything():
    import os

    os.kill(-1, 9)


def kills_its_parent():
    import os
    import signal

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL):
        os.kill(os.getppid(), number)


def stops_its_parent():
    import os
    import signal

    os.kill(os.getppid(), signal.SIGSTOP)
    os._exit(0)


def stops_everything():
    import os
    import signal

    os.kill(-1, signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)


def kills_the_first_process():
    import os

    for number in range(1, 65):
        try:
            os.kill(1, number)
        except OSError:
            pass
    os._exit(1)


def stops_itself():
    import os
    import signal

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


def daemon_that_keeps_the_connection():
    import os
    import time

    if os.fork():
        os._exit(0)
    os.setsid()
    while True:
        time.sleep(1)


def never_ends():
    while True:
        pass


def swallows_every_interrupt():
    import signal

    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, lambda *args: None)
        except OSError:
            pass
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue


def waits_in_the_kernel():
    import os

    reader, _ = os.pipe()
    os.read(reader, 1)


def never_lets_go_of_the_interpreter():
    (3 ** (3**25)) % 7


def regular_expression_without_end():
    import re

    re.match(r"(a*)*b", "a" * 60)


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


def timer_that_ends_it():
    import os
    import threading

    threading.Timer(0.05, os._exit, (0,)).start()
    while True:
        pass


ENDINGS: list[Attack] = [
    ending(attack, *GONE)
    for attack in (
        leaves_by_exit,
        leaves_by_system_exit,
        leaves_by_interrupt,
        leaves_by_generator_exit,
        segfault,
        abort,
        kills_everything,
        kills_its_parent,
        stops_its_parent,
        stops_everything,
        kills_the_first_process,
        stops_itself,
        fork_bomb,
        double_forked_daemon,
        daemon_that_keeps_the_connection,
        never_ends,
        swallows_every_interrupt,
        waits_in_the_kernel,
        never_lets_go_of_the_interpreter,
        regular_expression_without_end,
        memory_hog,
        memory_hog_of_many_processes,
        disk_hog,
        many_small_files,
        shared_memory_hog,
        hog_of_every_folder,
        descriptors_hog,
        threads_hog,
        pipes_and_pseudo_terminals,
        stack_overflow,
        stack_overflow_in_c,
        timer_that_ends_it,
    )
] + [
    opening(attack)
    for attack in (
        leaves_by_exit,
        leaves_by_system_exit,
        segfault,
        kills_everything,
        kills_its_parent,
        never_ends,
        swallows_every_interrupt,
        memory_hog,
    )
]
