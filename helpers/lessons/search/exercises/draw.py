"""Exercise 16.1, a trial's hyperparameters: by the seed and the trial's number alone.

The claim: asked again, in another order, or from a space that names its ranges in another order, a
trial gets the same; trials differ, also those of neighbouring seeds; each range is filled evenly,
on its own; the global random states stay as they were. The file is long because all of that is
asked of one answer, each with words of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from helpers.checks.compare import count, describe, number, short
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.search.algorithms.space import draw as reference
from helpers.lessons.search.exercises.drawn import PARTS, draws, far

Row = dict[str, Any]  # a trial's values by names
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
    listed = []
    for names, trials in ((list(ranges), 600), (["rate"], 1), (["width", "decay"], 101),
                          (["rate", "momentum", "activation"], 2)):  # fmt: skip
        name = f"With {count(len(names), 'range')}, {count(trials, 'trial')} and seed {first}"
        listed.append(Case(name, (({each: ranges[each] for each in names}, trials, first),)))
        first += 3
    return listed


def row_of(case: Case, told: Any) -> Row:
    """A trial's values; raises TypeError where they are not what was asked for."""
    ranges, row = case.args[0][0], {}
    if type(told) is not list or [type(each) for each in told] != [list] * len(told):
        raise TypeError(describe(told))
    if [each[0] for each in told] != sorted(ranges):
        gave = ", ".join(repr(each[0]) for each in told) or "none"
        raise TypeError(f"a dictionary with the names {gave}")
    for name, value in told:
        kind, *ends = ranges[name]
        if kind == "choice":
            row[name] = value.item() if type(value) is np.ndarray and value.ndim == 0 else value
            inside = row[name] in ends[0]
        else:
            row[name], slack = number(value), 1e-9 * (ends[1] - ends[0])
            inside = row[name] is not None and ends[0] - slack <= row[name] <= ends[1] + slack
        if not inside:
            raise TypeError(f"{describe(value)} for `{name}`")
    return row


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
    *told, alone = seen.values[0]
    rows = {part: [row_of(case, one) for one in its] for part, its in zip(PARTS, told, strict=True)}
    found = [*_mixed_up(case, rows)][:1]
    if not found or found[0].kind in ("seeds", "far"):
        if rows["turned"] != rows["first"][:6][::-1]:
            said = "a space that names its ranges in another order gives trial 0 other values"
            found.append(Fault("order", None, f"{said}: go through `sorted(space)`."))
        if len(rows["first"]) >= 50:
            found += _uneven(case.args[0][0], rows["first"])
    if not alone["space"]:
        said = "your function changes `space`: the next trial finds another one. Read it alone."
        found.append(Fault("space", None, said))
    if not alone["random"]:
        said = "the global random state is another one after your call, for everybody who uses it"
        found.append(Fault("alone", None, f"{said}: make a generator of the call's own."))
    return found


def _mixed_up(case: Case, rows: Mapping[str, list[Row]]) -> Iterator[Fault]:
    """Trials that get other values when they are asked for again, or the same ones as others."""
    first, few = rows["first"], rows["first"][:6][::-1]
    for trial, (one, was) in enumerate(zip(rows["again"], few, strict=True)):
        for name in one:
            if one[name] != was[name]:
                said = f"trial {len(few) - 1 - trial} is asked for once more, after others, and "
                said += f"its `{name}` is another: nothing but the seed and the trial's number may "
                yield Fault("again", None, f"{said}decide it.")
    if rows["salted"] != few:  # which trials a `hash` makes alike is another matter each time
        said = "`hash` of a text gives another number in every process, so another worker gets "
        said += "other values for the same trial. Seed the generator with the numbers themselves, "
        yield Fault("hash", None, f"{said}`[seed, trial]`.")
    if rows["elsewhere"] != few:
        said = "another worker, in a process of its own, gets other values for the same trials: "
        said += "nothing of your process may decide them, such as its number, where something lies "
        yield Fault("process", None, f"{said}in its memory, or what was drawn and noted before.")
    places: dict[str, int] = {}
    for trial, row in enumerate(first):
        before = places.setdefault(repr(row), trial)
        if before != trial:
            kinds = len(set(map(repr, first)))
            said = f"trials {before} and {trial} get the very same values: there are {kinds} "
            said += f"different ones among {len(first)} trials."
            yield Fault("trials", kinds == 1, said)
    texts = list(map(repr, rows["other"]))
    for trial, text in enumerate(texts):
        if text in places:
            said = f"trial {trial} of the next seed gets what trial {places[text]} of this one "
            said += "got: two searches would try the same."
            yield Fault("seeds", [places[text] - trial, places.keys() >= set(texts)], said)
    firsts, seconds = rows["far"][::2], rows["far"][1::2]
    same = [at for at, row in enumerate(firsts) if row == seconds[at]]
    if same:
        (trial, seed), (other, its) = far(case.args[0][2])[2 * same[0] :][:2]
        said = f"trial {trial} of seed {seed} gets what trial {other} of seed {its} gets: two "
        said += "searches would try the same. Give the generator `[seed, trial]`."
        yield Fault("far", same, said)


def _uneven(ranges: Mapping[str, Sequence[Any]], rows: list[Row]) -> Iterator[Fault]:
    """Ranges that are not filled evenly, or go together."""
    n, places = len(rows), dict[str, np.ndarray]()
    for name, its in ranges.items():
        places[name] = np.array([_place(its, row[name]) for row in rows])
        if its[0] == "choice":
            held = [sum(row[name] == option for row in rows) for option in its[1]]
            even = n / len(its[1])
            if sum((each - even) ** 2 for each in held) / even > _SKEWED:
                said = f"the options of `{name}` came {held} times; each is as likely."
                yield Fault("choice", None, said)
            continue
        ranked, middle = np.sort(places[name]), float(np.median(places[name]))
        # Where there are most too many up to a place, or too few.
        apart = np.concatenate([np.arange(1, n + 1) / n - ranked, ranked - np.arange(n) / n])
        if sqrt(n) * float(apart.max()) > _UNEVEN:
            at = int(apart.argmax())
            many, end = (at + 1 if at < n else at - n), float(ranked[at % n])
            said = f"{many} of {n} trials have `{name}` in the first {100 * end:.0f} % of its range"
            said += f"{' of logarithms' * (its[0] == 'log')}, where about {n * end:.0f} belong."
            yield Fault(its[0], middle > 0.8, said)
    found, told = [], ""
    for one, two in combinations([name for name in places if float(np.ptp(places[name]))], 2):
        along = float(np.corrcoef(places[one], places[two])[0, 1])
        if abs(along) * sqrt(n) > _TOGETHER:
            found.append([one, two, along > 0])
            told = told or (
                f"`{one}` and `{two}` go together: where one is large, the other is "
                f"{'large' if along > 0 else 'small'}. Draw a place of its own for each name."
            )
    if found:
        yield Fault("together", found, told)


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """Nothing of all that is amiss."""
    try:
        yield from (fault.says for fault in faults(case, seen))
    except TypeError as error:
        asked = "a dictionary was asked for, with a value of each range, `range.at(place)`."
        yield f"you gave {error}; {asked}"


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    told = {each.kind: each.at for each in faults(case, seen)}
    seed, apart = case.args[0][2], told.get("seeds", [0])[0]
    one, two = told.get("together", [("", "")])[0][:2]
    seeds = {"seed": seed, "after": seed + 1, "glued": 10 * seed + 1, "apart": apart}
    return {**seeds, "one": one, "two": two}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rates = [row_of(cases[0], one)["rate"] for one in seen[0].values[0][0]]
    low, high = cases[0].args[0][0]["rate"][1:]
    small = sum(rate < sqrt(low * high) for rate in rates)
    return (
        f"Passed: {small} of {len(rates)} trials have a rate below {short(sqrt(low * high))}, the "
        "middle of its factors, and each trial gets the same whenever it is asked for."
    )


WRONG = """
a generator that goes on
    | seed: int = 0 => seed: int = 0, one: Any = np.random.default_rng(0)
    | np.random.default_rng([seed, trial]) => one
    a trial that is asked for once more gets other values: they depend on what was asked before, or
    on the clock, so that the order in which workers ask decides them. Make the generator anew in
    every call.
the global random state
    | np.random.default_rng([seed, trial]) => np.random
    you draw from the global random state: the values depend on who else has drawn, and everybody
    else’s depend on you. Make a generator of the call’s own.
seeds the global random state
    | np.random.default_rng([seed, trial]) => np.random
    | places = => np.random.seed([seed, trial]); places =
    the values are right, and the global random state is set anew by every call: what else is random
    in the program repeats itself from there. Make a generator of the call’s own,
    `np.random.default_rng([seed, trial])`.
seed + trial
    | [seed, trial] => seed + trial
    trial 1 of seed {seed} is trial 0 of seed {after}: seed + trial is the same number. Give the
    generator both, `[seed, trial]`.
seed times a hundred
    | [seed, trial] => 100 * seed + trial
    trial {apart} of seed {seed} is trial 0 of seed {after}: such a product ends where a search has
    more trials than that. Give the generator both, `[seed, trial]`.
seed times a thousand
    | [seed, trial] => 1000 * seed + trial
    trial 1000 of seed {seed} is trial 0 of seed {after}: such a product ends where a search has
    more trials than that. Give the generator both, `[seed, trial]`.
the digits behind one another
    | [seed, trial] => int(f"{seed}{trial}")
    trial 10 of seed {seed} is trial 0 of seed {glued}: written behind one another they are the same
    digits. Give the generator both, `[seed, trial]`.
seed times trial
    | [seed, trial] => seed * trial
    trial 0 is the same in every seed, and trial {after} of seed {seed} is trial {seed} of seed
    {after}: the products are equal. Give the generator both, `[seed, trial]`.
the hash of a text
    | [seed, trial] => hash(f"{seed}-{trial}") % 2**32
    `hash` of a text gives another number in every process, so another worker, or you tomorrow, gets
    other values for the same trial. Give the generator both numbers themselves, `[seed, trial]`.
the number of the process
    | [seed, trial] => [seed, trial, __import__("os").getpid()]
    another worker, in a process of its own, gets other values for the same trials: nothing of your
    process may decide them, such as its number, where something lies in its memory, or what was
    drawn and noted before. Give the generator the two numbers alone, `[seed, trial]`.
the seed is left out
    | [seed, trial] => trial
    every seed gives the same trials: two searches with other seeds would try the same
    hyperparameters. Give the generator both, `[seed, trial]`.
the trial is left out
    | [seed, trial] => seed
    all trials get the same values, those of the seed. Give the generator both, `[seed, trial]`.
one place for all
    | random(len(space)) => random(1).repeat(len(space))
    all ranges get the same place: a large rate always comes with a large momentum, and most pairs
    are never tried. Draw a place for each name, from one generator.
by the name's length
    | float(p) => float(np.random.default_rng([seed, trial, len(name)]).random())
    `{one}` and `{two}` get the same place in every trial, as their names are equally long. Draw a
    place for each name, from one generator.
linear in place of factors
    | space[name].at(float(p)) => (its.low + float(p) * (its.high - its.low)
        if hasattr(its := space[name], "low") else its.at(float(p)))
    nearly all values of the ranges by factors come from their upper end: between low and high you
    go by differences. Each range knows its own way: `space[name].at(place)`.
options rounded
    | space[name].at(float(p)) => (its.options[round(float(p) * (len(its.options) - 1))]
        if hasattr(its := space[name], "options") else its.at(float(p)))
    the first and the last option come half as often as those between them: rounding gives each end
    only half a part. `space[name].at(place)` cuts the options evenly.
uses up the space
    | space[name].at => space.pop(name).at
    your function changes `space`: the next trial finds another one. Read it alone.
in the dictionary's order
    | sorted(space) => space
    the same space with its names in another order gives the same trial other values. Go through
    `sorted(…)`.
"""

EXERCISE = Exercise(
    number="16.1",
    title="A trial that can be drawn again",
    size=Size(stars=1, minutes=10, points=2),
    function="draw",
    asks=(
        "for each name of the space a value of its range, `space[name].at(place)`, with places "
        "from 0 up to 1 that depend on the seed and the trial's number alone."
    ),
    cases=cases,
    drive=draws,
    claim=claim,
    numbers=numbers,
    compared=lambda case, seen: [[each.kind, each.at] for each in faults(case, seen)],
    praise=praise,
    reference=reference,
    wrong=wrong_answers("16.1", WRONG, reference),
    ranked=False,
)
