"""What one submission leaves behind for the next one in the same slot, and whether it is found.

`plant` runs in every process of the first submission, before its answers, which are right and keep
their points. `look` runs in a call of `fit` of the second one and returns whether it found it.
"""

from __future__ import annotations

from hostile.pairs import Leftover, leftover


def files():
    import os

    def plant():
        for folder, folders, _ in os.walk("/"):
            if folder.startswith(("/proc", "/sys", "/usr")) or folder.endswith("-packages"):
                folders.clear()
            for name in ("hostile", "sitecustomize.py", "torch.py", ".hidden"):
                try:
                    with open(os.path.join(folder, name), "x") as file:
                        file.write("raise SystemExit('hostile')\n")
                except OSError:
                    break

    def look():
        for folder, folders, names in os.walk("/"):
            if folder.startswith(("/proc", "/sys", "/usr")) or folder.endswith("-packages"):
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


LEFTOVERS: list[Leftover] = [
    leftover(function)
    for function in (
        files,
        start_up_files,
        modules,
        processes,
        threads,
        own_settings,
    )
]
