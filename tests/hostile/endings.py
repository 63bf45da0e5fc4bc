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


def kills_the_first_process():
    import os

    for number in range(1, 65):
        try:
            os.kill(1, number)
        except OSError:
            pass
    os._exit(1)


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


def never_lets_go_of_the_interpreter():
    (3 ** (3**25)) % 7


ENDINGS: list[Attack] = [
    ending(attack, *GONE)
    for attack in (
        leaves_by_exit,
        leaves_by_system_exit,
        segfault,
        kills_everything,
        stops_everything,
        kills_the_first_process,
        fork_bomb,
        double_forked_daemon,
        exception_after_a_copy_that_talks_on,
        never_ends,
        swallows_every_interrupt,
        never_lets_go_of_the_interpreter,
    )
] + [
    opening(attack)
    for attack in (
        leaves_by_exit,
        leaves_by_system_exit,
        segfault,
        kills_everything,
        never_ends,
        swallows_every_interrupt,
    )
]
