"""Independent calls on several processes: in order, and a failure told."""

from __future__ import annotations

import pytest

from helpers.engine.errors import RankFailed
from helpers.lessons.asynchronous.experiments.at_once import at_once

pytestmark = pytest.mark.real


def test_results_come_in_the_order_of_the_calls():
    assert at_once(lambda a, b=1: a * b, [(2, 3), (4,), (5, 6)]) == [6, 4, 30]
    assert at_once(len, [("abc",)]) == [3]


def test_a_call_that_raises_is_told():
    with pytest.raises(RankFailed, match="ZeroDivisionError"):
        at_once(lambda a: 1 / a, [(1,), (0,)])
