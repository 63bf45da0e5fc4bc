"""A sandbox as the judge has it: children for it, and a new one whenever one was spoilt."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from helpers.grade.grades import Mode
from helpers.grade.sandbox import seccomp
from helpers.grade.sandbox.command import SCRATCH, Command, SandboxError, bare, sandboxed, zygote
from helpers.grade.sandbox.limits import (
    LIMITS,
    WATCH,
    Limits,
    counted_by_namespace,
    inside,
    kill_sandbox,
    kill_tree,
    user_of,
)
from helpers.grade.sandbox.visible import course_files, frameworks

# Only what is past all patience ends so: starting is nobody's time but the machine's.
_START_SECONDS = 1800.0
_END_SECONDS = 60.0  # many processes with much memory take their time
_ANSWER_SECONDS = 600.0
_MESSAGE = 4096


class Running:
    """A sandbox from its start to its end; start it in the main thread.

    It loads the frameworks while this process goes on; `ready` waits for that. Raises SandboxError
    where the command cannot be made.
    """

    def __init__(self, lesson: str, mode: Mode, limits: Limits, uid: int) -> None:
        self.mode = mode
        self.folder = tempfile.mkdtemp(prefix="course-grading-") if mode == "none" else ""
        self._control, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._is_ready = False
        try:
            with theirs:
                command, environment, cwd = self._command(lesson, limits, uid, theirs.fileno())
                try:
                    self.process = subprocess.Popen(
                        command.words,
                        pass_fds=[theirs.fileno(), *command.fds],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=self._errors,
                        cwd=cwd,
                        env=environment,
                        start_new_session=True,
                    )
                finally:
                    command.close()
        except BaseException:
            self._close()
            raise

    def _command(
        self, lesson: str, limits: Limits, uid: int, control: int
    ) -> tuple[Command, dict[str, str] | None, str]:
        """What to start, its environment, and where; it inherits `control`."""
        files = course_files(lesson)
        if self.mode == "none":
            environment, scratch = bare(self.folder, files)
            resources = limits.of_process(uid, counted_alone=False)
            program = zygote(control, resources, [scratch], frameworks(lesson), self.folder)
            return Command(program), environment, scratch
        alone = uid != os.getuid() or counted_by_namespace()
        program = zygote(control, limits.of_process(uid, alone), SCRATCH, frameworks(lesson))
        return sandboxed(program, files, limits, uid, seccomp.program()), None, "/"

    def ready(self) -> None:
        """Wait until everything is loaded. Raises SandboxError where it has ended instead."""
        if self._is_ready:
            return
        self._control.settimeout(_START_SECONDS)
        try:
            self._is_ready = json.loads(self._control.recv(_MESSAGE))["ready"]
        except (OSError, ValueError):
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines()
            raise SandboxError(
                f"The sandbox does not start: {said[-1] if said else 'it says nothing.'}"
            ) from None

    def ask(self, request: dict[str, Any], *fds: int) -> dict[str, Any]:
        """A request to the zygote and its answer. Raises OSError, ValueError where it is gone."""
        self._control.settimeout(_ANSWER_SECONDS)
        socket.send_fds(self._control, [json.dumps(request).encode()], fds)
        answer: dict[str, Any] = json.loads(self._control.recv(_MESSAGE))
        return answer

    def kill(self) -> None:
        """End everything in it, without waiting for that; from any thread."""
        if self.process.poll() is None:
            (kill_tree if self.mode == "none" else kill_sandbox)(self.process.pid)

    def end(self) -> None:
        """End everything in it, and return when it is gone."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        self.process.kill()
        self.process.wait()
        self._close()

    def _close(self) -> None:
        self._control.close()
        self._errors.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Child:
    """A submission's process. socket: the judge's end. pid: its number inside the sandbox.

    running: the start of the sandbox that it belongs to.
    """

    socket: socket.socket
    pid: int
    running: Running
    sandbox: Sandbox

    def processes(self) -> list[int]:
        """The processes of its sandbox, by their numbers outside."""
        return inside(self.sandbox)


class Sandbox:
    """One sandbox; started where it is first needed, and again where it was thrown away.

    number: no other sandbox of this machine has it. Use it in the main thread of a process: with
    that thread, it ends. why: why the sandbox of the last child was thrown away, such as "a file is
    left"; "" where it was not.
    """

    def __init__(
        self, number: int, lesson: str, mode: Mode = "bubblewrap", limits: Limits = LIMITS
    ) -> None:
        self.number, self.lesson, self.mode, self.limits = number, lesson, mode, limits
        self.why = ""
        self._running: Running | None = None
        self._children: set[int] = set()
        self._owner = os.getpid()
        atexit.register(self.stop)

    @property
    def pid(self) -> int | None:
        """The process, outside, with which everything in it ends; None where it does not run."""
        return self._running.process.pid if self._running is not None else None

    def prepare(self) -> Running:
        """Begin to start it where it does not run; nothing waits for that before `fork` does.

        Raises SandboxError where that cannot even begin.
        """
        if self._running is None:
            uid = user_of(self.number, self.mode)
            self._running = Running(self.lesson, self.mode, self.limits, uid)
        return self._running

    def fork(self) -> Child:
        """A new child. Raises SandboxError where the sandbox does not start."""
        for _ in range(2):
            running = self.prepare()
            try:
                running.ready()
            except SandboxError:
                self.stop()
                raise
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    pid = running.ask({"do": "fork"}, theirs.fileno())["pid"]
            except (OSError, ValueError, KeyError):  # somebody ended it between two submissions
                ours.close()
                self.stop()
                continue
            self.why = ""
            self._children.add(pid)
            WATCH.add(self)
            return Child(ours, pid, running, self)
        raise SandboxError(
            "The sandbox ends as soon as it has started. Was memory short? `./course doctor` says "
            "what this machine has."
        )

    def end(self, child: Child) -> None:
        """End a child; throw the sandbox away where it is not as it was before.

        A new one then begins to start, for the next child.
        """
        child.socket.close()
        if child.running is not self._running:
            return
        self._children.discard(child.pid)
        try:
            self.why = self.why or child.running.ask({"do": "end", "pid": child.pid})["dirty"]
        except (OSError, ValueError, KeyError):
            self.why = self.why or "it is gone"
        if not self._children:
            WATCH.remove(self)
        if self.why:
            self.stop()
            self.prepare()

    def stop(self) -> None:
        """End everything in it, and return when it is gone. A later fork starts it again."""
        WATCH.remove(self)
        running, self._running = self._running, None
        self._children.clear()
        if running is not None and self._owner == os.getpid():
            running.end()

    def overdone(self, why: str) -> None:
        """End everything in it, because of this; from any thread."""
        self.why = why
        if self._running is not None:
            self._running.kill()
