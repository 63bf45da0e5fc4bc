"""Exercise 18.5, what was found: four sentences whose every number comes from the runs.

`findings(times, ends) -> list[str]`: who was first by the median, the paired difference to the
second with its interval and p, who ended best by the mean with the same, and who did not always
arrive. The claim: the right names and numbers, rounded however they are, and no other numbers. The
sentences may use any words, and so it takes many questions: that makes this file long.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from statistics import mean, median
from typing import Any

from helpers.checks.drives.calling import plain_call
from helpers.checks.spec import Case, Exercise, Look, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.capstone.algorithms.findings import findings as reference
from helpers.lessons.capstone.algorithms.paired import compare
from helpers.lessons.capstone.exercises.predictions import WAYS
from helpers.lessons.capstone.exercises.sentences import (
    WHAT,
    Facts,
    Table,
    contrary,
    facts_of,
    holds,
    mentions,
    named,
    other_seeds,
    ranked,
    stands_for,
    tokens,
)


def cases(seed: int) -> list[Case]:
    """Seed 0: five ways that all arrive, whose order by means is another; a second that is lost
    once and a way that never arrives; four ways with other names, on seven seeds, of which the last
    is lost on the last seed. Else others."""
    random = rng(seed, "18.5")
    made = []
    for name, names, runs in (
        ("With five ways that all arrive", WAYS, 5),
        ("With ways that do not always arrive", WAYS, 5),
        ("With four ways of other names", ("ring", "tree", "two levels", "one server"), 7),
    ):
        order = [str(way) for way in random.permutation(names)]
        shared = random.uniform(-0.1, 0.1, runs)
        times, ends = [], []
        for place in range(len(order)):
            seconds = 4.0 * 1.35**place * (1 + shared + random.uniform(-0.05, 0.05, runs))
            error = 9.0 - 0.6 * place + random.uniform(-0.4, 0.4, runs) + 4 * shared
            times.append([round(s, 3) for s in seconds.tolist()])
            ends.append([round(e, 2) for e in error.tolist()])
        times[0][1] *= 4  # once it was held up: its mean is not the smallest
        times[2][0] = round(0.7 * min(times[0]), 3)  # once it was lucky
        ends[1][0] = round(min(map(min, ends)) - 0.3, 2)
        if "not always" in name:
            times[1][2] = math.inf
            times[-1] = [math.inf] * runs
        if "other names" in name:
            times[-1][-1] = math.inf
        shuffled = random.permutation(len(order)).tolist()
        tables = ({order[k]: table[k] for k in shuffled} for table in (times, ends))
        made.append(case_of(name, *tables))
    return made


def case_of(name: str, times: Table, ends: Table) -> Case:
    """A case of two tables, of each way a number for each run."""
    return Case(name, ((times, ends),), facts=facts_of(times, ends)._asdict())


def shape(case: Case, seen: Observation) -> str | None:
    """Four texts."""
    value = seen.values[0]
    if value is None:
        return "you gave None; give the sentences back, `return` them, in a list."
    what = "one text" if type(value) is str else type(value).__name__
    if type(value) in (list, tuple):
        if len(value) == 4 and all(type(each) is str for each in value):
            return None
        what = f"{len(value)} of them"
    return f"a list of four sentences was asked for, and you gave {what}."


def of_four(ask: Callable[[Facts, list[str]], Iterator[str]]) -> Look:
    """A question about four sentences; whether there are four is asked before."""
    return lambda case, seen: ask(Facts(**case.facts), seen.values[0])


def _leaders(facts: Facts, at: int) -> tuple[Table, Any, str, str]:
    """What the first and the third sentence rank, by what, and who comes first and second."""
    if at == 0:
        return facts.times, median, facts.first, facts.second
    return facts.ends, mean, facts.best, facts.other


def _begins_with(at: int, worth: Callable[[Sequence[float]], float], why: str) -> Look:
    """Whether a sentence begins with the way of the least worth, which does not lead."""

    @of_four
    def look(facts: Facts, value: list[str]) -> Iterator[str]:
        table, by, leader, _ = _leaders(facts, at)
        way = ranked({way: worth(each) for way, each in table.items()})[0]
        if way != leader and named(value[at], facts.times)[:1] == [way]:
            smallest = f"By the smallest {by.__name__} it is {leader}."
            yield f"{WHAT[at]} begins with {way}, which has {why}. {smallest}"

    return look


def _leads(at: int, least: str) -> Look:
    """The right one first, and who came next. Ways of the very same number stand for each other.

    least: what the right one has.
    """

    @of_four
    def look(facts: Facts, value: list[str]) -> Iterator[str]:
        table, worth, leader, other = _leaders(facts, at)
        names = named(value[at], facts.times)
        values = [worth(table[way]) for way in names]
        if values[:1] != [worth(table[leader])]:
            who = f"begins with {names[0]}" if names else "names no way"
            yield f"{WHAT[at]} {who}; the smallest {least.format(leader)}."
        if worth(table[other]) not in values[1:]:
            yield f"{WHAT[at]} does not name {other}, which has the next {worth.__name__}."

    return look


first = _leads(0, "median has {}, which is first")
best = _leads(2, "mean error at the end has {}")


@of_four
def first_of_arrived(facts: Facts, value: list[str]) -> Iterator[str]:
    """Who is first where lost runs are left out."""
    kept = {w: [s for s in each if math.isfinite(s)] for w, each in facts.times.items()}
    order = ranked({way: median(each) if each else math.inf for way, each in kept.items()})
    for way in order[:2]:
        middle, right = median(kept[way] or [math.inf]), median(facts.times[way])
        said = tokens(dict(reversed(mentions(value[0], facts.times))).get(way, ""), ())[:1]
        there = any(stands_for(n, middle) and not stands_for(n, right) for n in said)
        if kept[way] and middle != right and there:
            yield (
                f"the first sentence gives {middle:.4g} s for {way}, as if the runs that never "
                "arrived had not been made. Their seconds are infinite, and count in the median: "
                f"{right:.4g} s."
            )


@of_four
def infinite(facts: Facts, value: list[str]) -> Iterator[str]:
    """A difference of what never arrived."""
    if not facts.comparable and re.search(r"\b(nan|inf|infinity)\b", value[1], re.IGNORECASE):
        yield (
            f"the second sentence holds {value[1]!r}: where a run never arrived there is no "
            "difference that is a number. Say in how many runs each of the two arrived."
        )


def _told(facts: Facts, sentence: str, at: int, *names: str) -> bool:
    """Whether a sentence holds some numbers, or the interval as the difference ± a half."""
    want = facts.wanted[at]
    half = re.search(r"±|\+/-", sentence)
    return all(
        holds(sentence, facts, (want["high"] - want["low"]) / 2)
        if half and name in ("low", "high")
        else holds(sentence, facts, want[name], name)
        for name in names
    )


@of_four
def no_interval(facts: Facts, value: list[str]) -> Iterator[str]:
    """A difference without its interval."""
    for at, want in enumerate(facts.wanted):
        there = "low" in want and _told(facts, value[at], at, "difference")
        if there and not any(_told(facts, value[at], at, end) for end in ("low", "high")):
            yield (
                f"the 95 % interval is missing from {WHAT[at]}: {want['low']:.3g} to "
                f"{want['high']:.3g}. Without it nobody knows whether the difference would be "
                "there again."
            )


@of_four
def no_p(facts: Facts, value: list[str]) -> Iterator[str]:
    """A difference without p."""
    for at, want in enumerate(facts.wanted):
        there = "p" in want and _told(facts, value[at], at, "difference", "low", "high")
        if there and not holds(value[at], facts, want["p"], "p"):
            yield f"p is missing from {WHAT[at]}, or is another one: it is {want['p']:.2g}."


@of_four
def without_pairs(facts: Facts, value: list[str]) -> Iterator[str]:
    """An interval of two lists."""
    for at, ends in enumerate(facts.apart, 1):
        if not ends or _told(facts, value[at], at, "low", "high"):
            continue
        if all(holds(value[at], facts, end) for end in ends):
            yield (
                f"{WHAT[at]} gives the interval of two lists without pairs. Runs of one seed "
                "belong together: `compare` of exercise 18.4."
            )


@of_four
def lost(facts: Facts, value: list[str]) -> Iterator[str]:
    """Whose runs did not arrive, and how many."""
    for way, arrived in facts.arrived.items():
        missing = facts.runs - arrived
        said = f"{way} did not arrive in {missing} of {facts.runs} runs"
        if missing and way not in named(value[3], facts.times):
            yield f"{said}; the fourth sentence does not say it."
        if missing and not (holds(value[3], facts, missing) or holds(value[3], facts, arrived)):
            yield f"the fourth sentence does not say that {said}."
    if min(facts.arrived.values()) == facts.runs and re.search(r":\W*$", value[3]):
        yield f"the fourth sentence names nobody: {value[3]!r}. Where all arrived, say so."


@of_four
def missing(facts: Facts, value: list[str]) -> Iterator[str]:
    """A number that has to be there."""
    for at, want in enumerate(facts.wanted):
        for name, number in want.items():
            if not _told(facts, value[at], at, name):
                yield f"{WHAT[at]} should hold {name}, {number:.4g}: {value[at]!r}."


@of_four
def stray(facts: Facts, value: list[str]) -> Iterator[str]:
    """A number that is none of the data."""
    common = (95, 0.95, facts.runs, len(facts.times), 0.05, 0.01, 0.001)
    counts = [n for each in facts.arrived.values() for n in (each, facts.runs - each)]
    numbers = [n for want in facts.wanted for n in want.values()]
    numbers += [100 * n for n in numbers]
    numbers += [*common, *counts, *map(median, facts.times.values())]
    numbers += [*map(mean, facts.ends.values())]
    numbers += [(want["high"] - want["low"]) / 2 for want in facts.wanted if "high" in want]
    for at, sentence in enumerate(value):
        for token in tokens(sentence, facts.times):
            if not any(stands_for(token, number) for number in numbers):
                yield (
                    f"{WHAT[at]} holds {token}, which is none of the numbers that were asked for: "
                    f"{sentence!r}."
                )


turned, of_others = of_four(contrary), of_four(other_seeds)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Names and numbers are right and in their places, and no others are there."""
    for look in (shape, first, infinite, best, missing, lost, of_others, turned, stray):
        yield first_said(look, case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        "Passed on three sets of runs: each number in your sentences is one of the data, and they "
        f"change with them. The first is: {seen[0].values[0][0]}"
    )


WRONG = """
one text
    | return said => return " ".join(said)
    ? a list of four sentences
printed
    | return said => return None
    ? `return` them
by the mean
    | sorted(middle, key=middle.__getitem__) => sorted(times, key=lambda way: mean(times[way]))
    ? since a run of another one was held up
by the quickest
    | sorted(middle, key=middle.__getitem__) => sorted(times, key=lambda way: min(times[way]))
    ? quickest single run
left out
    | median(seconds) => median([s for s in seconds if s < math.inf] or [math.inf])
    ? as if the runs that never arrived
the slowest
    | key=middle.__getitem__ => key=lambda way: -middle[way]
    ? which is first.
# The "5" of "5 seeds" would be taken for a median of 5.2 s here, and in "nothing of the lost".
infinity in it
    | in the median of {runs} " f"seeds; => in the median; " f"
    | if arrived[first] == arrived[second] == runs: => if True:
    | raise ValueError("A run that never arrived has no difference: say how many arrived.")
        => return math.inf, math.nan, math.nan, math.nan
    | On the same seeds {second} took {more:.3g} s more than {first}, with a 95 % interval "
        => {second} took {more:.4g} s more than {first}, "
    | from {low:.3g} to {high:.3g} s (p = {p:.2g}). => {low:.4g} to {high:.4g} s, p = {p:.2g}.
    ? no difference that is a number
no interval
    | from {low:.3g} to {high:.3g} *=>
    ? the 95 % interval is missing
no p
    | (p = {p:.2g}) *=>
    ? p is missing
without pairs
    | sum((d - mean) ** 2 for d in differences)
        => sum((x - sum(each) / n) ** 2 for each in (a, b) for x in each)
    | , n - 1)) *=> , 2 * n - 2))
    ? without pairs
the best single end
    | sorted(end, key=end.__getitem__) => sorted(ends, key=lambda way: min(ends[way]))
    ? best single run at the end
ended last
    | key=end.__getitem__ => key=lambda way: -end[way]
    ? error at the end has
nothing of the lost
    | in the median of {runs} " f"seeds; => in the median; " f"
    | return said => return [*said[:3], "Most runs arrived."]
    ? did not arrive in
names exchanged
    | {second} took {more:.3g} s more than {first} => {first} took {more:.3g} s more than {second}
    ? says that
last
    | reached the target first => reached the target last
    ? says 'last'
five seeds
    | median of {runs} => median of 5
    ? says '5 seeds'
lost for arrived
    | f"{way} in {runs - n} of {runs} runs" => f"{way} in {n} of {runs} runs"
    ? has another number for
# Whatever the data are.
typed
    | return said => said[3] += " Asynchronous training was 2.37 times as quick."; return said
    ? is none of the numbers that were
first alone
    | reached the target first, after {middle[first]:.3g} s in the median of {runs} "
        => was first, {middle[first]:.4g} s; "
    | seeds; then came {second}, after {middle[second]:.3g} s. => {second}
    ? should hold
"""

EXERCISE = Exercise(
    number="18.5",
    title="What was found",
    size=Size(stars=2, minutes=20, points=4),
    function="findings",
    asks=(
        "four sentences in a list: who reached the target first by the median, and who second, "
        "with both medians; the paired difference between the two, its interval and p, or in how "
        "many runs each arrived where one did not always; who ended best by the mean, with the "
        "paired difference to the next, its interval and p; and who did not arrive, in how many "
        "runs."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("no four sentences", shape),
        Mistake(
            "first by the mean",
            _begins_with(0, mean, "the smallest mean, since a run of another one was held up"),
        ),
        Mistake("first by the quickest run", _begins_with(0, min, "the quickest single run")),
        Mistake("first where it arrived", first_of_arrived),
        Mistake("another one is first", first),
        Mistake("a difference with infinity", infinite),
        Mistake("without pairs", without_pairs),
        Mistake("no interval", no_interval),
        Mistake("no p", no_p),
        Mistake("the best single end", _begins_with(2, min, "the best single run at the end")),
        Mistake("another one ended best", best),
        Mistake("lost runs are not told", lost),
        Mistake("another number of runs", of_others),
        Mistake("the contrary", turned),
        Mistake("numbers of no run", stray),
        Mistake("a number is missing", missing),
    ),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("18.5", WRONG, (reference, compare)),
    ranked=False,
    builds_on=("18.4",),
)
