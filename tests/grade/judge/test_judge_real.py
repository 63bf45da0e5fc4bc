"""What is the same on real ranks: all that the judge saw and that does not follow the time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.checks import find
from helpers.grade.judge.real import _same

OVERLAP = find("03.5")  # its sums, and when backward ends, depend on time; what is kept, nobody saw


def did(**changed: object) -> list[dict[str, Any]]:
    """What one rank did."""
    return [{"weights": np.ones(3), "log": [{"step": 1, "kept": 8}], "ends": 0.1} | changed]


def test_what_depends_on_time_and_what_nobody_saw_is_left_out() -> None:
    assert _same(OVERLAP, did(), did())
    assert _same(OVERLAP, did(ends=9.0), did(log=[{"step": 1, "kept": 0}]))
    assert _same(find("02.1"), [{"open": 1, "returned": 3}], [3])


@pytest.mark.parametrize(
    "real", [did(weights=np.zeros(3)), did(log=[]), did(more=1), did(log=[{"step": 2, "kept": 8}])]
)
def test_what_differs_is_seen(real: list[dict[str, Any]]) -> None:
    assert not _same(OVERLAP, real, did())
    assert not _same(OVERLAP, [], did())
