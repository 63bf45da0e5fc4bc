"""What a run shows in a notebook: its trace, drawn, and a job's bar. The engine draws nothing.

Importing this adds `.plot()` and `.explore()` to traces; `helpers.run` does so.
"""

from __future__ import annotations

from typing import Any

from helpers.engine.cluster import bar
from helpers.engine.trace import Trace
from helpers.notebook.failed_cells import in_notebook
from helpers.notebook.progress import shown_bar


def plot(trace: Trace, **options: Any) -> Any:
    """Draw the timeline: a row a rank, computing, sending and waiting in colour."""
    from helpers.notebook.timeline import timeline

    return timeline(trace, **options)


def explore(trace: Trace) -> None:
    """In a notebook: a timeline that zooms, and names the event under the pointer."""
    from helpers.notebook.timeline_viewer import explore_trace

    explore_trace(trace)


def job_bar(steps: int) -> Any:
    """An empty bar, displayed; None outside a notebook."""
    return shown_bar(steps, "Job") if in_notebook() else None


Trace.plot = plot
Trace.explore = explore  # type: ignore[assignment]
bar.make_widget = job_bar
