"""What set-up shows while it works, and how it runs a long command."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

GUARD = Path(__file__).with_name("guard.py")
PLAIN_EVERY = 30.0  # seconds between two lines where a line cannot be rewritten


def base_python() -> str:
    """The Python behind the environment: it stays when the environment is made anew."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def clock(seconds: float) -> str:
    """Minutes and seconds, as in 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Step:
    """One numbered step: a line that is rewritten in a terminal, and a few lines elsewhere."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.started = time.monotonic()
        self.shown = self.started
        self.rewrites = sys.stdout.isatty() and not os.environ.get("CI")
        self._write(f"{title} …")

    def note(self, words: str) -> None:
        """Show how far the step is; elsewhere than in a terminal, only now and then."""
        now = time.monotonic()
        line = f"{self.title} … {clock(now - self.started)} {words}"
        if self.rewrites:
            self._write(line)
        elif now - self.shown >= PLAIN_EVERY:
            self.shown = now
            self._write(line)

    def done(self, words: str = "done") -> None:
        self._write(f"{self.title}: {words} ({clock(time.monotonic() - self.started)})")
        if self.rewrites:
            print(flush=True)

    def _write(self, line: str) -> None:
        if self.rewrites:
            width = max(20, _columns() - 1)
            print(f"\r\x1b[2K{line[:width]}", end="", flush=True)
        else:
            print(line, flush=True)


def _columns() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 80


def run(
    command: Sequence[str | os.PathLike[str]],
    log: Path,
    step: Step,
    describe: Callable[[str], str | None] = lambda line: line,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run a command, append its output to `log`, and show what `describe` makes of its lines.

    The command ends with this process, however this process ends (see guard.py).
    Returns the exit status.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", errors="replace") as file:
        file.write("$ " + " ".join(str(part) for part in command) + "\n")
        file.flush()
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
        try:
            _follow(process.stdout, file, step, describe)
            return process.wait()
        finally:
            process.stdin.close()  # ends the command where we leave early
            process.wait()


def _follow(
    output: IO[str], file: IO[str], step: Step, describe: Callable[[str], str | None]
) -> None:
    """Copy lines to the log until the output ends; the clock moves on while there are none."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in output:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    words = ""
    while True:
        try:
            line = lines.get(timeout=1.0)
        except queue.Empty:
            step.note(words)
            continue
        if line is None:
            return
        file.write(line)
        file.flush()
        said = describe(line.strip())
        if said:
            words = said
            step.note(words)


def tail(log: Path, lines: int = 12) -> str:
    """The last lines of a log, for an error message."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
