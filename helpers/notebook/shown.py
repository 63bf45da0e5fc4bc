"""What a run shows in a notebook: its trace, drawn. The engine draws nothing.

Importing this adds `.plot()` and `.explore()` to traces; `helpers.run` does so.
"""

from __future__ import annotations

from typing import Any

from helpers.engine.trace import Trace


def plot(trace: Trace, **options: Any) -> Any:
    """Draw the timeline: a row a rank, computing, sending and waiting in colour."""
    from helpers.notebook.timeline import timeline

    return timeline(trace, **options)


def explore(trace: Trace) -> None:
    """In a notebook: a timeline that zooms, and names the event under the pointer."""
    from helpers.notebook.timeline_viewer import explore_trace

    explore_trace(trace)


Trace.plot = plot
Trace.explore = explore  # type: ignore[assignment]
