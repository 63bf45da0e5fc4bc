"""Exercise 18.3, a fair search: one budget of trainings for every way's learning rate.

`best_rate(result_of, rates, seeds, budget) -> rate`: every rate on the first seed; then the best of
them on all other seeds, as far as the budget goes; of those with all seeds the smallest mean of the
seconds, then of the error at the end. The claim: that rate, no training twice, none beyond the
budget, none left out of it, and the right ones on all seeds.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from helpers.checks.compare import count, describe, listing, number
from helpers.checks.drives.calling import Function
from helpers.checks.drives.handed import Handed, Hands
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.capstone.algorithms.rates import best_rate as reference
from helpers.lessons.capstone.experiments.settings import RATES as LESSONS
from helpers.lessons.capstone.experiments.settings import TUNING_SEEDS

RATES = [0.01, 0.03, 0.1, 0.3, 1.0]
_NEVER = math.inf
_TRAININGS = 60  # of one search: more than any needs
# Of each rate, from the smallest on, and seed the seconds, and the error at the end.
Table = tuple[list[tuple[float, ...]], list[tuple[float, ...]]]
_NONE = (_NEVER,) * 3
# The best of one run, of the first seed, of the others and on average are four rates.
_LUCKY: Table = (
    [(9.0, 8.4, 8.6), (4.0, 9.0, 11.0), (5.0, 6.0, 5.5), (7.5, 1.0, 12.0), (7.0, 5.2, 5.6)],
    [(8.9, 8.8, 8.9), (9.5, 9.0, 9.2), (9.7, 8.0, 8.1), (8.8, 9.1, 8.9), (9.3, 9.2, 9.4)],
)
# The quickest are lost at times, and only the slowest is there each time.
_LOST: Table = (
    [(4.1, 4.15, _NEVER), (6.0, 6.5, 7.5), (3.0, _NEVER, 8.0), (4.0, _NEVER, 4.2), _NONE],
    [(9.0, 9.1, 14.0), (8.4, 8.3, 9.8), (8.5, 13.0, 10.4), (8.9, 15.0, 10.2), (80.0, 90.0, 85.0)],
)
# None arrives on the first seed; two come near.
_FAR: Table = (
    [_NONE, _NONE, _NONE, (_NEVER, 9.5, _NEVER), _NONE],
    [(89.0,) * 3, (40.0,) * 3, (13.0, 13.5, 14.0), (14.0, 10.5, 12.6), (70.0,) * 3],
)
# None is there each time; who is lost less often ends higher.
_SELDOM: Table = (
    [(6.0, _NEVER, _NEVER), (2.5, 6.0, _NEVER), (2.0, _NEVER, _NEVER), (4.5, 5.0, _NEVER), _NONE],
    [(13.0, 12.0, 8.0), (9.0, 8.5, 14.0), (9.8, 9.7, 9.9), (9.4, 11.5, 9.5), (70.0,) * 3],
)
# Three are equal on the first seed, and the two smaller ones on all.
_EQUAL: Table = (
    [(7.0, 7.0, 7.0), (5.0, 4.5, 5.5), (5.0, 5.0, 5.0), (5.0, 6.0, 5.0), (6.0, 9.0, 9.0)],
    [(9.0, 9.5, 9.0), (9.5, 9.0, 9.5), (9.5, 9.0, 9.5), (9.5, 9.5, 9.5), (8.5, 8.5, 8.5)],
)
# Who is second in time ends lowest.
_OURS: Table = (
    [*[(_NEVER,) * 2] * 3, (9.0, 9.0), (5.0, 6.0), (5.5, 7.0), (8.0, 8.0), (_NEVER,) * 2],
    [*[(60.0,) * 2] * 3, (10.5, 10.0), (9.5, 9.6), (9.0, 9.1), (9.8, 9.9), (80.0,) * 2],
)


def cases(seed: int) -> list[Case]:
    """Seed 0: a lucky rate, some that are lost at times, none that arrives on the first seed, none
    that is there each time, equal ones, rates from the largest on, a small budget, one seed, a
    budget for all, the lesson's own rates; else other times."""
    random = rng(seed, "18.3")
    kinds: list[tuple[str, Table, list[float], int, int]] = [
        ("With a rate that is lucky on the first seed", _LUCKY, RATES, 3, 13),
        ("With rates that do not always arrive", _LOST, RATES, 3, 13),
        ("With no rate that arrives on the first seed", _FAR, RATES, 3, 11),
        ("With rates of which none arrives each time", _SELDOM, RATES, 3, 13),
        ("With two rates that are equally good", _EQUAL, RATES, 3, 10),
        ("With rates from the largest on", _EQUAL, RATES[::-1], 3, 10),
        ("With a budget that does not come out even", _LUCKY, RATES, 3, 8),
        ("With one seed", _LUCKY, RATES, 1, 5),
        ("With a budget for all", _LUCKY, RATES, 3, 15),
        ("With the lesson's own rates", _OURS, list(LESSONS), len(TUNING_SEEDS), 10),
    ]
    made = []
    for name, (times, ends), rates, n, budget in kinds:
        scale = 2.0 ** int(random.integers(-2, 7)) if seed else 1.0  # equal means stay so
        seeds = (
            [1000, 1001, 1002][:n] if not seed else sorted(random.integers(10, 9999, n).tolist())
        )
        place = {rate: at for at, rate in enumerate(sorted(rates))}
        rows = [
            (rate, its, scale * times[place[rate]][k], ends[place[rate]][k])
            for rate in rates
            for k, its in enumerate(seeds)
        ]
        case = Case(name, ((rows, rates, seeds, budget),))
        want, asked = searches(reference, case).values[0]
        tried = [rate for rate, _ in asked]
        second = [rate for rate in rates if tried.count(rate) == n]  # on all seeds
        facts = {"want": want, "allowed": len(asked), "second": second}
        made.append(replace(case, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The rate, and the trainings that it took."""
    for look in (beyond, twice, partly, too_few):
        yield first_said(look, case, seen)
    (got, trainings), (_, _, seeds, _) = seen.values[0], case.args[0]
    want, second = case.facts["want"], case.facts["second"]
    if number(got) != want:
        yield f"you chose {describe(got)}; by these rules it is {want:g}."
    # Rates that were tried on all seeds and should not have been, though the right one won.
    tried = {rate for rate, its in trainings if its != seeds[0]}
    if tried != set(second) and len(seeds) > 1:
        yield (
            f"you tried {_rates(sorted(tried))} on all seeds. Those go on that did best on the "
            f"first seed: {_rates(second)}."
        )


def _rates(some: Sequence[float]) -> str:
    return listing(f"{rate:g}" for rate in some)


def beyond(case: Case, seen: Observation) -> str | None:
    """More trainings than the budget."""
    trainings, budget = len(seen.values[0][1]), case.args[0][3]
    if trainings <= budget:
        return None
    return (
        f"you trained {trainings} times, and the budget is {budget}: a way that is searched longer "
        "than the others looks better than it is."
    )


def twice(case: Case, seen: Observation) -> Iterator[str]:
    """One training asked for twice."""
    asked = seen.values[0][1]
    for rate, seed in asked:
        often = asked.count([rate, seed])
        if often > 1:
            yield (
                f"you trained with rate {rate:g} and seed {seed} {often} times. Keep what "
                "`result_of` gives: each call is a training."
            )


def partly(case: Case, seen: Observation) -> Iterator[str]:
    """Rates that went on to some of the other seeds alone."""
    (_, _, seeds, budget), asked = case.args[0], seen.values[0][1]
    often = {rate: sum(each == rate for each, _ in asked) for rate, _ in asked}
    some = [rate for rate, times in often.items() if 1 < times < len(seeds)]
    if some:
        yield (
            f"you tried {_rates(some)} on some of the other seeds, and not on all. A rate goes on "
            f"to all of them or to none, and the budget of {budget} holds that for "
            f"{count(len(case.facts['second']), 'rate')}."
        )


def too_few(case: Case, seen: Observation) -> Iterator[str]:
    """Rates that could have been tried."""
    (_, rates, seeds, budget), asked = case.args[0], seen.values[0][1]
    missing = [rate for rate in rates if [rate, seeds[0]] not in asked]
    if missing:
        yield f"you did not try {_rates(missing)} on the first seed. Every rate is tried there."
    if len(asked) < case.facts["allowed"]:
        yield (
            f"you trained {count(len(asked), 'time')} and the budget of {budget} allows "
            f"{case.facts['allowed']}: after {len(rates)} on the first seed, as many rates as it "
            "holds on all other seeds."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    got, want = describe(seen.values[0][0]), case.facts["want"]
    second = _rates(case.facts["second"])
    return {"told": f"you chose {got} instead of {want:g}", "second": second}


def compared(case: Case, seen: Observation) -> Any:
    """The rate, and what was trained, in whatever order."""
    got, asked = seen.values[0]
    return [number(got), sorted(asked)]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    _, rates, seeds, budget = cases[0].args[0]
    return (
        f"Passed: {len(rates)} rates and {len(seeds)} seeds in {len(seen[0].values[0][1])} of "
        f"{budget} trainings; the rate that was lucky on the first seed did not win."
    )


class Trainings(Hands):
    """Trainings of a table, in the order in which they were asked for."""

    secret = (0,)

    def __init__(self, table: Any, rates: Any, seeds: Any, budget: int) -> None:
        self.known = {(rate, seed): (seconds, end) for rate, seed, seconds, end in table}
        self.budget, self.asked = budget, list[list[Any]]()

    def result_of(self, rate: float, seed: int) -> tuple[float, float]:
        """Seconds to the target, and the error at the end."""
        if len(self.asked) >= _TRAININGS:
            raise RuntimeError(f"There were {_TRAININGS} trainings, of a budget of {self.budget}.")
        if (rate, seed) not in self.known:
            raise ValueError(f"There is no rate {rate!r} or no seed {seed!r}.")
        self.asked.append([rate, seed])
        return self.known[rate, seed]

    def noted(self, value: Any) -> Any:
        """With the trainings that were asked for."""
        return [value, self.asked]


def _searches(fn: Function, hands: Any, table: Any, *case: Any) -> Any:
    """Call `fn(result_of, rates, seeds, budget)`; `values[0]` is [what it gives, trainings].

    A case's arguments: `[[rate, seed, seconds, end], …]`, rates, seeds, budget. trainings:
    `[[rate, seed], …]` in the order in which they were asked for.
    """
    return fn(hands.result_of, *case)


searches = Handed(_searches, 4, Trainings)


WRONG = """
the quickest single run
    | )), key=worth => )), key=lambda rate: (min(tried[rate]), rate)
    {told}: that rate has the quickest single run. One run may be lucky: take the mean over the
    seeds.
# Told before it is taken for another: only where no mean is finite.
fewest lost
    | )), key=worth => )), key=lambda rate: (sum(min(s, 1e9) for s, _ in tried[rate]), rate)
    {told}: that rate lost fewer runs. But one lost run makes a mean infinite, and these means all
    are: equals are compared by the mean of the errors at the end.
without the runs that never arrived
    | found = tried[rate] => found = tried[rate]; kept = [s for s, _ in found if s < 1e9] or [1e9]
    | sum(seconds for seconds, _ in found) / len(found) => sum(kept) / len(kept)
    {told}: you left runs that never arrived out of the mean. Who arrives seldom, and then quickly,
    wins by that: a mean with infinity in it is infinite.
the median
    | sum(seconds for seconds, _ in found) / len(found) => sorted(found)[len(found) // 2][0]
    {told}: that rate has the smallest median. It does not see a run that never arrives; the
    smallest mean was asked for.
the first of equals
    | )), key=worth => )), key=lambda rate: worth(rate)[:2]
    {told}: of equals you took the one that came first in the list. The smaller rate was asked for:
    the order of the list says nothing.
the larger of equals
    | )), key=worth => )), key=lambda rate: (*worth(rate)[:2], -rate)
    {told}: of equals you took the larger rate; the smaller one was asked for.
one seed counts as all
    | if len(tried[rate]) == len(seeds) =>
    {told}: that rate was tried on the first seed alone. Only those that were tried on all seeds can
    be compared.
by the first seed in the end
    | )), key=worth => )), key=lambda rate: (*tried[rate][0], rate)
    {told}: you decided by the first seed after all. The other seeds were trained for the mean.
without the first seed
    | found = tried[rate] => found = tried[rate][1:] or tried[rate]
    {told}: your mean leaves the first seed out. It is a run like the others.
the end is not asked
    | )), key=worth => )), key=lambda rate: (worth(rate)[0], rate)
    {told}: where no mean of seconds is finite, the smallest mean of the errors at the end decides;
    you took the smaller or the first.
the end is asked nowhere
    | return seconds, sum(end for _, end in found) / len(found), rate => return seconds, rate
    {told}: where no rate arrives, infinity equals infinity, and you went on with those that come
    first in the list, or are smallest. The error at the end decides between equals, in step 2 and
    in step 3.
by the end alone
    | )), key=worth => )), key=lambda rate: (worth(rate)[1], rate)
    {told}: that rate has the lowest error at the end. The seconds come first; the end decides only
    between rates that are equally quick, or never arrive.
the smallest go on where none arrived
    | (rates, key=worth) => (rates, key=lambda rate: (worth(rate)[0], rate))
    on the first seed no rate arrived, and you went on with the smallest. Infinity equals infinity:
    those go on that ended lowest: {second}.
the first of equals go on
    | (rates, key=worth) => (rates, key=lambda rate: worth(rate)[:2])
    of rates that were equally quick and ended equally you went on with those that come first in the
    list. The smaller ones go first: {second}.
the larger of equals go on
    | (rates, key=worth) => (rates, key=lambda rate: (*worth(rate)[:2], -rate))
    you went on with the larger ones of rates that were equally quick and ended equally. The smaller
    ones go first: {second}.
the lowest go on
    | (rates, key=worth) => (rates, key=lambda rate: (worth(rate)[1], rate))
    you tried those rates on all seeds that ended lowest on the first one. The seconds come first:
    {second}.
the slowest go on
    | (rates, key=worth) => (rates, key=lambda rate: (-worth(rate)[0], rate))
    you tried those rates on all seeds that were slowest on the first one. The quickest go on:
    {second}.
the first in the list go on
    | sorted(rates, key=worth) => rates
    you tried the first rates of the list on all seeds. Those go on that were quickest on the first
    seed: {second}.
tries all
    | best_first[: (budget - len(rates)) // len(others) if others else len(rates)] => best_first
    ? and the budget is
trains again
    | // len(others) => // len(seeds)
    | += [result_of(rate, seed) for seed in others] => = [result_of(rate, seed) for seed in seeds]
    ? Keep what `result_of` gives
run by run
    | // len(others) if => + len(others) - 1) // len(others) if
    | best_first[: (budget => best_first[: ((budget
    | += [result_of(rate, seed) for seed in others]
        => += [result_of(rate, seed) for seed in others[: budget - sum(map(len, tried.values()))]]
    ? on some of the other seeds
one seed alone
    | tried[rate] += [result_of(rate, seed) for seed in others] => pass
    | if len(tried[rate]) == len(seeds) =>
    ? allows
stops early
    | first, *others = seeds => first, *others = seeds; rates = rates[:-1]
    ? Every rate is tried there
"""

EXERCISE = Exercise(
    number="18.3",
    title="A fair search",
    size=Size(stars=2, minutes=15, points=3),
    function="best_rate",
    asks=(
        "every rate on the first seed; then the quickest of them, of equals the one that ended "
        "lower, then the smaller, on all other seeds, as many rates as the budget holds; of those "
        "that were tried on all seeds the smallest mean of the seconds, of equals the smallest "
        "mean of the ends, then the smaller rate."
    ),
    cases=cases,
    drive=searches,
    claim=claim,
    numbers=numbers,
    compared=compared,
    mistakes=(
        Mistake("beyond the budget", beyond),
        Mistake("the same again", twice),
        Mistake("on some seeds", partly),
        Mistake("less than the budget", too_few),
    ),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("18.3", WRONG, reference),
    ranked=False,
)
