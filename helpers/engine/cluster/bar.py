"""How far a job is: a bar in a notebook, and a line for each change everywhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Displays an empty bar of so many steps; `helpers.notebook.shown` has it.
make_widget: Callable[[int], Any] | None = None


class Bar:
    """A bar that is gone when the job has ended. show=False shows nothing."""

    def __init__(self, steps: int, show: bool) -> None:
        self.shown, self.since = show, time.monotonic()
        self.widget = make_widget(steps) if show and make_widget is not None else None

    def show(self, step: int) -> None:
        """So many ranks have started, and so many have answered."""
        if self.widget is not None and self.widget.value != step:
            self.widget.value = step

    def say(self, words: str) -> None:
        """A line about the job."""
        if self.shown:
            print(words, flush=True)

    def close(self) -> None:
        """Take the bar away."""
        if self.widget is not None:
            self.widget.close()
            self.widget = None
