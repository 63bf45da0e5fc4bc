"""Whether the settings agree on the order of the ways, and what turned it where they do not.

Time to the target is a product: how many gradients a way needs, times what a gradient takes it. A
setting changes both, and not for all ways alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, median
from typing import Any, NamedTuple

from helpers.lessons.capstone.experiments.logbook import Logbook
from helpers.lessons.capstone.experiments.race import Table, run_of, tables

Compare = Callable[[list[float], list[float]], tuple[float, float, float, float]]
Results = Mapping[str, tuple[Table, Table]]  # by setting: seconds to the target, and ends


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


@dataclass(frozen=True)
class Turned:
    """Two ways in another order in one setting than in another: `a` before `b` in `here`, and
    behind it `there`.

    gradients, seconds: of `b`, as a multiple of `a`'s, here and there: gradients needed, and what
    one takes. sure: whether the difference of times differs from 0 in both.
    """

    a: str
    b: str
    here: str
    there: str
    gradients: tuple[float, float]
    seconds: tuple[float, float]
    sure: bool

    @property
    def both_arrive(self) -> bool:
        """Whether both have factors in both settings."""
        return all(0 < ratio < math.inf for ratio in self.gradients)

    @property
    def by_gradients(self) -> bool:
        """Whether gradients changed more than what one takes did."""
        before, after = self.gradients
        return abs(math.log(after / before)) > abs(math.log(self.seconds[1] / self.seconds[0]))


def order(table: Table, worth: Callable[[Sequence[float]], float]) -> list[str]:
    """The ways from the smallest on."""
    return sorted(table, key=lambda way: worth(table[way]))


def turned(results: Results, shares: Mapping[str, Table], compare: Compare) -> list[Turned]:
    """Each pair of ways whose times are in different orders in two settings, once: with the
    settings in which the difference is surest. Pairs of equal medians have no order."""
    made = {name: factors(times, shares[name]) for name, (times, _) in results.items()}
    found: dict[tuple[str, str], Turned] = {}
    for here, there in combinations(results, 2):
        times, others = results[here][0], results[there][0]
        for a, b in combinations([way for way in times if way in others], 2):
            first, second = (a, b) if median(times[a]) <= median(times[b]) else (b, a)
            if median(times[first]) == median(times[second]):
                continue
            if not median(others[second]) < median(others[first]):
                continue
            sure = all(differs(of[first], of[second], compare) for of in (times, others))
            one = [made[name][first] for name in (here, there)]
            other = [made[name][second] for name in (here, there)]
            gradients = [y.gradients / x.gradients for x, y in zip(one, other, strict=True)]
            seconds = [y.pace / x.pace for x, y in zip(one, other, strict=True)]
            new = Turned(first, second, here, there, (gradients[0], gradients[1]),
                         (seconds[0], seconds[1]), sure)  # fmt: skip
            if (a, b) not in found or (sure and not found[a, b].sure):
                found[a, b] = new
    return list(found.values())


def differs(a: list[float], b: list[float], compare: Compare) -> bool:
    """Whether the 95 % interval of the paired difference is on one side of 0.

    Where one did not always arrive: whether the other always did, and this one never.
    """
    arrived = [sum(map(math.isfinite, each)) for each in (a, b)]
    if arrived == [len(a), len(b)]:
        _, low, high, _ = compare(a, b)
        return low > 0 or high < 0
    return sorted(arrived) == [0, len(a)]


def agreement(results: Results, shares: Mapping[str, Table], compare: Compare) -> list[str]:
    """Sentences for the report: each setting's order, and why they differ where they do."""
    settings = list(results)
    if len(settings) < 2:
        return ["Fewer than two settings have run: there is nothing to compare yet."]
    said = []
    for what, part, worth in (
        ("By time to the target", 0, median),
        ("By the error at the end", 1, mean),
    ):
        orders = {tuple(order(results[name][part], worth)) for name in settings}
        said.append(f"{what} the settings {'agree' if len(orders) == 1 else 'do not agree'}.")
    changed = turned(results, shares, compare)
    sure = [pair for pair in changed if pair.sure]
    said += _lost([pair for pair in sure if not pair.both_arrive])
    said += [_why(pair) for pair in sure if pair.both_arrive]
    open_ones = [f"{pair.a} and {pair.b}" for pair in changed if not pair.sure]
    if open_ones:
        said.append(
            "In another order, but not told apart in at least one of the settings: "
            f"{'; '.join(open_ones)}."
        )
    said.append(_ends(results, compare))
    return said


def orders_of(results: Results) -> list[list[str]]:
    """Rows of a table: what is ordered, the setting, and the ways from the first on."""
    rows = []
    for what, part, worth in (("time to the target", 0, median), ("error at the end", 1, mean)):
        for name, both in results.items():
            rows.append([what, name, ", ".join(order(both[part], worth))])
    return rows


def _lost(pairs: Sequence[Turned]) -> list[str]:
    """One sentence for each way that arrives in one setting and not in another."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for pair in pairs:
        at_first = not 0 < pair.gradients[0] < math.inf
        where = (pair.here, pair.there) if at_first else (pair.there, pair.here)
        ratio = pair.gradients[0] if at_first else pair.gradients[1]
        lost, other = (pair.b, pair.a) if ratio else (pair.a, pair.b)
        found.setdefault((lost, *where), []).append(other)
    return [
        f"{lost} does not arrive in {where}, and so is behind {', '.join(others)} there; in "
        f"{elsewhere} it is before."
        for (lost, where, elsewhere), others in found.items()
    ]


def _why(pair: Turned) -> str:
    """What turned a pair round."""
    a, b, here, there = pair.a, pair.b, pair.here, pair.there
    said = f"{a} is before {b} in {here}, and behind it in {there}"
    by = "number of gradients" if pair.by_gradients else "time of a gradient"
    return (
        f"{said}. {b.capitalize()} needs {pair.gradients[0]:.2f} times the gradients of {a} in "
        f"{here} and {pair.gradients[1]:.2f} times in {there}; each takes {pair.seconds[0]:.2f} "
        f"and {pair.seconds[1]:.2f} times as long. The {by} changed more."
    )


def _ends(results: Results, compare: Compare) -> str:
    """Whether any order of ends differs surely between settings."""
    sure = []
    for here, there in combinations(results, 2):
        ends, others = results[here][1], results[there][1]
        for a, b in combinations([way for way in ends if way in others], 2):
            one, other = mean(ends[a]) - mean(ends[b]), mean(others[a]) - mean(others[b])
            if one * other < 0 and all(differs(of[a], of[b], compare) for of in (ends, others)):
                lower, higher = (a, b) if one < 0 else (b, a)
                sure.append(f"{lower} ended lower than {higher} in {here}, and higher in {there}")
    if not sure:
        return "No order of two ends turns surely between two settings."
    return f"Ends that surely turn: {'; '.join(sure)}."
