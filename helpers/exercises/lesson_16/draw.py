"""Exercise 16.1, a trial's hyperparameters: by the seed and the trial's number alone.

The claim: asked again, in another order, or from a space that names its ranges in another order, a
trial gets the same; trials differ, also those of neighbouring seeds; each range is filled evenly,
on its own; the global random states stay as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from helpers.algorithms.search.space import draw as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, short
from helpers.exercises.drives_search import draws
from helpers.exercises.lesson_16 import draw_wrong as wrong
from helpers.exercises.lesson_16.draw_faults import faults, row_of
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


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
    apart = told["seeds"].at[0] if "seeds" in told else 0
    one, two, _ = told["together"].at[0] if "together" in told else ("", "", True)
    seed = case.args[0][2]
    return {
        **{"seed": seed, "after": seed + 1, "glued": 10 * seed + 1},
        **{"apart": apart, "one": one, "two": two},
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rates = [float(dict(row_of(cases[0], one))["rate"]) for one in seen[0].values[0][0]]
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
            "seed times a thousand",
            wrong.thousands,
            "trial 1000 of seed {seed} is trial 0 of seed {after}: such a product ends where a "
            "search has more trials than that. Give the generator both, `[seed, trial]`.",
        ),
        WrongAnswer(
            "the digits behind one another",
            wrong.glued,
            "trial 10 of seed {seed} is trial 0 of seed {glued}: written behind one another they "
            "are the same digits. Give the generator both, `[seed, trial]`.",
        ),
        WrongAnswer(
            "seed times trial",
            wrong.times,
            "trial 0 is the same in every seed, and trial {after} of seed {seed} is trial {seed} "
            "of seed {after}: the products are equal. Give the generator both, `[seed, trial]`.",
        ),
        WrongAnswer(
            "the hash of a text",
            wrong.hashed,
            "`hash` of a text gives another number in every process, so another worker, or you "
            "tomorrow, gets other values for the same trial. Give the generator both numbers "
            "themselves, `[seed, trial]`.",
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
            "by the name's length",
            wrong.by_length,
            "`{one}` and `{two}` get the same place in every trial, as their names are equally "
            "long. Draw a place for each name, from one generator.",
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
            "the same space with its names in another order gives the same trial other values. "
            "Go through `sorted(…)`.",
        ),
    ),
    ranked=False,
)
