"""What a notebook adds to a run's trace: importing this gives it `.plot()` and `.explore()`.

The engine draws nothing; `helpers.run` imports this.
"""

from __future__ import annotations

from helpers.engine.trace import Trace
from helpers.notebook.timeline import timeline


def explore(trace: Trace) -> None:
    """In a notebook: a timeline that zooms, and names the event under the pointer."""
    from helpers.notebook.timeline_viewer import explore_trace

    explore_trace(trace)


Trace.plot = timeline
Trace.explore = explore  # type: ignore[assignment]
