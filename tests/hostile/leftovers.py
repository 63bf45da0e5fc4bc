"""What one submission leaves behind for the next one in the same slot, and whether it is found.

`plant` runs in every process of the first submission, before its answers, which are right and keep
their points. `look` runs in a call of `fit` of the second one and returns whether it found it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hostile.submission import Attack, armed, probe, right


@dataclass(frozen=True)
class Leftover:
    """Two submissions, one after the other."""

    name: str
    plants: Attack
    looks: Attack


def files():
    import os

    def plant():
        for folder, folders, _ in os.walk("/"):
            if folder.startswith(("/proc", "/sys", "/usr")):
                folders.clear()
            for name in ("hostile", "sitecustomize.py", "torch.py", ".hidden"):
                try:
                    with open(os.path.join(folder, name), "x") as file:
                        file.write("raise SystemExit('hostile')\n")
                except OSError:
                    break

    def look():
        for folder, folders, names in os.walk("/"):
            if folder.startswith(("/proc", "/sys", "/usr")):
                folders.clear()
            if {"hostile", ".hidden"} & set(names):
                return True
        return False


def start_up_files():
    import os

    def plant():
        import site
        import sys

        home = os.path.expanduser("~")
        places = [
            *(os.path.join(folder, "hostile.pth") for folder in site.getsitepackages()),
            os.path.join(site.getusersitepackages(), "usercustomize.py"),
            *(os.path.join(folder, "sitecustomize.py") for folder in sys.path if folder),
            f"{home}/.ipython/profile_default/startup/00.py",
            f"{home}/.jupyter/jupyter_notebook_config.py",
            f"{home}/.pythonrc",
            f"{home}/.bashrc",
            f"{home}/.config/matplotlib/matplotlibrc",
            f"{home}/.cache/torch/hostile",
            "/etc/ld.so.preload",
            os.path.join(os.path.dirname(os.__file__), "__pycache__", "os.cpython-311.pyc"),
            os.path.join(os.path.dirname(sys.modules["torch"].__file__), "hostile.py"),
        ]
        for place in places:
            try:
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(place, "w") as file:
                    file.write("import builtins; builtins.hostile = True\n")
            except OSError:
                continue

    def look():
        import builtins
        import sys

        written = [os.path.join(folder, "sitecustomize.py") for folder in sys.path]
        written.append(os.path.expanduser("~/.ipython/profile_default/startup/00.py"))
        return hasattr(builtins, "hostile") or any(map(os.path.exists, written))


def modules():
    def plant():
        import builtins
        import math

        import torch

        builtins.hostile = math.hostile = torch.hostile = True
        torch.set_default_dtype(torch.float64)

    def look():
        import builtins
        import math

        import torch

        changed = torch.get_default_dtype() != torch.float32
        return changed or any(hasattr(m, "hostile") for m in (builtins, math, torch))


def processes():
    import os

    def plant():
        import ctypes
        import subprocess
        import sys

        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1e6)"])
        for _ in range(2):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    import signal

                    for number in (1, 2, 3, 15):
                        signal.signal(number, signal.SIG_IGN)
                    ctypes.CDLL(None).prctl(15, b"hostile", 0, 0, 0)
                    while True:
                        signal.pause()
                os._exit(0)

    def look():
        found = []
        for pid in os.listdir("/proc"):
            if pid.isdigit():
                with open(f"/proc/{pid}/comm") as file:
                    found.append(file.read().strip())
        return "hostile" in found


def threads():
    def plant():
        import threading
        import time

        def wait():
            while True:
                time.sleep(0.01)

        for _ in range(8):
            threading.Thread(target=wait).start()  # none of them a daemon

    def look():
        import os
        import threading

        return threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 40


def own_settings():
    import os

    def plant():
        import resource
        import signal

        os.nice(5)
        os.umask(0o777)
        os.chdir("/tmp")
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        os.environ["HOSTILE"] = "1"

    def look():
        import resource
        import signal

        return (
            os.nice(0) >= 5
            or os.umask(0o022) == 0o777
            or resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 64
            or signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN
            or "HOSTILE" in os.environ
        )


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


def abstract_listener():
    def plant():
        import os
        import socket

        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind("\0hostile-left")
        except OSError:
            return
        listener.listen()
        if os.fork() == 0:
            os.setsid()
            while True:
                listener.accept()[0].send(b"left")

    def look():
        import socket

        try:
            socket.socket(socket.AF_UNIX).connect("\0hostile-left")
        except OSError:
            return False
        return True


def folders_changed():
    import os

    def plant():
        for folder in ("/tmp", "/dev/shm"):
            for change in (
                lambda f=folder: os.setxattr(f, "user.hostile", b"1"),
                lambda f=folder: os.utime(f, (7, 7)),
            ):
                try:
                    change()
                except OSError:
                    continue

    def look():
        folders = ("/tmp", "/dev/shm")
        return any(os.stat(f).st_mtime == 7 or os.listxattr(f) for f in folders)


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
        starts = [int(line.split("-")[0], 16) + 4096 for line in heaps]
        return any(ctypes.string_at(start, 14) == b"\x93NUMPY hostile" for start in starts)


def _leftover(function: Callable[[], Any]) -> Leftover:
    """From a function that defines `plant` and `look`."""
    import inspect
    import textwrap

    body = inspect.getsource(function).split("\n", 1)[1]
    lines = [line for line in textwrap.dedent(body).splitlines() if not line.startswith('"""')]
    text = "\n".join(lines)
    name = function.__name__
    start = f"{text}\nplant()\n_armed = True\n"
    functions = ("fit",)
    plants = Attack(
        f"{name}, left behind",
        [f"exec({start!r}, globals())", *(armed(right(f)) for f in functions)],
        full=functions,
    )
    looking = probe(_look)
    looks = Attack(
        f"{name}, looked for",
        [f"exec({text!r}, globals())", *looking.cells[1:]],
        full=looking.full,
        finished=looking.finished,
    )
    cells = [cell.replace("_look()", "look()") for cell in looks.cells]
    return Leftover(name, plants, Attack(looks.name, cells, full=looks.full, finished=("fit",)))


def _look() -> bool:
    return False


LEFTOVERS: list[Leftover] = [
    _leftover(function)
    for function in (
        files,
        start_up_files,
        modules,
        processes,
        threads,
        own_settings,
        the_parents_settings,
        shared_objects,
        abstract_listener,
        folders_changed,
        folders_closed,
        memory_of_the_parent,
    )
]
