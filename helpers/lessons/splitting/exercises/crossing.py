"""Exercise 12.3, count the crossings of an assignment of units to devices.

`crossings(connections, below, above) -> int`: connections are (unit below, unit above); below[j]
and above[i] are the devices of the units. The claim: a unit's value is sent once to every other
device that has a unit connected to it, however many units those are; the lists stay as they are.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from helpers.checks.common import fails_with
from helpers.checks.compare import count, describe, number
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.calling import Function
from helpers.checks.drives.requests import CHANGED, changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.splitting.algorithms.partly_connected import crossings as reference

Pairs = list[tuple[int, int]]


def counted(fn: Function, case: Case) -> Observation:
    """As `call_with_tensors`, also for each of `options["also"]`: two ways to count come to the
    same number once, and hardly ever four times. `values[0]` is the list of what it gave.
    """
    seen = call_with_tensors(fn, case)
    if not seen.trouble:
        also = [replace(case, args=(args,)) for args in case.options.get("also", ())]
        each = [seen, *(call_with_tensors(fn, one) for one in also)]
        gave = [None if one.trouble else returned(one.values[0]) for one in each]
        place = changed(seen.values[0])
        seen.values = [gave if place is None else {CHANGED: place, "returned": gave}]
    return seen


def cases(seed: int) -> list[Case]:
    """Seed 0: a small net that tells all mistakes apart, a dense one, none that cross; others."""
    random, made = rng(seed, "12.3"), []
    lower, upper = [3, 0, 2, 0, 2, 1, 4, 4, 3, 1, 3, 2, 1], [2, 4, 0, 3, 1, 4, 3, 1, 1, 0, 3, 4, 2]
    net = list(zip(lower, upper, strict=True))
    asked = [("With 5 units on 3 devices", net, [0, 1, 1, 2, 2], [0, 1, 0, 1, 2])]
    if seed:
        width, devices = int(random.integers(9, 14)), 3
        asked = []
        for _ in range(3):
            below = [int(d) for d in random.integers(0, devices, width)]
            above = [int(d) for d in random.integers(0, devices, width)]
            grid = [(j, i) for j in range(width) for i in range(width) if random.random() < 0.35]
            pairs = [grid[place] for place in random.permutation(len(grid))]
            asked.append((f"With {width} units on {devices} devices", pairs, below, above))
    full = [(j, i) for j in range(6) for i in range(6)]
    halves = [0, 0, 0, 1, 1, 1]
    asked.append(("With a dense layer of 6 units on 2 devices", full, halves, halves))
    local = [(j, i) for j, i in full if (j < 3) == (i < 3)]
    asked.append(("With two networks side by side", local, halves, halves))
    # As the docstring has it; and layers of other sizes, with a device that one of them lacks.
    asked.append(("With the two connections of the example", [(0, 0), (0, 1)], [0], [1, 1]))
    uneven = [(0, 0), (0, 2), (4, 1), (3, 1), (4, 2)]
    asked.append(("With 5 units below 3 others", uneven, [0, 0, 1, 0, 1], [2, 1, 2]))
    # Numbers of more than one digit, and ones of which Python keeps no object for all.
    numbered = [(1, 3), (11, 4), (0, 3), (1, 4), (5, 3), (5, 4), (2, 2)]
    lower, upper = [0] * 12, [0, 0, 2, 11, 1]
    lower[2], upper[2] = int("300"), int("300")
    asked.append(("With devices 0, 1, 11 and 300", numbered, lower, upper))
    for name, pairs, below, above in asked:
        # The devices of other units; in the end of those above alone.
        more = len(below) == len(above) or pairs is numbered
        turns = ((2, 2), (5, 5), (0, 2)) if more else ()
        also = [(pairs, below[n:] + below[:n], above[-m:] + above[:-m]) for n, m in turns]
        right = [_crossing(*each) for each in ((pairs, below, above), *also)]
        facts = {"right": right}
        made.append(Case(name, ((pairs, below, above),), options={"also": also}, facts=facts))
    return made


def _crossing(pairs: Pairs, below: list[int], above: list[int]) -> int:
    return len({(j, above[i]) for j, i in pairs if above[i] != below[j]})


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Exactly as many, and nothing written into."""
    if _counts(seen) != case.facts["right"]:
        yield f"{numbers(case, seen)['count']}."
    if changed(seen.values[0]) is not None:
        yield (
            "a list is not what it was: you wrote into it, as `pop` and `sort` do, and others read "
            "it too. Go over it with a loop."
        )


def _counts(seen: Observation) -> list[float | None]:
    return list(map(number, returned(seen.values[0])))


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how many were counted first where they are not right, and are there."""
    right, got = case.facts["right"], _counts(seen)
    at = next((n for n, want in enumerate(right) if got[n] != want), 0)
    whose = "were they on other devices, " if at else ""
    crossing = f"{count(right[at], 'value')} cross{'es' if right[at] == 1 else ''}"
    gave = describe(returned(seen.values[0])[at])
    return {"count": f"{whose}you count {gave} where {crossing}"}


_no_such_unit = fails_with(
    "",
    "you look for a unit that there is not: the layers need not be of one size. The "
    "first of a pair is a unit below, the second one above.",
    kind="IndexError",
)


def the_one_before(pairs: Pairs, below: list[int], above: list[int]) -> int:
    total, last = 0, None
    for j, i in pairs:
        if above[i] != below[j] and (j, above[i]) != last:
            total += 1
        last = (j, above[i])
    return total


WRONG = """
connections counted
    | (j, above[i]) => (j, i)
    {count}: two connections from one unit to one device need its value there only once.
each unit counted once
    | (j, above[i]) => j
    {count}: a value that two other devices need is sent twice, once to each of them.
home counted
    | if below[j] != above[i] => if True
    {count}: a unit's own device has its value.
units above
    | (j, above[i]) => (i, below[j])
    {count}: what crosses is a value of the unit below.
each unit above counted once
    | (j, above[i]) => i
    ! units above
messages counted
    | (j, above[i]) => (below[j], above[i])
    {count}: that is how many messages there are; asked is how many values are in them.
compared with the one before alone
    = the_one_before
    {count}: you compare each connection with the one before it, and those of one unit need not
    follow one another. Keep all pairs that were counted, in a set.
turned round
    | for j, i in => for i, j in
    | raise ValueError( => continue; raise ValueError(
    {count}: a connection is (unit below, unit above).
devices of the layer below alone
    | if below[j] != above[i] => if below[j] != above[i] and above[i] in below
    {count}: a device may hold units of the upper layer alone. Look at `above` for who needs a
    value, and at `below` for where it is.
the connections used up
    | return len(needed) => connections.clear(); return len(needed)
    ! claim
lists above
    | needed = set() => needed = [set() for _ in above]
    | needed.add((j, above[i])) => needed[j].add(above[i])
    | len(needed) => sum(map(len, needed))
    ? the layers need not be of one size
"""

EXERCISE = Exercise(
    number="12.3",
    title="Count the crossings",
    size=Size(stars=1, minutes=10, points=2),
    function="crossings",
    asks=(
        "how many values cross for one row: each unit's value once to every other device that has "
        "a unit connected to it."
    ),
    cases=cases,
    drive=counted,
    claim=claim,
    mistakes=(Mistake("units of another layer", _no_such_unit, unfinished=True),),
    numbers=numbers,
    compared=lambda case, seen: [_counts(seen), changed(seen.values[0])],
    praise=(
        "Passed: in a dense layer every value crosses to every other device, in a sparse one only "
        "those that somebody there needs."
    ),
    reference=reference,
    wrong=wrong_answers("12.3", WRONG, reference, the_one_before, claim),
    ranked=False,
)
