"""Hints for families of wrong answers to exercise 09.3, and how an answer is read."""

from __future__ import annotations

from typing import Any

from helpers.exercises.common import fails_with
from helpers.exercises.compare import number, short
from helpers.exercises.lesson_09.calibrate_cases import NAMES
from helpers.exercises.spec import Case, Observation

UNITS = {"compute": " s", "latency": " s", "share": ""}


def triple_of(value: Any) -> tuple[float, float, float] | None:
    """What an answer returned, where it is three numbers."""
    if type(value) not in (tuple, list) or len(value) != 3:
        return None
    compute, latency, share = map(number, value)
    if compute is None or latency is None or share is None:
        return None
    return compute, latency, share


def below_zero(case: Case, seen: Observation) -> str | None:
    """One of the three below zero, where the times have errors."""
    triple = triple_of(seen.values[0])
    name = next((n for n, v in zip(NAMES, triple or (), strict=False) if v < 0), None)
    if triple is None or name is None or not case.facts["noise"]:
        return None
    got = short(triple[NAMES.index(name)])
    if name == "share":
        return (
            f"{case.name}, your share is {got}, one over a 1 / share below zero: that is noise. "
            "Any of the three may come out so: fit the others again without its column; where "
            "that is 1 / share, the share is `float('inf')`."
        )
    return (
        f"{case.name}, your {name} is {got}{UNITS[name]}, and nothing takes less than no time: "
        "that is noise. Where a coefficient comes out below zero, let it be 0 and fit the others "
        "again without its column; `scipy.optimize.nnls` does both."
    )


no_quotient = fails_with(
    "",
    "one over 0 fails: the best fit has a 1 / share of 0, for the bytes take no time that could be "
    "measured. Then the share is `float('inf')`.",
    kind="ZeroDivisionError",
)


def no_latency(case: Case, seen: Observation) -> str | None:
    """No latency, where there is one."""
    triple, best = triple_of(seen.values[0]), case.facts["best"]
    if triple is None or triple[1] != 0 or not best[1]:
        return None
    return (
        f"{case.name}, your latency is 0, and the times say {short(best[1])} s: each of the ring's "
        "2(N − 1) messages takes α beside its bytes. Fit three numbers, α with the column 2(N − 1)."
    )
