"""Start a sandbox, have children forked in it, end it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.instructor.grades import Mode
from helpers.instructor.sandbox import seccomp
from helpers.instructor.sandbox.command import ENVIRONMENT, SCRATCH, Command, sandboxed
from helpers.instructor.sandbox.errors import SandboxError
from helpers.instructor.sandbox.limits import LIMITS, Limits, counted_by_namespace
from helpers.instructor.sandbox.tree import kill_sandbox, kill_tree
from helpers.instructor.sandbox.visible import course_files
from helpers.instructor.sandbox.watch import WATCH

FIRST_UID = 61000  # where root grades, sandbox number n is user 61000 + n
_START_SECONDS = 120.0
_ANSWER_SECONDS = 20.0
_MESSAGE = 4096


@dataclass
class Child:
    """A submission's process. socket: the judge's end. pid: its number inside the sandbox."""

    socket: socket.socket
    pid: int
    generation: int


class Sandbox:
    """One sandbox; started where it is first needed, and again where it was thrown away.

    number: no other sandbox of this machine has it. Use it in the main thread of a process: with
    that thread, it ends. trouble: why the sandbox of the last child was ended from here: "memory",
    "files", "dirty" or "gone"; "" where it was not.
    """

    def __init__(
        self, number: int, lesson: str, mode: Mode = "bubblewrap", limits: Limits = LIMITS
    ) -> None:
        self.number, self.lesson, self.mode, self.limits = number, lesson, mode, limits
        self.trouble = ""
        self.why = ""  # what was not as before, where it is "dirty"
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._folder = ""
        self._owner = os.getpid()
        atexit.register(self.stop)

    @property
    def uid(self) -> int:
        """Its user outside."""
        own = os.getuid()
        return FIRST_UID + self.number if own == 0 and self.mode == "bubblewrap" else own

    @property
    def pid(self) -> int | None:
        """The process, outside, with which everything in it ends; None where it does not run."""
        return self._process.pid if self._process is not None else None

    def fork(self) -> Child:
        """A new child. Raises SandboxError where the sandbox does not start."""
        self.why = ""
        for _ in range(2):
            if self._process is None:
                self._start()
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    pid = self._ask({"do": "fork"}, theirs.fileno())["pid"]
            except (OSError, ValueError, KeyError):  # somebody ended it between two submissions
                ours.close()
                self.stop()
                continue
            self.trouble = ""
            WATCH.add(self)
            return Child(ours, pid, self.starts)
        raise SandboxError(
            "The sandbox ends as soon as it has started. Was memory short? `./course doctor` says "
            "what this machine has."
        )

    def end(self, child: Child) -> None:
        """End a child; throw the sandbox away where it is not as it was before."""
        child.socket.close()
        if self._process is None or child.generation != self.starts:
            return
        try:
            self.why = self._ask({"do": "end", "pid": child.pid})["dirty"]
        except (OSError, ValueError, KeyError):
            self.trouble = self.trouble or "gone"
        if self.why:
            self.trouble = self.trouble or "dirty"
        if self.trouble:
            self.stop()

    def stop(self) -> None:
        """End everything in it, and return when it is gone. A later fork starts it again."""
        WATCH.remove(self)
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        if self._control is not None:
            self._control.close()
        self._kill(process.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def overdone(self, trouble: str) -> None:
        """End everything in it, because of this; from any thread."""
        self.trouble = trouble
        if self._process is not None:
            self._kill(self._process.pid)

    def _kill(self, pid: int) -> None:
        (kill_tree if self.mode == "none" else kill_sandbox)(pid)

    def _start(self) -> None:
        """Start the sandbox and wait until it has loaded everything."""
        self._control, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile() as errors:
            command = self._command(theirs.fileno())
            try:
                self._process = subprocess.Popen(
                    command.words,
                    pass_fds=[theirs.fileno(), *command.fds],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    cwd=self._scratch or "/",
                    env=self._environment(),
                    start_new_session=True,
                )
            finally:
                command.close()
            theirs.close()
            self.starts += 1
            try:
                self._control.settimeout(_START_SECONDS)
                answer = self._control.recv(_MESSAGE)
            except OSError:
                answer = b""
            if not answer:
                self.stop()
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                last = said[-1] if said else "it says nothing"
                raise SandboxError(f"The sandbox does not start: {last}")

    def _command(self, control: int) -> Command:
        """What to start; it inherits `control`."""
        files = course_files(self.lesson)
        if self.mode == "none":
            self._folder = tempfile.mkdtemp(prefix="course-grading-")
            Path(self._scratch).mkdir()
            for path, content in files.items():
                place = Path(self._folder, "course", path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        configuration = {
            "fd": control,
            "limits": self.limits.of_process(self.uid, self._counted_alone()),
            "scratch": [self._scratch] if self.mode == "none" else SCRATCH,
            "folder": self._folder,
        }
        python = [sys.executable, "-P", "-s", "-m", "helpers.worker.zygote"]
        program = [*python, json.dumps(configuration)]
        if self.mode == "none":
            return Command(program)
        return sandboxed(program, files, self.limits, self.uid, seccomp.program())

    @property
    def _scratch(self) -> str:
        """Without bubblewrap: the folder to work in."""
        return str(Path(self._folder, "scratch")) if self._folder else ""

    def _counted_alone(self) -> bool:
        """Whether the sandbox's processes are all that count against their limit."""
        return self.mode != "none" and (os.getuid() == 0 or counted_by_namespace())

    def _environment(self) -> dict[str, str]:
        if self.mode != "none":
            return dict(os.environ)
        own = {"HOME": self._scratch, "TMPDIR": self._scratch}
        own["PYTHONPATH"] = str(Path(self._folder, "course"))
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH")}
        return {**ENVIRONMENT, **kept, **own}

    def _ask(self, request: dict[str, Any], *fds: int) -> dict[str, Any]:
        """A request to the zygote and its answer. Raises OSError where it is gone or stuck."""
        assert self._control is not None
        self._control.settimeout(_ANSWER_SECONDS)
        message = json.dumps(request).encode()
        socket.send_fds(self._control, [message], fds)
        answer: dict[str, Any] = json.loads(self._control.recv(_MESSAGE))
        return answer
