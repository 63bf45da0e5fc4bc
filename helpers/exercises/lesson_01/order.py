"""Exercise 01.3, the order with the least peak.

`least_peak(branches) -> order`: branches are (work, result) in MiB and run one after the other. The
claim: each branch is there once, and no order has a lower peak.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, number
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Branches = list[tuple[int, int]]
# What the lesson runs for real.
SHOWN: Branches = [(12, 1), (20, 8), (6, 2), (16, 10), (14, 7)]
TWINS: Branches = [(6, 2), (9, 1), (6, 2), (5, 5)]


def peak_of(branches: Sequence[tuple[int, int]], order: Sequence[int]) -> int:
    """The most MiB at any time: what a branch needs, and what those before it keep."""
    kept = accumulate((branches[i][1] for i in order), initial=0)
    return max(held + branches[i][0] for held, i in zip(kept, order, strict=False))


def ways(branches: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
    """Orders that answers with one thing wrong would give."""
    numbers = range(len(branches))
    best = _best_order(branches)
    return {
        "as given": list(numbers),
        "most work first": sorted(numbers, key=lambda i: -branches[i][0]),
        "least work first": sorted(numbers, key=lambda i: branches[i][0]),
        "smallest result first": sorted(numbers, key=lambda i: branches[i][1]),
        "largest result first": sorted(numbers, key=lambda i: -branches[i][1]),
        "gives back least first": sorted(numbers, key=lambda i: branches[i][0] - branches[i][1]),
        "by the ratio": sorted(numbers, key=lambda i: branches[i][1] / branches[i][0]),
        "places": [best.index(i) for i in numbers],
    }


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's five branches, then 1, 2 and 4; else others."""
    random = rng(seed, "01.3")
    if not seed:
        shown = [SHOWN, [(5, 5)], [(4, 3), (9, 1)], _telling(random, 4)]
        return [_case(branches) for branches in (*shown, TWINS)]
    others = [_telling(random, n) for n in (6, 5, 8)]
    return [_case(branches) for branches in (*others, [(7, 2)], TWINS)]


def _telling(random: np.random.Generator, size: int) -> Branches:
    """Branches whose wrong orders are all different, each with a higher peak than the best."""
    branches = SHOWN
    for _ in range(20_000):
        work = random.choice(np.arange(5, 64), size, replace=False)
        drawn = [(int(w), int(random.integers(1, w))) for w in work]
        if not all(len(set(numbers)) == size for numbers in zip(*drawn, strict=True)):
            continue
        orders = list(ways(drawn).values())
        told_apart = len({tuple(order) for order in orders}) == len(orders)
        if told_apart and min(peak_of(drawn, order) for order in orders) > _best(drawn):
            return drawn
    return branches


def _best_order(branches: Sequence[tuple[int, int]]) -> list[int]:
    """An order with the least peak: who gives back most goes first."""
    return sorted(range(len(branches)), key=lambda i: branches[i][1] - branches[i][0])


def _best(branches: Branches) -> int:
    """The least peak of all orders."""
    return peak_of(branches, _best_order(branches))


def _case(branches: Branches) -> Case:
    shown = ", ".join(f"({work}, {result})" for work, result in branches)
    name = f"For the branches {shown}" if len(branches) < 6 else f"For {len(branches)} branches"
    return Case(name, ((branches,),), facts={"best": _best(branches), "ways": ways(branches)})


def _order(case: Case, seen: Observation) -> list[int] | None:
    """The order that was given, None where it is not one of all branches."""
    given = seen.values[0]
    found = [number(each) for each in (given.tolist() if is_array(given) else given)]
    if sorted(found, key=lambda one: one or 0) != list(range(len(case.args[0][0]))):
        return None
    return [int(each) for each in found if each is not None]


def claim(case: Case, seen: Observation) -> str | None:
    """Each branch once, and the least peak."""
    order, branches = _order(case, seen), case.args[0][0]
    if order is None:
        said = describe(seen.values[0])
        last = len(branches) - 1
        return f"{case.name}, {said} is not an order: each number from 0 to {last} once."
    got, best = peak_of(branches, order), case.facts["best"]
    if got == best:
        return None
    return f"{case.name}, your order {order} needs {got} MiB at its peak; {best} MiB are enough."


def _branches_back(case: Case, seen: Observation) -> str | None:
    value, branches = seen.values[0], case.args[0][0]
    if type(value) is not list or sorted(map(tuple, value)) != sorted(map(tuple, branches)):
        return None
    return f"{case.name}, you gave the branches themselves; return their numbers, in order."


def _same_number(case: Case, seen: Observation) -> str | None:
    """A number that stands twice, of branches that are equal."""
    given, branches = seen.values[0], case.args[0][0]
    found = [number(each) for each in (given.tolist() if is_array(given) else given)]
    for i, branch in enumerate(branches):
        if found.count(i) > 1 and branches.count(branch) == found.count(i):
            return (
                f"{case.name}, number {i} stands there {found.count(i)} times: several branches "
                f"are {tuple(branch)}, and `index` finds the first of them each time. Sort the "
                "numbers: `sorted(range(len(branches)), key=…)`."
            )
    return None


def _nothing_back(case: Case, seen: Observation) -> str | None:
    if seen.values[0] is not None:
        return None
    return (
        f"{case.name}, your function gave None. Is a `return` missing? `list.sort()` gives None as "
        "well: it sorts in place; `sorted(…)` gives the sorted list."
    )


def _like(name: str, words: str) -> Callable[[Case, Observation], str | None]:
    """A recogniser for the order that a mistake gives, and what to say to it."""

    def look(case: Case, seen: Observation) -> str | None:
        order, branches = _order(case, seen), case.args[0][0]
        if order is None or order != case.facts["ways"][name]:
            return None
        got, best = peak_of(branches, order), case.facts["best"]
        return f"{case.name}, you need {got} MiB where {best} MiB are enough: {words}"

    return look


MISTAKES = {
    "as given": "that is the order in which they are given.",
    "most work first": (
        "the largest work goes first. But a branch that keeps nearly all that it needs takes room "
        "from everybody after it."
    ),
    "least work first": (
        "the smallest work goes first, so that the largest one comes when most results are there."
    ),
    "smallest result first": (
        "the smallest result goes first. But a branch that needs much should come early, even if "
        "it keeps a little more."
    ),
    "largest result first": "what keeps most goes first, and then everybody else pays for it.",
    "gives back least first": (
        "who gives back least goes first: the other way round. Let early ones be those that need "
        "much more than they keep."
    ),
    "by the ratio": (
        "you sort by the ratio of result and work. What counts is how many MiB come back: compare "
        "the differences."
    ),
    "places": (
        "that says for each branch the place at which it runs. Return for each place, the first "
        "one first, the number of the branch."
    ),
}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts, branches = cases[0].facts, cases[0].args[0][0]
    given = peak_of(branches, facts["ways"]["as given"])
    return (
        f"Passed: {count(len(branches), 'branch', 'branches')} need {facts['best']} MiB at their "
        f"peak, {given} MiB in the order in which they are given, and "
        f"{sum(work for work, _ in branches)} MiB all at once."
    )


def reference(branches: Any) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.device_memory import least_peak

    return least_peak(branches)


def _sorted(branches: Any, key: Callable[[Any], Any]) -> list[int]:
    return sorted(range(len(branches)), key=lambda i: key(branches[i]))


def as_given(branches: Any) -> Any:
    """No order of its own."""
    return list(range(len(branches)))


def most_work_first(branches: Any) -> Any:
    """By the work alone."""
    return _sorted(branches, lambda branch: -branch[0])


def least_work_first(branches: Any) -> Any:
    """By the work alone, upwards."""
    return _sorted(branches, lambda branch: branch[0])


def small_results_first(branches: Any) -> Any:
    """By the result alone."""
    return _sorted(branches, lambda branch: branch[1])


def large_results_first(branches: Any) -> Any:
    """By the result alone, downwards."""
    return _sorted(branches, lambda branch: -branch[1])


def the_other_way(branches: Any) -> Any:
    """Who gives back least goes first."""
    return _sorted(branches, lambda branch: branch[0] - branch[1])


def by_ratio(branches: Any) -> Any:
    """Result by work, not result minus work."""
    return _sorted(branches, lambda branch: branch[1] / branch[0])


def places(branches: Any) -> Any:
    """Each branch's place in the order: the inverse permutation."""
    order = reference(branches)
    return [order.index(i) for i in range(len(order))]


def sorted_in_place(branches: Any) -> Any:
    """What `list.sort` gives."""
    return list(range(len(branches))).sort()


def sorted_branches(branches: Any) -> Any:
    """The branches instead of their numbers."""
    return sorted(branches, key=lambda branch: branch[1] - branch[0])


def by_index(branches: Any) -> Any:
    """Looks each sorted branch up among those that were given."""
    return [branches.index(branch) for branch in sorted_branches(branches)]


EXERCISE = Exercise(
    number="01.3",
    title="The order with the least peak",
    stars=2,
    minutes=12,
    points=3,
    function="least_peak",
    asks=(
        "the numbers of the branches in an order whose peak, the most that a branch needs together "
        "with the results before it, is the least."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("nothing", _nothing_back),
        Mistake("the branches themselves", _branches_back),
        Mistake("the first of equal ones", _same_number),
        *(Mistake(name, _like(name, words)) for name, words in MISTAKES.items()),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("as given", as_given, hint="in which they are given"),
        WrongAnswer("most work first", most_work_first, hint="the largest work goes first"),
        WrongAnswer("least work first", least_work_first, hint="the smallest work goes first"),
        WrongAnswer("small results", small_results_first, hint="smallest result goes first"),
        WrongAnswer("large results", large_results_first, hint="what keeps most goes first"),
        WrongAnswer("reversed", the_other_way, hint="the other way round"),
        WrongAnswer("by the ratio", by_ratio, hint="compare the differences"),
        WrongAnswer("places", places, hint="the place at which it runs"),
        WrongAnswer("sorted in place", sorted_in_place, hint="gives None as well"),
        WrongAnswer("branches", sorted_branches, hint="the branches themselves"),
        WrongAnswer("first of equals", by_index, hint="finds the first of them each time"),
    ),
    ranked=False,
)
