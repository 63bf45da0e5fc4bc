"""What one submission leaves behind for the next one in the same slot, and whether it is found.

`plant` runs in every process of the first submission, before its answers, which are right and keep
their points. `look` runs in a call of `fit` of the second one and returns whether it found it.
"""

from __future__ import annotations

import inspect
import textwrap
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


def leftover(function: Callable[[], Any]) -> Leftover:
    """From a function that defines `plant` and `look`."""
    body = inspect.getsource(function).split("\n", 1)[1]
    lines = [line for line in textwrap.dedent(body).splitlines() if not line.startswith('"""')]
    text = "\n".join(lines)
    name = function.__name__
    start = f"{text}\n_armed = plant() or True\n"
    functions = ("fit",)
    plants = Attack(
        f"{name}, left behind",
        [start, *(armed(right(f)) for f in functions)],
        full=functions,
    )
    looking = probe(_look)
    looks = Attack(
        f"{name}, looked for",
        [text, *looking.cells[1:]],
        full=looking.full,
        finished=looking.finished,
    )
    cells = [cell.replace("_look()", "look()") for cell in looks.cells]
    return Leftover(name, plants, Attack(looks.name, cells, full=looks.full, finished=("fit",)))


def _look() -> bool:
    return False


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


LEFTOVERS: list[Leftover] = [leftover(function) for function in (files, modules, processes)]
