"""How far a job is: a bar in a notebook, and a line for each change everywhere."""

from __future__ import annotations

import time
from typing import Any


class Bar:
    """A bar that is gone when the job has ended. show=False shows nothing."""

    def __init__(self, steps: int, show: bool) -> None:
        from helpers.notebook.progress import in_notebook

        self.shown, self.since, self.widget = show, time.monotonic(), None
        if show and in_notebook():
            self.widget = make_widget(steps)

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


def make_widget(steps: int) -> Any:
    """An empty bar, displayed."""
    import ipywidgets

    from helpers.notebook.widgets import show_widget

    widget = ipywidgets.IntProgress(
        max=steps, description="Job", style={"description_width": "6em"}
    )
    show_widget(widget)
    return widget
