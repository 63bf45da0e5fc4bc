"""What is the same on real ranks: all that the judge saw and that does not follow the time."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.instructor.judge.real import _same


def did(**changed: object) -> list[dict[str, object]]:
    """What one rank did."""
    return [{"weights": np.ones(3), "log": [{"step": 1, "memory": 8}], "ends": 0.1} | changed]


@pytest.mark.parametrize("clocked", [(), ("ends",), ("ends", "not there")])
def test_what_depends_on_time_and_what_nobody_saw_is_left_out(clocked):
    assert _same(did(), did(), clocked)
    assert _same(did(ends=9.0), did(), clocked) == ("ends" in clocked)
    assert _same(did(), did(weights=None), clocked)
    assert _same(did(), did(log=[{"step": 1, "memory": None}]), clocked)


@pytest.mark.parametrize(
    "real",
    [did(weights=np.zeros(3)), did(log=[]), did(more=1), did(log=[{"step": 2, "memory": 8}])],
)
def test_what_differs_is_seen(real):
    assert not _same(real, did(), ("ends",))
    assert not _same([], did(), ())
