"""Wrong answers to lesson 11 that nobody's table lists."""

from __future__ import annotations

from typing import Any

from helpers.checks import find
from helpers.lessons.quantization.exercises.codes import plain
from tests.checks.table import verdict


def refuses_a_range_of_one_value(values: Any, low: float, high: float, bits: int = 8) -> Any:
    if low >= high:
        raise ValueError("low < high")
    return plain(values, low, high, bits)


def test_a_range_of_one_value_is_widened_and_not_refused() -> None:
    found = verdict(find("11.1"), refuses_a_range_of_one_value)
    assert found.status == "wrong" and "With the range 11 to 11" in found.hint
