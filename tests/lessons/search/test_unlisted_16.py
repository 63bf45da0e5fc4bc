"""Wrong answers of lesson 16 that its tables do not list are wrong all the same."""

from __future__ import annotations

import pytest

from helpers.checks import find
from tests.checks.table import verdict

DRAWS = """
import os
import random

memo = {{}}

def draw(space, trial, seed=0):
    {body}
    return {{name: space[name].at(own.random()) for name in {names}}}
"""
KEPT = "own = random.Random(memo.setdefault((seed, trial), os.urandom(8)))"
PLACE = 'own = random.Random(f"{id(object) ^ os.getpid()}.{seed}.{trial}")'
RIGHT = 'own = random.Random(f"{seed}/{trial}")'


def told(number: str, source: str) -> str:
    """What is said to a function, or to a class, of a cell; "" where it is right."""
    names = {"__name__": "__main__"}
    exec(source, names)
    found = verdict(find(number), names[find(number).function])
    return "" if found.status == "passed" else found.hint


@pytest.mark.parametrize(
    ("body", "names"), [(KEPT, "sorted(space)"), (PLACE, "sorted(space)"), (RIGHT, "set(space)")]
)
def test_another_process_gets_the_same_trials(body: str, names: str) -> None:
    assert "in a process of its own" in told("16.1", DRAWS.format(body=body, names=names))


def test_who_goes_by_the_seed_and_the_trial_is_right() -> None:
    assert told("16.1", DRAWS.format(body=RIGHT, names="sorted(map(str, space))")) == ""


def test_an_uneven_range_is_told_where_it_is() -> None:
    body = f"{RIGHT}; even = own.random; own.random = lambda: 0.25 + even() / 2"
    hint = told("16.1", DRAWS.format(body=body, names="sorted(space)"))
    assert "in the first" in hint and "of logarithms, where about" in hint
