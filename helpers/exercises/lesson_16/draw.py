"""Exercise 16.1, a trial's hyperparameters: by the seed and the trial's number alone.

The claim: asked again, in another order, or from a space that names its ranges in another order, a
trial gets the same; trials differ, also those of neighbouring seeds; each range is filled evenly,
on its own; the global random states stay as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from helpers.algorithms.search.space import draw as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number, short
from helpers.exercises.drives_search import draws
from helpers.exercises.lesson_16 import draw_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

Row = list[tuple[str, Any]]
_MANY = 50  # trials from which on shares are looked at
_UNEVEN = 2.8  # of Kolmogorov and Smirnov: an even one exceeds it once in three million times
_TOGETHER = 5.5  # of √n · correlation
_SKEWED = 30.0  # of χ²: even options exceed it once in a million times, or less often


def cases(seed: int) -> list[Case]:
    """Seed 0: five ranges and 600 trials first; then 1, 2 and 3 ranges; else other ends."""
    random = rng(seed, "16.1")
    low, high = (1e-4, 1.0) if not seed else (10.0 ** -int(random.integers(3, 7)), 10.0)
    top = round(float(random.uniform(0.5, 0.99)), 2)
    ranges: dict[str, tuple[Any, ...]] = {
        "rate": ("log", low, high),
        "momentum": ("linear", 0.0, top),
        "width": ("choice", [16, 32, 64, 128]),
        "decay": ("log", 1e-6, 1e-2),
        "activation": ("choice", ["tanh", "relu"]),
    }
    first = int(random.integers(1, 50)) if seed else 7
    made = []
    for names, trials in ((list(ranges), 600), (["rate"], 1), (["width", "decay"], 101),
                          (["rate", "momentum", "activation"], 2)):  # fmt: skip
        name = f"With {count(len(names), 'range')}, {count(trials, 'trial')} and seed {first}"
        made.append(Case(name, (({each: ranges[each] for each in names}, trials, first),)))
        first += 3
    return made


# --- what was drawn -------------------------------------------------------------------------------


def _row(case: Case, told: Any) -> Row:
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
    first, again, turned, other = ([_row(case, one) for one in part] for part in told[:4])
    few = [first[trial] for trial in range(len(again) - 1, -1, -1)]
    found = [*_again(again, few), *_alike(first, other)]
    if not any(each.kind in ("again", "trials") for each in found):
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


def _alike(first: list[Row], other: list[Row]) -> list[Fault]:
    """Trials of one seed, or of two, that got the same."""
    places: dict[str, int] = {}
    for trial, row in enumerate(first):
        before = places.setdefault(repr(row), trial)
        if before != trial:
            return [Fault("trials", None, f"trials {before} and {trial} get the very same values.")]
    for trial, row in enumerate(other):
        same = places.get(repr(row))
        if same is not None:
            return [
                Fault(
                    "seeds",
                    same - trial,
                    f"trial {trial} of the next seed gets what trial {same} of this one got: two "
                    "searches would try the same.",
                )
            ]
    return []


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
    floats = [name for name in places if ranges[name][0] != "choice"]
    for one, two in combinations(floats, 2):
        if abs(float(np.corrcoef(places[one], places[two])[0, 1])) * sqrt(n) > _TOGETHER:
            said = f"`{one}` and `{two}` go together: where one is large, so is the other."
            return [*found, Fault("together", None, said)]
    return found


def claim(case: Case, seen: Observation) -> str | None:
    """Nothing of all that is amiss."""
    try:
        found = faults(case, seen)
    except TypeError as error:
        asked = "a dictionary was asked for, with a value of each range, `range.at(place)`."
        return f"{case.name}, you gave {error}; {asked}"
    return f"{case.name}, {found[0].says}" if found else None


def compared(case: Case, seen: Observation) -> Any:
    """What is amiss; which values were drawn is no matter."""
    return [[each.kind, each.at] for each in faults(case, seen)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    told = {each.kind: each for each in faults(case, seen)}
    apart = told["seeds"].at if "seeds" in told else 0
    return {"seed": case.args[0][2], "after": case.args[0][2] + 1, "apart": apart}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rates = [float(dict(_row(cases[0], one))["rate"]) for one in seen[0].values[0][0]]
    low, high = cases[0].args[0][0]["rate"][1:]
    small = sum(rate < sqrt(low * high) for rate in rates)
    return (
        f"Passed: {small} of {len(rates)} trials have a rate below {short(sqrt(low * high))}, the "
        "middle of its factors, and each trial gets the same whenever it is asked for."
    )


EXERCISE = Exercise(
    number="16.1",
    title="A trial that can be drawn again",
    stars=1,
    minutes=10,
    points=2,
    function="draw",
    asks=(
        "for each name of the space a value of its range, `space[name].at(place)`, with places "
        "from 0 up to 1 that depend on the seed and the trial's number alone."
    ),
    cases=cases,
    drive=draws,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "a generator that goes on",
            wrong.goes_on,
            "a trial that is asked for once more gets other values: they depend on what was asked "
            "before, or on the clock, so that the order in which workers ask decides them. Make "
            "the generator anew in every call.",
        ),
        WrongAnswer(
            "the global random state",
            wrong.unseeded,
            "you draw from the global random state: the values depend on who else has drawn, and "
            "everybody else’s depend on you. Make a generator of the call’s own.",
        ),
        WrongAnswer(
            "seeds the global random state",
            wrong.seeds_all,
            "the values are right, and the global random state is set anew by every call: what "
            "else is random in the program repeats itself from there. Make a generator of the "
            "call’s own, `np.random.default_rng([seed, trial])`.",
        ),
        WrongAnswer(
            "seed + trial",
            wrong.adds,
            "trial 1 of seed {seed} is trial 0 of seed {after}: seed + trial is the same number. "
            "Give the generator both, `[seed, trial]`.",
        ),
        WrongAnswer(
            "seed times a hundred",
            wrong.hundreds,
            "trial {apart} of seed {seed} is trial 0 of seed {after}: such a product ends where a "
            "search has more trials than that. Give the generator both, `[seed, trial]`.",
        ),
        WrongAnswer(
            "the seed is left out",
            wrong.no_seed,
            "every seed gives the same trials: two searches with other seeds would try the same "
            "hyperparameters. Give the generator both, `[seed, trial]`.",
        ),
        WrongAnswer(
            "the trial is left out",
            wrong.no_trial,
            "all trials get the same values, those of the seed. Give the generator both, `[seed, "
            "trial]`.",
        ),
        WrongAnswer(
            "one place for all",
            wrong.one_place,
            "all ranges get the same place: a large rate always comes with a large momentum, and "
            "most pairs are never tried. Draw a place for each name, from one generator.",
        ),
        WrongAnswer(
            "linear in place of factors",
            wrong.linear,
            "nearly all values of the ranges by factors come from their upper end: between low and "
            "high you go by differences. Each range knows its own way: `space[name].at(place)`.",
        ),
        WrongAnswer(
            "options rounded",
            wrong.rounds,
            "the first and the last option come half as often as those between them: rounding "
            "gives each end only half a part. `space[name].at(place)` cuts the options evenly.",
        ),
        WrongAnswer(
            "in the dictionary's order",
            wrong.as_named,
            "the same space with its names in another order gives the same trial other values, and "
            "a name that somebody adds in front would change all others. Go through `sorted(…)`.",
        ),
    ),
    ranked=False,
)
