"""How far grading is: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import time

from helpers.setup.progress import PLAIN_EVERY, clock


class Progress:
    """Shows how many submissions have their result. Use it in a `with` block.

    total: all of them; done: those that had one before.
    """

    def __init__(self, total: int, done: int) -> None:
        from rich import progress
        from rich.console import Console

        self.total, self.done = total, done
        self._plain = not sys.stderr.isatty() or bool(os.environ.get("CI"))
        self._begun = self._said = time.monotonic()
        self._bar = progress.Progress(
            "Grading",
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            "left",
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=self._plain,
        )
        self._task = self._bar.add_task("", total=total, completed=done)

    def __enter__(self) -> Progress:
        self._bar.start()
        if self._plain and self.done:
            print(f"{self.done} of {self.total} have their result from before.", file=sys.stderr)
        return self

    def step(self) -> None:
        """One more has its result."""
        self.done += 1
        self._bar.advance(self._task)
        if self._plain and time.monotonic() - self._said >= PLAIN_EVERY:
            self._said = time.monotonic()
            took = clock(self._said - self._begun)
            print(f"{self.done} of {self.total}, {took}", file=sys.stderr, flush=True)

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()
