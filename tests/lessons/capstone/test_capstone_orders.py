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
Results = dict[str, tuple[dict[str, list[float]], dict[str, list[float]]]]
ENDS = {A: [9.0, 8.0, 8.5], B: [8.0, 9.1, 8.3]}


def settings(here: dict[str, list[float]], there: dict[str, list[float]]) -> Results:
    return {"hosts": (here, ENDS), "clock": (there, ENDS)}


def shares(here: float, there: float) -> dict[str, dict[str, list[float]]]:
    """Shares of the gradients that were needed: by `A` 0.4, by `B` so many."""
    return {"hosts": {A: [0.4] * 3, B: [here] * 3}, "clock": {A: [0.4] * 3, B: [there] * 3}}


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


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (0.4, "The time of a gradient changed more."),
        (0.05, "The number of gradients changed more."),
    ],
)
def test_what_turned_a_pair_is_told(there: float, words: str) -> None:
    # 8 s for 0.4 of the gradients; there 1 s for as many, or for an eighth of them.
    results = settings({A: [4.0, 4.1, 3.9], B: [8.0, 8.1, 8.2]}, {A: [4.0, 4.1, 3.9], B: [1, 1, 1]})
    said = orders.agreement(results, shares(0.4, there), compare)
    assert said[0].startswith("By time to the target the settings do not agree.")
    (why,) = [one for one in said if "is before" in one]
    assert why.startswith(
        f"{A} is before {B} in hosts, and behind it in clock. {B.capitalize()} needs 1.00"
    )
    assert why.endswith(words)


def test_settings_that_agree_need_no_reason() -> None:
    times = {A: [4.0, 4.1, 3.9], B: [8.0, 8.1, 8.2]}
    said = orders.agreement(settings(times, times), shares(0.4, 0.4), compare)
    assert said[0].startswith("By time to the target the settings agree.") and len(said) == 3
    assert said[2] == "No order of two ends turns surely between two settings."


def test_equal_medians_have_no_order_that_could_turn() -> None:
    same = {A: [4.0, 4.1, 3.9], B: [4.0, 4.2, 3.8]}
    results = settings(same, {A: [4.0, 4.1, 3.9], B: [1.0, 1.1, 0.9]})
    assert orders.turned(results, shares(0.4, 0.4), compare) == []


def test_an_order_that_may_be_luck_is_no_order() -> None:
    results = settings({A: [4.0, 9.0, 2.0], B: [5.0, 3.0, 6.0]}, {A: [4.0] * 3, B: [1.0] * 3})
    said = orders.agreement(results, shares(0.4, 0.4), compare)
    assert (
        f"In another order, but not told apart in at least one of the settings: {A} and {B}."
        in said
    )


def test_who_never_arrives_has_no_factor() -> None:
    results = settings({A: [4.0] * 3, B: [8.0, 8.1, 8.2]}, {A: [math.inf] * 3, B: [9.0] * 3})
    lost = {**shares(0.4, 0.4), "clock": {A: [math.inf] * 3, B: [0.4] * 3}}
    said = orders.agreement(results, lost, compare)
    assert (
        f"{A} does not arrive in clock, and so is behind {B} there; in hosts it is before." in said
    )


def test_ends_that_turn_surely_are_told() -> None:
    times = {A: [4.0] * 3, B: [8.0, 8.1, 8.2]}
    low, high = [7.0, 7.1, 6.9], [9.0, 9.2, 9.1]
    results: Results = {
        "hosts": (times, {A: low, B: high}),
        "clock": (times, {A: high, B: low}),
    }
    assert orders.orders_of(results)[0] == ["time to the target", "hosts", f"{A}, {B}"]
    said = orders.agreement(results, shares(0.4, 0.4), compare)[-1]
    assert said == (
        f"Ends that surely turn: {A} ended lower than {B} in hosts, and higher in clock."
    )
