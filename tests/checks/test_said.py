"""What a hint says of an answer is so: hints that count, look up or compare by themselves."""

from __future__ import annotations

import pytest

from helpers.checks import find
from helpers.checks.spec import Case, Observation


@pytest.mark.parametrize(
    ("order", "said"),
    [([0, 1, 1], "number 1 stands there 2 times"), ([2, 0, 2], "number 2 stands there 2 times")],
)
def test_of_an_order_with_a_branch_twice_which_it_is(order: list[int], said: str) -> None:
    exercise = find("01.3")
    index = next(answer for answer in exercise.wrong if callable(answer.says))
    branches = [(8, 1), (4, 2), (4, 2)]
    case = Case("For three branches", ((branches,),), facts={"best": 1})
    assert callable(index.says)
    assert said in (index.says(case, Observation(values=[order])) or "")
