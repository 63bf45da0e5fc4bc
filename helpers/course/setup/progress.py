"""What set-up shows while it works, and how it runs a long command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
PLAIN_EVERY = 30.0  # seconds between two lines where a line cannot be rewritten


class SetupFailed(Exception):
    """Set-up cannot go on; the message says what is wrong and what to do."""


def base_python() -> str:
    """The Python behind the environment: it stays when the environment is made anew."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def clock(seconds: float) -> str:
    """Minutes and seconds, as in 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Step:
    """One numbered step: a line that is rewritten in a terminal, and a few lines elsewhere.

    quiet: only its end is shown, as where something else uses the terminal meanwhile.
    """

    def __init__(self, title: str, quiet: bool = False) -> None:
        self.title, self.quiet = title, quiet
        self.said = ""  # the last line of what runs
        self.started = self.shown = time.monotonic()
        self.rewrites = sys.stdout.isatty() and not os.environ.get("CI") and not quiet
        if not quiet:
            self._write(f"{title} …")

    def show(self) -> None:
        """Show how far the step is; elsewhere than in a terminal, only now and then."""
        now = time.monotonic()
        if self.quiet or not (self.rewrites or now - self.shown >= PLAIN_EVERY):
            return
        self.shown = now
        self._write(f"{self.title} … {clock(now - self.started)} {self.said[:100]}")

    def done(self, words: str = "done") -> None:
        """Show how the step has ended."""
        self._write(f"{self.title}: {words} ({clock(time.monotonic() - self.started)})")
        if self.rewrites:
            print(flush=True)

    def _write(self, line: str) -> None:
        if self.rewrites:
            width = max(20, shutil.get_terminal_size().columns - 1)
            print(f"\r\x1b[2K{line[:width]}", end="", flush=True)
        else:
            print(line, flush=True)


def run(
    command: Sequence[str | os.PathLike[str]],
    log: Path,
    step: Step,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run a command, append its output to `log`, and show its last line and the time.

    The command ends with this process, however this process ends (see guard.py). Returns its exit
    status.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", errors="replace", buffering=1) as file:
        file.write("$ " + " ".join(str(part) for part in command) + "\n")
        process = subprocess.Popen(
            [base_python(), "-I", "-S", str(GUARD), *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=None if env is None else dict(env),
        )
        assert process.stdin is not None and process.stdout is not None
        over = threading.Event()
        watch = threading.Thread(target=_show_until, args=(step, over), daemon=True)
        watch.start()
        try:
            for line in process.stdout:
                file.write(line)
                step.said = line.strip() or step.said
            return process.wait()
        finally:
            process.stdin.close()  # ends the command where we leave early
            over.set()
            watch.join()
            process.wait()


def _show_until(step: Step, over: threading.Event) -> None:
    while not over.wait(0.5):
        step.show()


def tail(log: Path, lines: int = 12) -> str:
    """The last lines of a log, for an error message."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
