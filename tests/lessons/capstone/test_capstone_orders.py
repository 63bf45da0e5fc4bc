"""Why the ways are in another order in another setting: two factors, and sentences of them."""

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


FIRST, SECOND, LOST = [4.0, 4.1, 3.9], [8.0, 8.1, 8.2], [math.inf] * 3
LOW, HIGH = [7.0, 7.1, 6.9], [9.0, 9.2, 9.1]
EVEN = ([9.0, 8.0, 8.5], [8.0, 9.1, 8.3])
# By case: of A and B the times on hosts and on the clock, the shares of the gradients that each
# needed on the clock (on hosts both 0.4), the ends in either setting, and what is said.
CASES = {
    "the pace turned it": (
        (FIRST, SECOND), (FIRST, [1.0] * 3), (0.4, 0.4), EVEN, EVEN,
        [
            "By time to the target the settings do not agree.",
            f"{A} is before {B} in hosts, and behind it in clock. {B.capitalize()} needs 1.00",
            "The time of a gradient changed more.",
        ],
    ),
    "the gradients turned it": (
        (FIRST, SECOND), (FIRST, [1.0] * 3), (0.4, 0.05), EVEN, EVEN,
        ["The number of gradients changed more."],
    ),
    "they agree": (
        (FIRST, SECOND), (FIRST, SECOND), (0.4, 0.4), EVEN, EVEN,
        [
            "By time to the target the settings agree.",
            "No order of two ends turns surely between two settings.",
        ],
    ),
    "it may be luck": (
        ([4.0, 9.0, 2.0], [5.0, 3.0, 6.0]), ([4.0] * 3, [1.0] * 3), (0.4, 0.4), EVEN, EVEN,
        [f"In another order, but not told apart in at least one of the settings: {A} and {B}."],
    ),
    "one never arrives": (
        ([4.0] * 3, SECOND), (LOST, [9.0] * 3), (math.inf, 0.4), EVEN, EVEN,
        [f"{A} does not arrive in clock, and so is behind {B} there; in hosts it is before."],
    ),
    "the ends turn": (
        (FIRST, SECOND), (FIRST, SECOND), (0.4, 0.4), (LOW, HIGH), (HIGH, LOW),
        [f"Ends that surely turn: {A} ended lower than {B} in hosts, and higher in clock."],
    ),
    "equal medians have no order": (
        (FIRST, [4.0, 4.2, 3.8]), (FIRST, [1.0, 1.1, 0.9]), (0.4, 0.4), EVEN, EVEN, [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_turned_a_pair_is_told(case: str) -> None:
    here, there, needed, ends, others, words = CASES[case]
    results = {
        "hosts": ({A: here[0], B: here[1]}, {A: ends[0], B: ends[1]}),
        "clock": ({A: there[0], B: there[1]}, {A: others[0], B: others[1]}),
    }
    shares = {
        "hosts": {A: [0.4] * 3, B: [0.4] * 3},
        "clock": {A: [needed[0]] * 3, B: [needed[1]] * 3},
    }
    said = "\n".join(orders.agreement(results, shares, compare))
    for one in words:
        assert one in said
    if not words:
        assert orders.turned(results, shares, compare) == []
