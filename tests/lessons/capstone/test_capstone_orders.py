"""Why the ways are in another order in another setting: two factors, and who turned."""

from __future__ import annotations

import math

import pytest

from helpers.lessons.capstone.algorithms.paired import compare
from helpers.lessons.capstone.algorithms.timing import timed
from helpers.lessons.capstone.experiments import orders
from helpers.lessons.capstone.experiments.logbook import Logbook
from helpers.lessons.capstone.experiments.race import tables
from helpers.lessons.capstone.experiments.settings import WAYS

A, B = WAYS[:2]
Results = dict[str, tuple[dict[str, list[float]], dict[str, list[float]]]]
ENDS = {A: [9.0, 8.0, 8.5], B: [8.0, 9.1, 8.3]}


def settings(here: dict[str, list[float]], there: dict[str, list[float]]) -> Results:
    return {"hosts": (here, ENDS), "clock": (there, ENDS)}


def test_a_time_is_the_product_of_its_factors() -> None:
    book = Logbook(None)
    looks = [[2.0, 1.0, 80.0], [4.0, 1.0, 10.0], [6.0, 1.0, 10.0], [10.0, 1.0, 9.0]]
    for way in WAYS:
        seconds, end = timed(lambda: (1.0, looks), 50.0)  # type: ignore[arg-type, return-value]
        book.add("run", setting="hosts", way=way, seed=0, rate=0.1, seconds=seconds, end=end,
                 began=1.0, looks=looks)  # fmt: skip
    shares = orders.needed(book, "hosts")
    assert shares == {way: [2 / 3] for way in WAYS}  # the third look of 0, 1, 2, 3
    found = orders.factors(tables(book, "hosts")[0], shares)[A]
    assert found.gradients * found.pace == pytest.approx(3.0) and found.gradients == 2 / 3


def test_orders_that_turn_are_told() -> None:
    """Surely where both intervals lie on one side of 0, or one never arrives; else as doubtful."""
    slow = {A: [4.0, 4.1, 3.9], B: [8.0, 8.1, 8.2]}
    turned = {A: [4.0, 4.1, 3.9], B: [1.0, 1.0, 1.0]}
    said = orders.agreement(settings(slow, turned), compare)
    assert said[0] == (
        f"By the time to the target the settings do not agree. Surely: {A} before {B} in hosts, "
        "and behind it in clock."
    )
    assert said[1:] == ["By the error at the end the settings agree."]
    never = orders.agreement(settings(slow, {A: [math.inf] * 3, B: [9.0] * 3}), compare)
    assert never[0] == said[0]
    luck = settings({A: [4.0, 9.0, 2.0], B: [5.0, 3.0, 6.0]}, turned)
    assert orders.agreement(luck, compare)[:2] == [
        "By the time to the target no order turns surely between two settings.",
        f"Turned, but not told apart in one of the two: {A} and {B}.",
    ]


def test_settings_that_agree_or_have_no_order_need_no_reason() -> None:
    times = {A: [4.0, 4.1, 3.9], B: [8.0, 8.1, 8.2]}
    agrees = "By the time to the target the settings agree."
    assert orders.agreement(settings(times, times), compare)[0] == agrees
    same = {A: [4.0, 4.1, 3.9], B: [4.0, 4.2, 3.8]}
    turned = {A: [4.0, 4.1, 3.9], B: [1.0, 1.1, 0.9]}
    assert orders.agreement(settings(same, turned), compare)[0] == agrees
    assert orders.orders_of(settings(times, times))[0] == [
        "time to the target",
        "hosts",
        f"{A}, {B}",
    ]
    (nothing,) = orders.agreement({}, compare)
    assert nothing.startswith("Fewer than two settings")
