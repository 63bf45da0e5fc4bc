"""A step cut out of a trace, and how much of the communication lies beside computing."""

from __future__ import annotations

import pytest

from helpers.engine.trace import Event, Trace
from helpers.lessons.data_parallel.figures.step_view import last_step, share_beside


def test_the_share_beside_computing_is_of_all_that_communication_threads_do() -> None:
    events = [
        Event(0, "computing", 0.0, 4.0),
        Event(0, "waiting", 4.0, 6.0),
        Event(0, "sending", 3.0, 5.0, lane=1),
        Event(1, "computing", 0.0, 1.0),
        Event(1, "waiting", 2.0, 4.0, lane=1),
    ]
    assert share_beside(Trace(events, 2, virtual=True)) == pytest.approx(1 / 4)
    assert share_beside(Trace(events[:2], 1, virtual=True)) == 0.0


def test_the_last_step_begins_after_the_last_barrier() -> None:
    events = [Event(0, "waiting", 1.0, 2.0, "barrier"), Event(0, "computing", 2.0, 5.0)]
    (only,) = last_step(Trace(events, 1, virtual=True))
    assert (only.start, only.end) == (0.0, 3.0)
