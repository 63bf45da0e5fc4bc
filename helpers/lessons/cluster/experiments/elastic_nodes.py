"""Nodes of a cluster on this machine, to be killed: each is a command and all that comes of it.

What is the same as on a cluster: the commands, and that a node's processes all die at once, with
no chance to say good-bye. What is not: the kernel of this machine closes a dead process's sockets,
so that the others hear of it at once; when a machine loses its power, only a time-out tells them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import psutil

from helpers.engine.errors import RunError
from helpers.engine.places import PROJECT

LAST_LINES = 15
KEEPER = "helpers.lessons.cluster.experiments.elastic_keeper"
LOOK, ASK_SECONDS = 0.01, 0.2
END_SECONDS = 30.0
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
    Nothing is left either when this process is killed itself (on Linux, whatever its children did;
    elsewhere, of what psutil still finds).
    """

    def __init__(self) -> None:
        self.folder, self.pids = Path(tempfile.mkdtemp(prefix="elastic-")), dict[str, int]()
        self._next, self._codes = dict[str, float](), dict[str, int]()
        with (self.folder / "keeper.log").open("wb") as errors:
            self.keeper = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    KEEPER,
                    str(self.folder),
                ],
                env={**os.environ, "PYTHONPATH": _path()},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    def start(self, name: str, command: Command) -> None:
        """Type a command on a node, in the course's folder. Raises JobFailed where it cannot be."""
        words = [_found(command.words[0]), *command.words[1:]]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_OTHERS)}
        ours = {
            "PYTHONPATH": _path(),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        pid = self._ask(
            command=words, folder=PROJECT, output=str(self.output(name)),
            environment={**kept, **ours, **command.settings},
        )  # fmt: skip
        if not isinstance(pid, int):
            raise JobFailed(f"{command} cannot be started: {pid}.")
        self.pids[name] = pid
        self._codes.pop(name, None)

    def kill(self, name: str) -> None:
        """SIGKILL a node: its command and every process that came of it, all at once."""
        if name not in self._codes:  # what has been collected has left its number to others
            kill_tree(self.pids[name])

    def ended(self, name: str) -> int | None:
        """How a node's command ended (0: well, -9: killed); None while it runs, as far as seen.

        May be asked all the time: the answer is up to 0.2 s old.
        """
        if name not in self._codes and time.monotonic() >= self._next.get(name, 0.0):
            self._next[name] = time.monotonic() + ASK_SECONDS
            code = self._ask(ended=self.pids[name])
            if code is not None:
                self._codes[name] = code
        return self._codes.get(name)

    def finish(self, names: Sequence[str], seconds: float) -> None:
        """Wait until commands have ended well. Raises JobFailed where one did not, or is late."""
        until = time.monotonic() + seconds
        for name in names:
            while (code := self.ended(name)) is None:
                if time.monotonic() > until:
                    raise self.failed(f"{name} had not ended {seconds:g} s after the last step.")
                time.sleep(LOOK)
            if code:
                raise self.failed(f"{name} ended with exit code {code} after the last step.")

    def output(self, name: str) -> Path:
        """The file with all that a node has written, over all its lives."""
        return self.folder / f"{name}.log"

    def lines(self, name: str) -> list[str]:
        """A node's output."""
        path = self.output(name)
        return path.read_text("utf-8", "replace").splitlines() if path.exists() else []

    def failed(self, why: str) -> JobFailed:
        """An error with the ends of all logs."""
        ends = [f"{name} wrote last:\n" + _last(self.lines(name)) for name in self.pids]
        return JobFailed("\n\n".join([why, *ends]))

    def close(self) -> None:
        """Kill all nodes, and wait until they and their folder are gone."""
        for pipe in (self.keeper.stdin, self.keeper.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self.keeper.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            kill_tree(self.keeper.pid)
            self.keeper.wait()
        if self.keeper.returncode:
            self._end_strays()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end_strays(self) -> None:
        """End what a killed keeper has left: its ranks name the folder in their commands."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if str(self.folder) in process.cmdline():
                    process.kill()

    def _ask(self, **question: Any) -> Any:
        assert self.keeper.stdin is not None and self.keeper.stdout is not None
        try:
            self.keeper.stdin.write(json.dumps(question).encode() + b"\n")
            self.keeper.stdin.flush()
            return json.loads(self.keeper.stdout.readline())
        except (OSError, ValueError) as error:
            said = (self.folder / "keeper.log").read_text("utf-8", "replace")
            raise JobFailed(f"The process that keeps the nodes has ended. {said}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def kill_tree(pid: int) -> None:
    """SIGKILL a process and all that came of it; none of them lives to see another one die."""
    with contextlib.suppress(psutil.NoSuchProcess):
        tree = _stopped(psutil.Process(pid))
        for process in tree:
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


def _found(program: str) -> str:
    """A program beside this Python, where it is there: it belongs to the same environment."""
    beside = Path(sys.executable).parent / program
    return str(beside) if beside.exists() else program


def _path() -> str:
    return os.pathsep.join([PROJECT, *filter(None, [os.environ.get("PYTHONPATH")])])


def _last(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}" for line in lines[-LAST_LINES:]) or "  (nothing)"
