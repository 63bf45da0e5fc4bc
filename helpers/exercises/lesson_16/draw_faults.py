"""What is amiss with the trials that an answer drew (16.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from helpers.exercises.compare import describe, number
from helpers.exercises.drives_search import far
from helpers.exercises.spec import Case, Observation

Row = list[tuple[str, Any]]
_MANY = 50  # trials from which on shares are looked at
_UNEVEN = 2.8  # of Kolmogorov and Smirnov: an even one exceeds it once in three million times
_TOGETHER = 5.5  # of √n · correlation
_SKEWED = 30.0  # of χ²: even options exceed it once in a million times, or less often


def row_of(case: Case, told: Any) -> Row:
    """A trial's values by names; raises where they are not what was asked for."""
    if type(told) is not list or [type(each) for each in told] != [list] * len(told):
        raise TypeError(describe(told))
    names = sorted(case.args[0][0])
    if [each[0] for each in told] != names:
        gave = ", ".join(repr(each[0]) for each in told) or "none"
        raise TypeError(f"a dictionary with the names {gave}")
    row = []
    for name, value in told:
        kind = case.args[0][0][name][0]
        held = value if kind == "choice" else number(value)
        if type(value) is np.ndarray and kind == "choice" and value.ndim == 0:
            held = value.item()
        if held is None or not _inside(case.args[0][0][name], held):
            raise TypeError(f"{describe(value)} for `{name}`")
        row.append((name, held))
    return row


def _inside(its: Sequence[Any], value: Any) -> bool:
    if its[0] == "choice":
        return value in its[1]
    slack = 1e-9 * (its[2] - its[1])
    return bool(its[1] - slack <= value <= its[2] + slack)


def _place(its: Sequence[Any], value: Any) -> float:
    """Where a value lies in its range, from 0 to 1."""
    if its[0] == "choice":
        return float(its[1].index(value)) / len(its[1])
    low, high, at = (log(v) for v in (*its[1:], value)) if its[0] == "log" else (*its[1:], value)
    return (at - low) / (high - low)


class Fault(NamedTuple):
    """What is not as it should be. kind: free of numbers. at: which, such as a range's name."""

    kind: str
    at: Any
    says: str


def faults(case: Case, seen: Observation) -> list[Fault]:
    """All of them, the plainest first."""
    told = seen.values[0]
    parts = (*told[:4], told[5], told[6])
    first, again, turned, other, salted, apart = ([row_of(case, o) for o in part] for part in parts)
    few = [first[trial] for trial in range(len(again) - 1, -1, -1)]
    found = _again(again, few) or _hashed(salted, few) or _alike(first, other)
    if not any(each.kind in ("again", "hash", "trials") for each in found):
        found += _far(case, apart) if not found else []
        if turned != few:
            said = "a space that names its ranges in another order gives trial 0 other values"
            found.append(Fault("order", None, f"{said}: go through `sorted(space)`."))
        if len(first) >= _MANY:
            found += _shares(case.args[0][0], first)
    if not told[4]["random"]:
        said = "the global random state is another one after your call, for everybody who uses it"
        found.append(Fault("alone", None, f"{said}: make a generator of the call's own."))
    return found


def _again(again: list[Row], few: list[Row]) -> list[Fault]:
    trial = next((t for t, (a, b) in enumerate(zip(again, few, strict=True)) if a != b), None)
    if trial is None:
        return []
    number_of = len(few) - 1 - trial
    name = next(a[0] for a, b in zip(again[trial], few[trial], strict=True) if a != b)
    return [
        Fault(
            "again",
            None,
            f"trial {number_of} is asked for once more, after others, and its `{name}` is another: "
            "nothing but the seed and the trial's number may decide it.",
        )
    ]


def _hashed(salted: list[Row], few: list[Row]) -> list[Fault]:
    """A seed by `hash` of a text: which trials it makes alike is another matter in each process."""
    if salted == few:
        return []
    said = "`hash` of a text gives another number in every process, so another worker gets other "
    said += "values for the same trial. Seed the generator with the numbers themselves, `[seed, "
    return [Fault("hash", None, f"{said}trial]`.")]


def _alike(first: list[Row], other: list[Row]) -> list[Fault]:
    """Trials of one seed, or of two, that got the same."""
    places: dict[str, int] = {}
    for trial, row in enumerate(first):
        before = places.setdefault(repr(row), trial)
        if before != trial:
            kinds = len({repr(each) for each in first})
            said = f"trials {before} and {trial} get the very same values: there are {kinds} "
            said += f"different ones among {len(first)} trials."
            return [Fault("trials", kinds == 1, said)]
    shared = sum(repr(row) in places for row in other)
    for trial, row in enumerate(other):
        same = places.get(repr(row))
        if same is not None:
            return [
                Fault(
                    "seeds",
                    [same - trial, shared == len(other)],
                    f"trial {trial} of the next seed gets what trial {same} of this one got: two "
                    "searches would try the same.",
                )
            ]
    return []


def _far(case: Case, apart: list[Row]) -> list[Fault]:
    """Trials of seeds far apart that got the same."""
    pairs = far(case.args[0][2])
    same = [at for at in range(len(pairs)) if apart[2 * at] == apart[2 * at + 1]]
    if not same:
        return []
    (trial, seed), (other, its) = pairs[same[0]]
    said = f"trial {trial} of seed {seed} gets what trial {other} of seed {its} gets: two searches "
    return [Fault("far", same, f"{said}would try the same. Give the generator `[seed, trial]`.")]


def _shares(ranges: Mapping[str, Sequence[Any]], first: list[Row]) -> list[Fault]:
    """Ranges that are not filled evenly, and those that go together."""
    found, n = [], len(first)
    places = {
        name: np.array([_place(ranges[name], dict(row)[name]) for row in first]) for name in ranges
    }
    for name, at in places.items():
        its = ranges[name]
        if its[0] == "choice":
            held = [sum(dict(row)[name] == option for row in first) for option in its[1]]
            even = n / len(its[1])
            if sum((each - even) ** 2 for each in held) / even > _SKEWED:
                said = f"the options of `{name}` came {held} times; each is as likely."
                found.append(Fault("choice", None, said))
            continue
        ranked = np.sort(at)
        edges = np.arange(n + 1) / n
        apart = max(float(np.max(edges[1:] - ranked)), float(np.max(ranked - edges[:-1])))
        if sqrt(n) * apart > _UNEVEN:
            middle = float(np.median(at))
            said = f"half of the trials have `{name}` in the part above {100 * middle:.0f} % of "
            said += "its range" + (" of logarithms." if its[0] == "log" else ".")
            found.append(Fault(its[0], middle > 0.8, said))
    together, told = [], ""
    varied = [name for name in places if float(np.ptp(places[name]))]
    for one, two in combinations(varied, 2):
        along = float(np.corrcoef(places[one], places[two])[0, 1])
        if abs(along) * sqrt(n) > _TOGETHER:
            together.append([one, two, along > 0])
            other = "large" if along > 0 else "small"
            told = told or f"`{one}` and `{two}` go together: where one is large, the other is "
            told += f"{other}. Draw a place of its own for each name." * (len(together) == 1)
    return [*found, Fault("together", together, told)] if together else found
