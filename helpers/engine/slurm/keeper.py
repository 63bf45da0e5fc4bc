"""The process that keeps a site: it starts SLURM's daemons, and nothing outlives it.

Every daemon has a guard, forked from the keeper, that adopts what the daemon and its jobs leave
behind: SLURM starts each job's steps as a process that is nobody's child. So all that runs on a
node is below that node's guard, and a node dies with its guard. Killed with signal 9, the keeper
leaves guards that are told by the kernel, and end what is theirs.

    python -m helpers.engine.slurm.keeper FOLDER [tied]

Tied, it ends when its standard input closes, and so with whoever holds the other end. SIGTERM ends
it, and SIGHUP has it start what does not run.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import psutil

from helpers.engine.server import adopt_orphans, end_descendants
from helpers.engine.slurm import settings

NODE_DIED = 3  # how a node's guard ends when its daemon did first
LOOK = 0.2  # seconds between two looks whether its starter is still there
_HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_PR_SET_PDEATHSIG = 1


def main(folder: Path, tied: bool) -> None:
    """Keep the site in `folder` until told to end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    adopt_orphans()
    guards: dict[str, int] = {}
    try:
        start_missing(folder, guards)
        while not (tied and _closed(sys.stdin.fileno())):
            heard = signal.sigtimedwait(_HEARD, LOOK)
            number = heard.si_signo if heard else None
            if number in (signal.SIGTERM, signal.SIGINT):
                break
            if number == signal.SIGCHLD and collect(guards):
                note(folder, guards)
            if number == signal.SIGHUP:
                start_missing(folder, guards)
    finally:
        end_descendants(guards.values())
        if tied:  # nobody else may be left to do it
            shutil.rmtree(folder, ignore_errors=True)


def start_missing(folder: Path, guards: dict[str, int]) -> None:
    """Start each daemon that does not run, under a guard of its own."""
    for name, command in settings.commands(folder).items():
        if name not in guards:
            guards[name] = guarded(name, command, folder)
    note(folder, guards)


def note(folder: Path, guards: dict[str, int]) -> None:
    """Write down who guards what, in one move."""
    new = folder / f"{settings.PIDS}.new"
    new.write_text(json.dumps({"keeper": os.getpid(), "guards": guards}), encoding="utf-8")
    new.replace(folder / settings.PIDS)


def collect(guards: dict[str, int]) -> bool:
    """Forget guards that have ended, and end what they left; returns whether there were any."""
    ended = False
    while (pid := _ended_child()) is not None:
        for name in [name for name, guard in guards.items() if guard == pid]:
            del guards[name]
            ended = True
    for child in psutil.Process().children():
        if child.pid not in guards.values():  # a dead guard's
            for one in [*child.children(recursive=True), child]:
                one.kill()
    return ended


def guarded(name: str, command: list[str], folder: Path) -> int:
    """Run a command under a guard; returns the guard's process id."""
    pid = os.fork()
    if pid == 0:
        guard(name, command, folder)
    return pid


def guard(name: str, command: list[str], folder: Path) -> NoReturn:
    """Run a command until it ends or the keeper does, then end all that came from it."""
    code = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        adopt_orphans()
        with (folder / f"{name}.out").open("ab") as out:
            daemon = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD),
            )
        told = False
        while daemon.poll() is None and not told:
            heard = signal.sigtimedwait(_HEARD, 1.0)
            told = heard is not None and heard.si_signo == signal.SIGTERM
            if heard is not None and heard.si_signo == signal.SIGCHLD:
                _collect_orphans(daemon.pid)
        code = 0 if told else NODE_DIED if name in settings.NODES else 1
    except OSError as error:
        print(f"{command[0]}: {error}", file=sys.stderr, flush=True)
    finally:
        end_descendants(())
        if code == NODE_DIED:
            tell(name)
        os._exit(code)


def tell(node: str) -> None:
    """Say that a node is dead. SLURM itself asks now and then, and gives a node a minute."""
    call = ["scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=its slurmd ended"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)


def _collect_orphans(daemon: int) -> None:
    """Collect steps of jobs that have ended; the daemon's own end is left for its handle."""
    for child in psutil.Process().children():
        if child.pid != daemon and child.status() == psutil.STATUS_ZOMBIE:
            os.waitpid(child.pid, os.WNOHANG)


def _ended_child() -> int | None:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] or None
    except ChildProcessError:
        return None


def _closed(descriptor: int) -> bool:
    """Whether the other end of a pipe is closed; nobody ever writes into it."""
    return bool(select.select([descriptor], [], [], 0)[0]) and not os.read(descriptor, 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] == ["tied"])
