"""Exercise 01.3, the order with the least peak.

Branches are (work, result) in MiB. The claim: each is there once, by a whole number, no order has a
lower peak, and the list is left as it is: the lesson reckons with it.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from helpers.checks.compare import count, describe, is_array, number
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.devices.algorithms.device_memory import least_peak as reference

Branches = list[tuple[int, int]]
# What the lesson runs for real.
SHOWN: Branches = [(12, 1), (20, 8), (6, 2), (16, 10), (14, 7)]
TWINS: Branches = [(6, 2), (9, 1), (6, 2), (5, 5)]


def peak_of(branches: Sequence[tuple[int, int]], order: Sequence[int]) -> int:
    """The most MiB at any time: what a branch needs, and what those before it keep."""
    kept = accumulate((branches[i][1] for i in order), initial=0)
    return max(held + branches[i][0] for held, i in zip(kept, order, strict=False))


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's five branches, then 1, 2 and 4; else others."""
    random, made = rng(seed, "01.3"), []
    drawn = [_telling(random, size) for size in ((6, 5, 8) if seed else (4,))]
    given = [*drawn, [(7, 2)]] if seed else [SHOWN, [(5, 5)], [(4, 3), (9, 1)], *drawn]
    for branches in (*given, TWINS):
        shown = ", ".join(map(str, branches))
        name = f"For the branches {shown}" if len(branches) < 6 else f"For {len(branches)} branches"
        made.append(Case(name, ((branches,),), facts={"best": _best(branches)}))
    return made


def _telling(random: np.random.Generator, size: int) -> Branches:
    """Branches whose wrong orders are all different, each with a higher peak than the best."""
    for _ in range(20_000):
        work = random.choice(np.arange(5, 64), size, replace=False)
        drawn = [(int(w), int(random.integers(1, w))) for w in work]
        if not all(len(set(numbers)) == size for numbers in zip(*drawn, strict=True)):
            continue
        orders = [answer(drawn) for answer in ORDERS]
        told_apart = len({tuple(order) for order in orders}) == len(orders)
        if told_apart and min(peak_of(drawn, order) for order in orders) > _best(drawn):
            return drawn
    return SHOWN


def _best(branches: Branches) -> int:
    """The least peak of all orders: who gives back most goes first."""
    return peak_of(branches, reference(branches))


def _given(seen: Observation) -> list[float | None]:
    given = returned(seen.values[0])
    return [number(each) for each in (given.tolist() if is_array(given) else given)]


def _order(case: Case, seen: Observation) -> list[int] | None:
    """The order that was given, None where it is not one of all branches."""
    found = _given(seen)
    if sorted(found, key=lambda one: one or 0) != list(range(len(case.args[0][0]))):
        return None
    return [int(each) for each in found if each is not None]


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Each branch once, and the least peak, from a list that stays."""
    order, branches, best = _order(case, seen), case.args[0][0], case.facts["best"]
    if order is None:
        once = f"each number from 0 to {len(branches) - 1} once"
        yield f"{case.name}, {describe(returned(seen.values[0]))} is not an order: {once}."
    elif (got := peak_of(branches, order)) != best:
        yield f"your order {order} needs {got} MiB at its peak; {best} MiB are enough."
    given = returned(seen.values[0])
    for each in [given] if is_array(given) else given:
        if type(each) is float or (is_array(each) and each.dtype.kind not in "iu"):
            yield f"the order holds fractions, {each!r}: branches have whole numbers."
    yield _left_alone(case, seen)


def _left_alone(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        "`branches` is another list afterwards, and your numbers are those of the one before. "
        "`sort()` sorts in place; `sorted(…)` makes a list of its own."
    )


def compared(case: Case, seen: Observation) -> Any:
    """Plain numbers, whatever they were given in; what is no number in any order."""
    found = _given(seen)
    if None in found:
        return sorted(map(tuple, returned(seen.values[0])))
    return [found, changed(seen.values[0])]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The peak of an order, where one was given."""
    order = None if returned(seen.values[0]) is None else _order(case, seen)
    if order is None:
        return {}
    got, best = peak_of(case.args[0][0], order), case.facts["best"]
    return {"needs": f"you need {got} MiB where {best} MiB are enough"}


def _stands_twice(case: Case, seen: Observation) -> str | None:
    branches, found = case.args[0][0], _given(seen)
    i = next(i for i in range(len(branches)) if found.count(i) > 1)
    return (
        f"number {i} stands there {found.count(i)} times: `index` finds the first of several "
        f"{branches[i]}. Sort the numbers: `sorted(range(len(branches)), key=…)`."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    best, branches = cases[0].facts["best"], cases[0].args[0][0]
    given = peak_of(branches, range(len(branches)))
    return (
        f"Passed: {count(len(branches), 'branch', 'branches')} need {best} MiB at their "
        f"peak, {given} MiB in the order in which they are given, and "
        f"{sum(work for work, _ in branches)} MiB all at once."
    )


WRONG = """
nothing
    | return sorted => sorted
    your function gave None. Is a `return` missing? `list.sort()` gives None as well: it sorts in
    place; `sorted(…)` gives the sorted list.
branches
    | range(len(branches)) => branches
    | branches[i][1] - branches[i][0] => i[1] - i[0]
    you gave the branches themselves: give their numbers.
the first of equal ones
    | return => return [branches.index(branches[i]) for i in
    | branches[i][0]) => branches[i][0])]
    ! _stands_twice
sorts the branches
    | return => order =
    | branches[i][0]) => branches[i][0]); branches.sort(); return order
    ! _left_alone
as given
    | branches[i][1] - branches[i][0] => 0
    {needs}: that is the order in which they are given.
most work first
    | branches[i][1] - => -
    {needs}: the largest work goes first. But a branch that keeps nearly all that it needs takes
    room from everybody after it.
least work first
    | branches[i][1] - =>
    {needs}: the smallest work goes first, so that the largest one comes when most results are
    there.
smallest result first
    | - branches[i][0] =>
    {needs}: the smallest result goes first. But a branch that needs much should come early, even if
    it keeps a little more.
largest result first
    | branches[i][1] - branches[i][0] => -branches[i][1]
    {needs}: what keeps most goes first, and then everybody else pays for it.
gives back least first
    | branches[i][1] - branches[i][0] => branches[i][0] - branches[i][1]
    {needs}: who gives back least goes first: the other way round. Let early ones be those that need
    much more than they keep.
by the ratio
    | - branches[i][0] => / branches[i][0]
    {needs}: you sort by the ratio of result and work. What counts is how many MiB come back:
    compare the differences.
places
    | return => order =
    | branches[i][0]) => branches[i][0]); return [order.index(i) for i in range(len(order))]
    {needs}: that says for each branch the place at which it runs. Return for each place, the first
    one first, the number of the branch.
"""

EXERCISE = Exercise(
    number="01.3",
    title="The order with the least peak",
    size=Size(stars=2, minutes=12, points=3),
    function="least_peak",
    asks=(
        "the numbers of the branches in an order whose peak, the most that a branch needs together "
        "with the results before it, is the least."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("01.3", WRONG, reference, _stands_twice, _left_alone),
    ranked=False,
)
# Orders, each with a higher peak than the best on the branches that `_telling` draws.
ORDERS = tuple(answer.function for answer in EXERCISE.wrong if "{needs}" in str(answer.says))
