"""Exercise 12.3, count the crossings of an assignment of units to devices.

`crossings(connections, below, above) -> int`: connections are (unit below, unit above); below[j]
and above[i] are the devices of the units. The claim: a unit's value is sent once to every other
device that has a unit connected to it, however many units those are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Pairs = list[tuple[int, int]]
Counting = Callable[[Pairs, list[int], list[int]], int]


def cases(seed: int) -> list[Case]:
    """Seed 0: a small net that tells all mistakes apart, a dense one, none that cross; others."""
    random, made = rng(seed, "12.3"), []
    net: tuple[str, Pairs, list[int], list[int]] = (
        "With 5 units on 3 devices",
        [
            (3, 2),
            (0, 4),
            (2, 0),
            (0, 3),
            (2, 1),
            (1, 4),
            (4, 3),
            (4, 1),
            (3, 1),
            (1, 0),
            (3, 3),
            (2, 4),
            (1, 2),
        ],
        [0, 1, 1, 2, 2],
        [0, 1, 0, 1, 2],
    )
    asked = [net]
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
    for name, pairs, below, above in asked:
        given = (pairs, below, above)
        facts = {each.__name__: _counted(each, given) for each in (right, *WAYS)}
        made.append(Case(name, (given,), facts=facts))
    return made


def _counted(way: Counting, given: tuple[Pairs, list[int], list[int]]) -> int | None:
    """What a way gives; None where it finds no unit of that number."""
    try:
        return way(*given)
    except IndexError:
        return None


def right(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Each value once to each other device that needs it."""
    return len({(j, above[i]) for j, i in pairs if above[i] != below[j]})


def every_connection(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Counts connections."""
    return sum(above[i] != below[j] for j, i in pairs)


def once_a_unit(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Counts units with a connection that crosses."""
    return len({j for j, i in pairs if above[i] != below[j]})


def also_at_home(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Counts a unit's own device too."""
    return len({(j, above[i]) for j, i in pairs})


def units_above(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Counts from the other end: units above, and the devices that they hear from."""
    return len({(i, below[j]) for j, i in pairs if above[i] != below[j]})


def pairs_of_devices(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Counts messages and not values."""
    return len({(below[j], above[i]) for j, i in pairs if above[i] != below[j]})


def the_one_before(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Compares each pair with the one before it alone."""
    total, last = 0, None
    for j, i in pairs:
        if above[i] != below[j] and (j, above[i]) != last:
            total += 1
        last = (j, above[i])
    return total


def turned_round(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Takes the first of each pair for the unit above."""
    return len({(j, above[i]) for i, j in pairs if above[i] != below[j]})


def devices_below(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Asks the devices of the lower layer alone."""
    devices = set(below)
    return len({(j, above[i]) for j, i in pairs if above[i] != below[j] and above[i] in devices})


def lists_above(pairs: Pairs, below: list[int], above: list[int]) -> int:
    """Keeps a list for each unit above, and looks units below up in it."""
    sent: list[set[int]] = [set() for _ in above]
    for j, i in pairs:
        if above[i] != below[j]:
            sent[j].add(above[i])
    return sum(map(len, sent))


WAYS: tuple[Counting, ...] = (
    every_connection,
    once_a_unit,
    also_at_home,
    units_above,
    pairs_of_devices,
    the_one_before,
    turned_round,
    devices_below,
)
"""The ways to miscount; each case's facts hold what they would give."""


def _is(case: Case, seen: Observation, way: str) -> bool:
    return bool(seen.values) and number(seen.values[0]) == case.facts[way]


def claim(case: Case, seen: Observation) -> str | None:
    """Exactly as many."""
    want = case.facts["right"]
    if _is(case, seen, "right"):
        return None
    return f"{case.name}, {count(want, 'value')} cross; you count {describe(seen.values[0])}."


def _looks(way: str, text: str) -> Callable[[Case, Observation], str | None]:
    def look(case: Case, seen: Observation) -> str | None:
        want, got = case.facts["right"], case.facts[way]
        if want == got or not _is(case, seen, way):
            return None
        return f"{case.name}, you count {got} and {count(want, 'value')} cross: {text}"

    return look


def _no_such_unit(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or seen.kind != "IndexError":
        return None
    return (
        f"{case.name}, you look for a unit that there is not: the layers need not be of one size. "
        "The first of a pair is a unit below, the second one above."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        "Passed: in a dense layer every value crosses to every other device, in a sparse one only "
        "those that somebody there needs."
    )


def reference(connections: Any, below: list[int], above: list[int]) -> int:
    """The course's own."""
    import numpy as np

    from helpers.algorithms.splitting.partly_connected import crossings

    mask = np.zeros((len(above), len(below)), dtype=bool)
    for j, i in connections:
        mask[i, j] = True
    return sum(crossings([mask], [np.array(below), np.array(above)]))


EXERCISE = Exercise(
    number="12.3",
    title="Count the crossings",
    stars=1,
    minutes=10,
    points=2,
    function="crossings",
    asks=(
        "how many values cross for one row: each unit's value once to every other device that has "
        "a unit connected to it."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake(
            "connections counted",
            _looks(
                "every_connection",
                "two connections from one unit to one device need its value there only once.",
            ),
        ),
        Mistake(
            "each unit counted once",
            _looks(
                "once_a_unit",
                "a value that two other devices need is sent twice, once to each of them.",
            ),
        ),
        Mistake(
            "home counted too",
            _looks("also_at_home", "a unit's own device has its value already."),
        ),
        Mistake(
            "units above counted",
            _looks(
                "units_above",
                "what crosses is the value of a unit below; look at who needs it, not at who "
                "hears from where.",
            ),
        ),
        Mistake(
            "messages counted",
            _looks(
                "pairs_of_devices",
                "that is how many messages there are; asked is how many values are in them.",
            ),
        ),
        Mistake(
            "compared with the one before alone",
            _looks(
                "the_one_before",
                "you compare each connection with the one before it, and those of one unit need "
                "not follow one another. Keep all pairs that were counted, in a set.",
            ),
        ),
        Mistake(
            "pairs turned round",
            _looks(
                "turned_round",
                "you take the first of each pair for the unit above: a connection is (unit below, "
                "unit above).",
            ),
        ),
        Mistake(
            "devices of the layer below alone",
            _looks(
                "devices_below",
                "a device may hold units of the upper layer alone. Look at `above` for who needs a "
                "value, and at `below` for where it is.",
            ),
        ),
        Mistake("units of another layer", _no_such_unit, unfinished=True),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("connections", every_connection, hint="need its value there only once"),
        WrongAnswer("once a unit", once_a_unit, hint="is sent twice, once to each"),
        WrongAnswer("home too", also_at_home, hint="own device has its value already"),
        WrongAnswer("units above", units_above, hint="at who hears from where"),
        WrongAnswer("messages", pairs_of_devices, hint="how many messages there are"),
        WrongAnswer("the one before", the_one_before, hint="need not follow one another"),
        WrongAnswer("turned round", turned_round, hint="take the first of each pair"),
        WrongAnswer("devices below", devices_below, hint="hold units of the upper layer alone"),
        WrongAnswer("lists above", lists_above, hint="the layers need not be of one size"),
    ),
    ranked=False,
)
