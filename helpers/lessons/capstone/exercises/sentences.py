"""Sentences about runs: what they have to say (18.5), and what they name, in whatever words.

A number in a sentence stands for one of the data if it is that number, rounded to the digits that
it is written with. Signs do not count: "3 s less" is −3 s.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median, stdev
from typing import NamedTuple

from helpers.lessons.capstone.exercises.paired import student

Table = Mapping[str, Sequence[float]]
_NUMBER = re.compile(r"(?<![\w.])[-+−–]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


class Facts(NamedTuple):
    """What the sentences have to say. wanted: of the first three the numbers, by what they are."""

    times: Table
    ends: Table
    runs: int
    first: str
    second: str
    best: str
    other: str
    comparable: bool
    arrived: dict[str, int]
    wanted: tuple[dict[str, float], ...]


def paired(a: Sequence[float], b: Sequence[float]) -> dict[str, float]:
    """The difference of two ways on the same seeds, in its four numbers, by name."""
    d = [y - x for x, y in zip(a, b, strict=True)]
    found = student(mean(d), stdev(d) / math.sqrt(len(d)), len(d) - 1)
    return dict(zip(("difference", "low", "high", "p"), found, strict=True))


def facts_of(times: Table, ends: Table) -> Facts:
    """What there is to say. Two ways at least reach the target in more than half of the runs."""
    runs = len(next(iter(times.values())))
    first, second = ranked({way: median(each) for way, each in times.items()})[:2]
    best, other = ranked({way: mean(each) for way, each in ends.items()})[:2]
    arrived = {way: sum(map(math.isfinite, each)) for way, each in times.items()}
    comparable = arrived[first] == arrived[second] == runs
    counts = {f"arrivals of {way}": float(arrived[way]) for way in (first, second)}
    wanted = (
        {f"the median of {way}": median(times[way]) for way in (first, second)},
        paired(times[first], times[second]) if comparable else counts,
        {f"the mean of {best}": mean(ends[best]), **paired(ends[best], ends[other])},
    )
    return Facts(times, ends, runs, first, second, best, other, comparable, arrived, wanted)


def ranked(values: Mapping[str, float]) -> list[str]:
    """The ways from the smallest number on."""
    return sorted(values, key=values.__getitem__)


def named(sentence: str, ways: Iterable[str]) -> list[str]:
    """The ways that a sentence names, in the order in which they first stand there."""
    found = {}
    for way in ways:
        place = re.search(rf"(?<!\w){re.escape(way)}(?!\w)", sentence, re.IGNORECASE)
        if place:
            found[way] = place.start()
    return sorted(found, key=found.__getitem__)


def tokens(sentence: str, ways: Iterable[str]) -> list[str]:
    """The numbers in a sentence, as they are written; those in the ways' names are none."""
    for way in sorted(ways, key=len, reverse=True):
        sentence = re.sub(rf"(?<!\w){re.escape(way)}(?!\w)", " ", sentence, flags=re.IGNORECASE)
    return [each.replace("−", "-").replace("–", "-") for each in _NUMBER.findall(sentence)]


def stands_for(token: str, number: float) -> bool:
    """Whether a written number is this one, rounded to its own digits."""
    if not math.isfinite(number):
        return False
    digits, _, power = token.lower().partition("e")
    step = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(abs(float(token)) - abs(number)) <= 0.5 * step * (1 + 1e-9) + 1e-12


def holds(sentence: str, facts: Facts, number: float, name: str = "") -> bool:
    """Whether a sentence holds a number. A p may be given as below some bound."""
    found = tokens(sentence, facts.times)
    if name == "p" and any("<" in sentence and number < float(t) <= 0.05 for t in found):
        return True
    return any(
        stands_for(token, number) and (float(token) != 0 or abs(number) < 1e-9) for token in found
    )
