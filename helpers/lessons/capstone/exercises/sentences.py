"""Sentences about runs: what they have to say (18.5), and what they name, in whatever words.

A number in a sentence stands for one of the data if it is that number, rounded to the digits that
it is written with. Signs do not count for that: "3 s less" is −3 s. Whether more or less is said,
and of whom, is asked where the words tell it, and left open where they do.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean, median, stdev
from typing import NamedTuple

from helpers.lessons.capstone.exercises.paired import student, unpaired

WHAT = ("the first sentence", "the second sentence", "the third sentence", "the fourth sentence")
Table = Mapping[str, Sequence[float]]
_NUMBER = re.compile(r"(?<![\w.])[-+−–]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\d|st\b|nd\b|rd\b|th\b)")
_MORE = r"more(?!\s+(?:quick|rapid|slow)ly)|longer|slower|later|higher|greater|larger|worse"
_LESS = r"less(?!\s+(?:quick|slow)ly)|shorter|faster|quicker|earlier|sooner|lower|smaller|better"
_TURNS = re.compile(rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS}))\b", re.IGNORECASE)
_LEADS = r"\b(?:first|quickest|fastest|earliest|ahead|before|won|best|lowest|smallest|least)\b"
_TRAILS = r"\b(?:last|slowest|latest|worst|highest|largest)\b"
_NOT = r"\b(?:not|never|no|lost|without|miss\w*|fail\w*)\b|n't\b"
_CAME = r"\b(?:arrived?|reached|came|there)\b"
_VAGUE = r"\b(?:always|all|every\w*|each|both)\b"


class Facts(NamedTuple):
    """What the sentences have to say. wanted: of the first three the numbers, by what they are.

    apart: for the second and the third the interval of two lists without pairs, if there is one.
    """

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
    apart: tuple[tuple[float, ...], ...]


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
    lists = unpaired(times[first], times[second])[1:3] if comparable else ()
    apart = lists, unpaired(ends[best], ends[other])[1:3]
    return Facts(times, ends, runs, first, second, best, other, comparable, arrived, wanted, apart)


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


def _names(ways: Iterable[str]) -> str:
    """A pattern of the ways' names."""
    some = "|".join(map(re.escape, sorted(ways, key=len, reverse=True)))
    return rf"(?<!\w)(?P<way>{some})(?!\w)"


def mentions(sentence: str, ways: Iterable[str]) -> list[tuple[str, str]]:
    """Each name in a sentence, with the text up to the next one; "" and the text before them."""
    found = list(re.finditer(_names(ways), sentence, re.IGNORECASE))
    ends = [each.start() for each in found[1:]] + [len(sentence)]
    known = {way.lower(): way for way in ways}
    said = [(known[each["way"].lower()], sentence[each.end() : end])
            for each, end in zip(found, ends, strict=False)]  # fmt: skip
    return [("", sentence[: found[0].start()] if found else sentence), *said]


def said_larger(sentence: str, pair: tuple[str, str], difference: float) -> str | None:
    """Which of two ways is said to have more: "a took 3 s more than b", "a took −3 s less".

    None where the words leave it open.
    """
    turns = list(_TURNS.finditer(sentence))
    signs = {float(t) < 0 for t in tokens(sentence, pair) if stands_for(t, difference)}
    if len({turn.lastgroup for turn in turns}) != 1 or len(signs) != 1:
        return None
    before, behind = sentence[: turns[0].start()], sentence[turns[0].end() :]
    than = re.search(rf"\bthan\s+(?:that of\s+|the\s+)?{_names(pair)}", behind, re.IGNORECASE)
    if than:
        subject = pair[than["way"].lower() == pair[0].lower()]
    else:
        # "Compared with a, b took 3 s more": a is not who took it.
        free = rf"(?<!with )(?<!to )(?<!than )(?<!of )(?<!against )(?<!and ){_names(pair)}"
        named = list(re.finditer(free, before, re.IGNORECASE))
        if not named or re.search(r"\bthan\b", behind):
            return None
        subject = pair[named[-1]["way"].lower() != pair[0].lower()]
    more = (turns[0].lastgroup == "more") != signs.pop()
    return subject if more else pair[subject == pair[0]]


def turned_round(sentence: str, ways: Iterable[str]) -> str | None:
    """The word that puts the first name of a sentence last, or says no to it."""
    _, said = mentions(sentence, ways)[1]
    trails = re.search(_TRAILS, said, re.IGNORECASE)
    if trails and not re.search(_LEADS, said, re.IGNORECASE):
        return trails[0]
    no = re.match(r"\W*(?:\w+\W+)?(not|never)\b", said, re.IGNORECASE)
    return no[1] if no else None


def _first_number(said: str) -> float | None:
    """The first number of a piece; "of 5" is of how many."""
    found = _NUMBER.findall(re.sub(r"(?:\bof(?: the| all)? |/ ?)\d+", " ", said))
    return float(found[0].replace("−", "-").replace("–", "-")) if found else None


def exchanged(sentence: str, one: tuple[str, float], other: tuple[str, float]) -> bool:
    """Whether each of two ways has the other's number behind its name."""
    said = dict(reversed(mentions(sentence, (one[0], other[0]))))
    numbers = [_first_number(said.get(way, "")) for way in (one[0], other[0])]
    if None in numbers:
        return False
    given = [tokens(said[way], ())[0] for way in (one[0], other[0])]
    turned = stands_for(given[0], other[1]) and stands_for(given[1], one[1])
    return turned and not stands_for(given[0], one[1])


def other_count(sentence: str, facts: Facts) -> str | None:
    """A way with another number of runs than it has, arrived or lost; None where it is open."""
    (_, before), *said = mentions(sentence, facts.times)
    if _NUMBER.search(before):
        return None  # "in 2 runs ring": which number is whose is not asked
    for way, text in said:
        found, arrived = _first_number(text), facts.arrived[way]
        lost = facts.runs - arrived
        came, vague = re.search(_CAME, text, re.I), re.search(_VAGUE, before + text, re.I)
        right = {arrived, lost}
        no, no_before = re.search(_NOT, text, re.I), re.search(_NOT, before, re.I)
        if not vague and (no or (no_before and not came)):
            right = {lost}
        elif not vague and not no_before and (came or re.search(_CAME, before, re.I)):
            right = {arrived}
        if found is not None and found not in right:
            return way
    return None


def other_runs(sentence: str, facts: Facts) -> str | None:
    """How many seeds or runs there are said to be, where there are others."""
    counts = {n for each in facts.arrived.values() for n in (each, facts.runs - each)}
    of_all = r"(\d+) (?:seeds|pairs)\b|\bn ?= ?(\d+)|\d+ of (\d+)\b|\bof (\d+) runs\b"
    for found in re.finditer(of_all + r"|\b(\d+) runs\b", sentence):
        number = int(next(filter(None, found.groups())))
        if number != facts.runs and not (found[5] and number in counts):
            return found[0]
    return None


def contrary(facts: Facts, value: list[str]) -> Iterator[str]:
    """A sentence that says the contrary, or gives each of two ways the other's number."""
    for at in (0, 2):
        word = turned_round(value[at], facts.times)
        if word:
            yield f"{WHAT[at]} says {word!r} of the way that it begins with: {value[at]!r}."
    pairs = (facts.first, facts.second), (facts.best, facts.other)
    for at, pair in enumerate(pairs, 1):
        more = facts.wanted[at].get("difference", 0.0)
        said = said_larger(value[at], pair, more) if more else None
        if said and said != pair[more > 0]:
            larger, smaller = pair[more > 0], pair[more <= 0]
            yield (
                f"{WHAT[at]} says that {said} has more. On the same seeds {larger} has "
                f"{abs(more):.3g} more than {smaller} on average: {value[at]!r}."
            )
    for at in range(1 if facts.comparable else 2):
        numbers = list(facts.wanted[at].values())
        if exchanged(value[at], (facts.first, numbers[0]), (facts.second, numbers[1])):
            yield f"{WHAT[at]} gives each of the two ways the other's number: {value[at]!r}."
    if way := other_count(value[3], facts):
        arrived = facts.arrived[way]
        yield (
            f"the fourth sentence has another number for {way}, which arrived in {arrived} of "
            f"{facts.runs} runs and did not in {facts.runs - arrived}: {value[3]!r}."
        )


def other_seeds(facts: Facts, value: list[str]) -> Iterator[str]:
    """Another number of runs than there are."""
    for at, sentence in enumerate(value):
        if said := other_runs(sentence, facts):
            yield f"{WHAT[at]} says {said!r}, and there are {facts.runs} seeds here: {sentence!r}."
