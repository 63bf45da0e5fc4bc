"""What is not so in sentences about runs (18.5): names and numbers, in whatever words.

A number in a sentence stands for one of the data if it is that number, rounded to the digits that
it is written with. Signs do not count: "3 s less" is −3 s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median
from typing import Any, NamedTuple

Table = Mapping[str, Sequence[float]]
_NUMBER = re.compile(r"(?<![\w.])[-+−–]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WHAT = ("the first sentence", "the second sentence", "the third sentence", "the fourth sentence")


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
    from scipy.stats import t  # type: ignore[import-untyped]

    d = [y - x for x, y in zip(a, b, strict=True)]
    center, n = mean(d), len(d)
    error = math.sqrt(sum((x - center) ** 2 for x in d) / (n - 1) / n)
    reach = float(t.ppf(0.975, n - 1)) * error
    p = 2 * float(t.sf(abs(center) / error, n - 1)) if error else 0.0
    return {"difference": center, "low": center - reach, "high": center + reach, "p": p}


def facts_of(times: Table, ends: Table) -> Facts:
    """What there is to say. Two ways at least reach the target in more than half of the runs."""
    runs = len(next(iter(times.values())))
    first, second = _ranked({way: median(each) for way, each in times.items()})[:2]
    best, other = _ranked({way: mean(each) for way, each in ends.items()})[:2]
    arrived = {way: sum(map(math.isfinite, each)) for way, each in times.items()}
    comparable = arrived[first] == arrived[second] == runs
    counts = {f"arrivals of {way}": float(arrived[way]) for way in (first, second)}
    wanted = (
        {f"the median of {way}": median(times[way]) for way in (first, second)},
        paired(times[first], times[second]) if comparable else counts,
        {f"the mean of {best}": mean(ends[best]), **paired(ends[best], ends[other])},
    )
    return Facts(times, ends, runs, first, second, best, other, comparable, arrived, wanted)


def _ranked(values: Mapping[str, float]) -> list[str]:
    return sorted(values, key=values.__getitem__)


# --- reading a sentence ---------------------------------------------------------------------------


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
    places = len(digits.partition(".")[2])
    step = 10.0 ** (int(power or 0) - places)
    value = abs(float(token))
    return abs(value - abs(number)) <= 0.5 * step * (1 + 1e-9) + 1e-12


def holds(sentence: str, facts: Facts, number: float, name: str = "") -> bool:
    """Whether a sentence holds a number. A p may be given as below some bound."""
    found = tokens(sentence, facts.times)
    if name == "p" and any("<" in sentence and number < float(t) <= 0.05 for t in found):
        return True
    return any(
        stands_for(token, number) and (float(token) != 0 or abs(number) < 1e-9) for token in found
    )


# --- the looks, in the order in which they are told ---------------------------------------------


def shape(facts: Facts, value: Any) -> str | None:
    """Four texts."""
    if value is None:
        return "you gave None; give the sentences back, `return` them, in a list."
    if type(value) in (list, tuple) and len(value) == 4 and all(type(v) is str for v in value):
        return None
    what = f"{len(value)} of them" if type(value) in (list, tuple) else "one text"
    what = what if type(value) in (list, tuple, str) else type(value).__name__
    return f"a list of four sentences was asked for, and you gave {what}."


def _says_first(facts: Facts, value: Any, at: int, way: str) -> bool:
    names = named(value[at], facts.times)
    return bool(names) and names[0] == way


def _first_is(facts: Facts, value: Any, other: str, why: str) -> str | None:
    if shape(facts, value) or other == facts.first or not _says_first(facts, value, 0, other):
        return None
    smallest = f"By the smallest median it is {facts.first}."
    return f"the first sentence begins with {other}, {why}. {smallest}"


def first_by_mean(facts: Facts, value: Any) -> str | None:
    """Who has the smallest mean."""
    way = _ranked({way: mean(each) for way, each in facts.times.items()})[0]
    why = "which has the smallest mean, since a run of another one was held up"
    return _first_is(facts, value, way, why)


def first_by_quickest(facts: Facts, value: Any) -> str | None:
    """Who has the quickest run."""
    way = _ranked({way: min(each) for way, each in facts.times.items()})[0]
    return _first_is(facts, value, way, "which has the quickest single run")


def first_of_arrived(facts: Facts, value: Any) -> str | None:
    """Who is first where lost runs are left out."""
    kept = {w: [s for s in each if math.isfinite(s)] for w, each in facts.times.items()}
    ranked = _ranked({way: median(each) if each else math.inf for way, each in kept.items()})
    numbers = {way: median(kept[way]) for way in ranked[:2] if kept[way]}
    if shape(facts, value) or all(facts.arrived[way] == facts.runs for way in numbers):
        return None
    for way, middle in numbers.items():
        if middle != median(facts.times[way]) and holds(value[0], facts, middle):
            return (
                f"the first sentence gives {middle:.4g} s for {way}, as if the runs that never "
                f"arrived had not been made. Their seconds are infinite, and count in the median: "
                f"{median(facts.times[way]):.4g} s."
            )
    return None


def _in_order(table: Table, worth: Any, names: Sequence[str], asked: Sequence[str]) -> int:
    """How many of two ways stand in a sentence as asked: 0 where it begins with another one, 1
    where the second is missing. Ways of the very same number stand for each other."""
    values = [worth(table[way]) for way in names]
    if values[:1] != [worth(table[asked[0]])]:
        return 0
    return 2 if worth(table[asked[1]]) in values[1:] else 1


def first(facts: Facts, value: Any) -> str | None:
    """The right one first, and who came next."""
    if shape(facts, value):
        return None
    names = named(value[0], facts.times)
    found = _in_order(facts.times, median, names, (facts.first, facts.second))
    if found == 0:
        who = f"begins with {names[0]}" if names else "names no way"
        return f"the first sentence {who}; the smallest median has {facts.first}, which is first."
    if found == 1:
        return f"the first sentence does not name {facts.second}, which has the next median."
    return None


def infinite(facts: Facts, value: Any) -> str | None:
    """A difference of what never arrived."""
    if shape(facts, value) or facts.comparable:
        return None
    if re.search(r"\b(nan|inf|infinity)\b", value[1], re.IGNORECASE):
        return (
            f"the second sentence holds {value[1]!r}: where a run never arrived there is no "
            "difference that is a number. Say in how many runs each of the two arrived."
        )
    return None


def _interval(facts: Facts, value: Any, at: int, name: str) -> bool:
    return all(_told(facts, value[at], at, each) for each in name.split())


def _told(facts: Facts, sentence: str, at: int, name: str) -> bool:
    """Whether a sentence holds a number, or an end of the interval as the difference ± a half."""
    want = facts.wanted[at]
    if name in ("low", "high") and re.search(r"±|\+/-", sentence):
        return holds(sentence, facts, (want["high"] - want["low"]) / 2)
    return holds(sentence, facts, want[name], name)


def no_interval(facts: Facts, value: Any) -> str | None:
    """A difference without its interval."""
    if shape(facts, value):
        return None
    for at in (1, 2):
        want = facts.wanted[at]
        if "low" not in want or not _interval(facts, value, at, "difference"):
            continue
        if not any(_told(facts, value[at], at, end) for end in ("low", "high")):
            return (
                f"the 95 % interval is missing from {WHAT[at]}: {want['low']:.3g} to "
                f"{want['high']:.3g}. Without it nobody knows whether the difference would be "
                "there again."
            )
    return None


def no_p(facts: Facts, value: Any) -> str | None:
    """A difference without p."""
    if shape(facts, value):
        return None
    for at in (1, 2):
        want = facts.wanted[at]
        if "p" not in want or not _interval(facts, value, at, "difference low high"):
            continue
        if not holds(value[at], facts, want["p"], "p"):
            return f"p is missing from {WHAT[at]}, or is another one: it is {want['p']:.2g}."
    return None


def unpaired(facts: Facts, value: Any) -> str | None:
    """An interval of two lists."""
    from scipy.stats import t

    if shape(facts, value):
        return None
    for at, table, one, other in (
        (1, facts.times, facts.first, facts.second),
        (2, facts.ends, facts.best, facts.other),
    ):
        a, b = table[one], table[other]
        if at == 1 and not facts.comparable:
            continue
        n, center = len(a), mean(b) - mean(a)
        spread = [sum((x - mean(each)) ** 2 for x in each) / (n - 1) for each in (a, b)]
        reach = float(t.ppf(0.975, 2 * n - 2)) * math.sqrt(sum(spread) / n)
        apart = [holds(value[at], facts, center + sign * reach) for sign in (-1, 1)]
        if all(apart) and not _interval(facts, value, at, "low high"):
            return (
                f"{WHAT[at]} gives the interval of two lists without pairs. Runs of one seed "
                "belong together: `compare` of exercise 18.4."
            )
    return None


def best_by_single(facts: Facts, value: Any) -> str | None:
    """Who has the best single end."""
    way = _ranked({way: min(each) for way, each in facts.ends.items()})[0]
    if shape(facts, value) or way == facts.best or not _says_first(facts, value, 2, way):
        return None
    return (
        f"the third sentence begins with {way}, which has the best single run at the end. By the "
        f"smallest mean it is {facts.best}."
    )


def best(facts: Facts, value: Any) -> str | None:
    """The right one, and who came next."""
    if shape(facts, value):
        return None
    names = named(value[2], facts.times)
    found = _in_order(facts.ends, mean, names, (facts.best, facts.other))
    if found == 0:
        who = f"begins with {names[0]}" if names else "names no way"
        return f"the third sentence {who}; the smallest mean error at the end has {facts.best}."
    if found == 1:
        return f"the third sentence does not name {facts.other}, which has the next mean."
    return None


def lost(facts: Facts, value: Any) -> str | None:
    """Whose runs did not arrive, and how many."""
    if shape(facts, value):
        return None
    names = named(value[3], facts.times)
    for way, arrived in facts.arrived.items():
        missing = facts.runs - arrived
        if missing and way not in names:
            return (
                f"{way} did not arrive in {missing} of {facts.runs} runs; the fourth sentence does "
                "not say it."
            )
        if missing and not (holds(value[3], facts, missing) or holds(value[3], facts, arrived)):
            return (
                f"the fourth sentence does not say that {way} did not arrive in {missing} of "
                f"{facts.runs} runs."
            )
    return None


def missing(facts: Facts, value: Any) -> str | None:
    """A number that has to be there."""
    if shape(facts, value):
        return None
    for at, want in enumerate(facts.wanted):
        for name, number in want.items():
            if not _told(facts, value[at], at, name):
                return f"{WHAT[at]} should hold {name}, {number:.4g}: {value[at]!r}."
    return None


def stray(facts: Facts, value: Any) -> str | None:
    """A number that is none of the data."""
    if shape(facts, value):
        return None
    common = [
        95.0,
        0.95,
        float(facts.runs),
        float(len(facts.times)),
        1.0,
        2.0,
        3.0,
        0.05,
        0.01,
        0.001,
    ]
    counts = [n for each in facts.arrived.values() for n in (float(each), float(facts.runs - each))]
    middles = [median(each) for each in facts.times.values()]
    means = [mean(each) for each in facts.ends.values()]
    numbers = [n for want in facts.wanted for n in want.values()]
    halves = [(want["high"] - want["low"]) / 2 for want in facts.wanted if "high" in want]
    numbers += [100 * n for n in numbers] + common + counts + middles + means + halves
    for at, sentence in enumerate(value):
        for token in tokens(sentence, facts.times):
            if not any(stands_for(token, number) for number in numbers):
                return (
                    f"{WHAT[at]} holds {token}, which is none of the numbers that were asked for: "
                    f"{sentence!r}."
                )
    return None


LOOKS = (shape, first, infinite, best, missing, lost, stray)
"""What the claim holds."""
