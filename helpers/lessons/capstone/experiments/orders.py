"""Whether the settings agree on the order of the ways, and what a time to the target is made of.

Time to the target is a product: how many gradients a way needs, times what a gradient takes it. A
setting changes both, and not for all ways alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from statistics import mean, median
from typing import Any, NamedTuple

from helpers.lessons.capstone.experiments.logbook import Logbook
from helpers.lessons.capstone.experiments.race import Table, run_of, tables

Compare = Callable[[list[float], list[float]], tuple[float, float, float, float]]
Results = Mapping[str, tuple[Table, Table]]  # by setting: seconds to the target, and ends
MEASURES = (("time to the target", 0, median), ("error at the end", 1, mean))


def needed(book: Logbook, setting: str) -> Table:
    """The share of a run's gradients that was made when the target was reached, by way and seed;
    infinity for never. A look is at the target if training had taken the logbook's seconds then."""
    latest = {(e["way"], e["seed"]): e for e in book.of("run", setting=setting)}
    times, _ = tables(book, setting)
    seeds = sorted({seed for _, seed in latest})
    return {way: [_share(latest[way, seed]) for seed in seeds] for way in times}


def _share(entry: Mapping[str, Any]) -> float:
    if entry["seconds"] is None:
        return math.inf
    looks = run_of(entry).looks
    stood = [sum(look.took for look in looks[:n]) for n in range(len(looks))]
    off = [
        abs(look.at - entry["began"] - still - entry["seconds"])
        for look, still in zip(looks, stood, strict=True)
    ]
    return off.index(min(off)) / (len(looks) - 1)


class Factors(NamedTuple):
    """What a way's time to the target is made of, in the median over seeds.

    gradients: the share of a run's that was needed, infinity for never. pace: the seconds that all
    of a run's would take as quickly as those, infinity likewise.
    """

    gradients: float
    pace: float


def factors(times: Table, shares: Table) -> dict[str, Factors]:
    """The two factors of each way."""
    return {
        way: Factors(
            median(shares[way]),
            median(
                seconds / share if math.isfinite(share) else math.inf
                for seconds, share in zip(times[way], shares[way], strict=True)
            ),
        )
        for way in times
    }


def order(table: Table, worth: Callable[[Sequence[float]], float]) -> list[str]:
    """The ways from the smallest on."""
    return sorted(table, key=lambda way: worth(table[way]))


def orders_of(results: Results) -> list[list[str]]:
    """Rows of a table: what is ordered, the setting, and the ways from the first on."""
    return [
        [what, name, ", ".join(order(both[part], worth))]
        for what, part, worth in MEASURES
        for name, both in results.items()
    ]


def agreement(results: Results, compare: Compare) -> list[str]:
    """Sentences for the report: which pairs of ways are in another order in another setting."""
    if len(results) < 2:
        return ["Fewer than two settings have run: there is nothing to compare yet."]
    said = []
    for what, part, worth in MEASURES:
        sure: dict[frozenset[str], str] = {}
        found: dict[frozenset[str], str] = {}
        for here, there in permutations(results, 2):
            one, other = results[here][part], results[there][part]
            for a, b in permutations([way for way in one if way in other], 2):
                pair = frozenset((a, b))
                if worth(one[a]) < worth(one[b]) and worth(other[b]) < worth(other[a]):
                    found.setdefault(pair, f"{a} and {b}")
                    if all(differs(of[a], of[b], compare) for of in (one, other)):
                        sure.setdefault(pair, f"{a} before {b} in {here}, and behind it in {there}")
        if not found:
            said.append(f"By the {what} the settings agree.")
            continue
        if sure:
            turns = "; ".join(sure.values())
            said.append(f"By the {what} the settings do not agree. Surely: {turns}.")
        else:
            said.append(f"By the {what} no order turns surely between two settings.")
        if rest := [words for pair, words in found.items() if pair not in sure]:
            said.append(f"Turned, but not told apart in one of the two: {'; '.join(rest)}.")
    return said


def differs(a: list[float], b: list[float], compare: Compare) -> bool:
    """Whether the 95 % interval of the paired difference is on one side of 0.

    Where one did not always arrive: whether the other always did, and this one never.
    """
    arrived = [sum(map(math.isfinite, each)) for each in (a, b)]
    if arrived == [len(a), len(b)]:
        _, low, high, _ = compare(a, b)
        return low > 0 or high < 0
    return sorted(arrived) == [0, len(a)]
