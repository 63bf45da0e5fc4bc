"""How far grading is: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from helpers.setup.progress import PLAIN_EVERY, clock


class Progress:
    """Shows how many submissions have their result. Use it in a `with` block.

    total: all of them; done: those that had one before.
    """

    def __init__(self, total: int, done: int) -> None:
        self.total, self.done = total, done
        self._begun = self._said = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and not os.environ.get("CI"):
            self._bar = _bar()
            self._bar.start()
            self._task = self._bar.add_task("Grading", total=self.total, completed=self.done)
        elif self.done:
            print(f"{self.done} of {self.total} have their result from before.", file=sys.stderr)
        return self

    def step(self, name: str) -> None:
        """One more has its result."""
        self.done += 1
        if self._bar is not None:
            self._bar.advance(self._task)
        elif time.monotonic() - self._said >= PLAIN_EVERY:
            self._said = time.monotonic()
            took = clock(self._said - self._begun)
            print(f"{self.done} of {self.total}, {took}", file=sys.stderr, flush=True)

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar() -> Any:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
    )
