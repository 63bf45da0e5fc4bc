"""Nodes of a cluster on this machine, to be killed: each is a command and all that comes of it.

What is the same as on a cluster: the commands, and that a node's processes all die at once, with
no chance to say good-bye. What is not: the kernel of this machine closes a dead process's sockets,
so that the others hear of it at once; when a machine loses its power, only a time-out tells them.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import psutil

from helpers.engine.errors import RunError
from helpers.engine.places import PROJECT

LAST_LINES = 15
LOOK = 0.01
TIMEOUT, END_SECONDS = 900.0, 240.0  # of a job, and of its end: they end what hangs
# What tells of a job that this process is itself a part of.
_OTHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "TORCHELASTIC_", "HOROVOD_", "SLURM_")


class JobFailed(RunError):
    """A job that ended before its last step, or never did; the report has the end of its logs."""


class Command(NamedTuple):
    """What is typed on a node. settings: of environment variables, before it."""

    words: Sequence[str]
    settings: Mapping[str, str] = {}

    def __str__(self) -> str:
        before = [f"{name}={shlex.quote(value)}" for name, value in self.settings.items()]
        return " ".join([*before, shlex.join(self.words)])


class Nodes:
    """Starts commands, kills them with all that came of them, and leaves nothing. A context.

    folder: a new one that all nodes see, with each one's output in NAME.log; it goes with them.
    typed: the commands so far, each after its node's name and a dollar sign. Each command has a
    guard (`helpers.engine.guard`): nothing is left either when this process is killed itself.
    """

    def __init__(self) -> None:
        self.folder, self.typed = Path(tempfile.mkdtemp(prefix="elastic-")), list[str]()
        self.guards: dict[str, subprocess.Popen[bytes]] = {}  # of the commands that should run
        self.began, self._tie = time.time(), os.pipe()  # the pipe closes with this process

    def start(self, name: str, command: Command) -> None:
        """Type a command on a node, in the course's folder."""
        self.typed.append(f"{name}$ {command}")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_OTHERS)}
        ours = {
            "PYTHONPATH": os.pathsep.join([PROJECT, *filter(None, [kept.get("PYTHONPATH")])]),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]]),
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        guard = [sys.executable, "-m", "helpers.engine.guard", str(self.folder), "tied"]
        with self.output(name).open("ab") as output:
            self.guards[name] = subprocess.Popen(
                [*guard, *command.words], stdin=self._tie[0], stdout=output, stderr=output,
                cwd=PROJECT, env={**kept, **ours, **command.settings}, start_new_session=True,
            )  # fmt: skip

    def kill(self, name: str) -> None:
        """SIGKILL a node: its command and every process that came of it, all at once."""
        guard = self.guards.pop(name)
        for child in psutil.Process(guard.pid).children():
            kill_tree(child.pid)
        guard.terminate()  # it may not have started the command yet
        guard.wait()

    def until(self, happens: Callable[[], bool]) -> None:
        """Wait for something. Raises JobFailed where a command ends before, or time is up."""
        while not happens():
            ended = [name for name, guard in self.guards.items() if guard.poll() is not None]
            late = time.time() - self.began > TIMEOUT
            if (ended or late) and not happens():  # it may have come about since
                codes = [
                    f"{name} ended with exit code {self.guards[name].poll()}" for name in ended
                ]
                raise self.failed(", ".join(codes) or f"The job was not done after {TIMEOUT:g} s")
            time.sleep(LOOK)

    def finish(self, names: Sequence[str]) -> None:
        """Wait until commands have ended well. Raises JobFailed where one did not, or is late."""
        for name in names:
            try:
                code = self.guards[name].wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                raise self.failed(f"{name} goes on {END_SECONDS:g} s after the last step") from None
            if code:
                raise self.failed(f"{name} ended with exit code {code} after the last step")

    def output(self, name: str) -> Path:
        """The file with all that a node has written, over all its lives."""
        return self.folder / f"{name}.log"

    def failed(self, why: str) -> JobFailed:
        """An error with the ends of all logs."""
        ends = [f"{name} wrote last:\n{last_lines(self.output(name))}" for name in self.guards]
        return JobFailed("\n\n".join([f"{why}.", *ends]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._tie:  # kills all nodes
            os.close(end)
        for guard in self.guards.values():
            guard.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def kill_tree(pid: int) -> None:
    """SIGKILL a process and all that came of it; none of them lives to see another one die."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in _stopped(psutil.Process(pid)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def _stopped(process: psutil.Process) -> list[psutil.Process]:
    """Stop a tree from its root on: what is stopped starts nothing more."""
    tree = []
    with contextlib.suppress(psutil.NoSuchProcess):
        process.suspend()
        tree.append(process)
        for child in process.children():
            tree += _stopped(child)
    return tree


def last_lines(log: Path) -> str:
    """The end of a log, set in."""
    lines = log.read_text("utf-8", "replace").splitlines()[-LAST_LINES:]
    return "\n".join(f"  {line}" for line in lines) or "  (nothing)"
