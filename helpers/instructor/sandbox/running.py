"""One started sandbox: its process, and the connection to its zygote."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
from typing import Any

from helpers.instructor.grades import Mode
from helpers.instructor.sandbox import cores, seccomp
from helpers.instructor.sandbox.bare import bare
from helpers.instructor.sandbox.command import SCRATCH, Command, sandboxed, zygote
from helpers.instructor.sandbox.errors import SandboxError
from helpers.instructor.sandbox.limits import Limits, counted_by_namespace
from helpers.instructor.sandbox.tree import kill_sandbox, kill_tree
from helpers.instructor.sandbox.users import is_its_own
from helpers.instructor.sandbox.visible import course_files, frameworks

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
                    with cores.all_of_them():
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
        alone = is_its_own(uid) or counted_by_namespace()
        program = zygote(control, limits.of_process(uid, alone), SCRATCH, frameworks(lesson))
        return sandboxed(program, files, limits, uid, seccomp.program()), None, "/"

    def ready(self) -> None:
        """Wait until everything is loaded. Raises SandboxError where it has ended instead."""
        if self._is_ready:
            return
        self._control.settimeout(_START_SECONDS)
        try:
            self._is_ready = bool(json.loads(self._control.recv(_MESSAGE))["ready"])
        except (OSError, ValueError, KeyError):
            self._is_ready = False
        if not self._is_ready:
            self._kill()
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines()
            raise SandboxError(
                f"The sandbox does not start: {said[-1] if said else 'it says nothing.'}"
            )

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
        self._kill()
        self._close()

    def _kill(self) -> None:
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        self.process.kill()
        self.process.wait()

    def _close(self) -> None:
        self._control.close()
        self._errors.close()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
