"""Exercise 17.2, effective time: what saves, restarts and repeated work leave of it.

`effective_share(interval, save, restart, mtbf) -> float`: interval over the mean seconds that it
takes to get an interval and its save done, mtbf · exp(restart/mtbf) · (exp((interval + save)/mtbf)
− 1). The claim: the share, to nine digits. Exact for failures that are exponentially distributed
and may come during a save and a restart; Daly (2006), equation 20.
"""

import math
from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import number, told_apart
from helpers.checks.drives.calling import plain_call
from helpers.checks.nine_digits import compared, wrong_number
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.cluster.algorithms.effective import effective_share as reference

# All in less than a second; and a job that hardly ever fails.
_ENDS = [(0.1, 0.02, 0.05, 0.9), (3600.0, 1.0, 60.0, 8.64e6)]


def cases(seed: int) -> list[Case]:
    """Seed 0: a job of a failure every three hours, one that hardly gets on, no restart, a save of
    no time, an interval longer than the time between failures, all short, hardly a failure."""
    random = rng(seed, "17.2")
    settings: list[tuple[float, ...]] = [
        (1000.0, 60.0, 600.0, 10_000.0), (550.0, 300.0, 600.0, 900.0),
        (7000.0, 300.0, 0.0, 86_400.0), (500.0, 0.0, 120.0, 5000.0), (5000.0, 60.0, 300.0, 3600.0),
        *_ENDS,
    ]  # fmt: skip
    if seed:
        # In units of mtbf: none of the terms is small, whatever is left out or put in.
        kinds = [(0.1, 0.01, 0.08), (0.6, 0.3, 0.6), (0.1, 0.02, 0), (0.2, 0, 0.1), (1.5, 0.1, 0.1)]
        settings = []
        for kind in kinds:
            mtbf = round(float(random.uniform(1000, 50_000)), 1)
            parts = (round(each * mtbf * float(random.uniform(0.8, 1.25)), 1) for each in kind)
            settings.append((*parts, mtbf))
        settings += _ENDS
    made = []
    for interval, save, restart, mtbf in settings:
        name = (
            f"With saves of {save:g} s after {interval:g} s of work, restarts of {restart:g} s and "
            f"a failure every {mtbf:g} s"
        )
        facts = {"want": reference(interval, save, restart, mtbf)}
        made.append(Case(name, ((interval, save, restart, mtbf),), facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The share, to nine digits."""
    return wrong_number(case, seen, " of the time")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    interval, save, restart, _ = case.args[0]
    gave = number(seen.values[0]) if seen.values else None
    got, want = told_apart(gave or 0.0, case.facts["want"])
    found = {"interval": interval, "save": save, "restart": restart, "both": interval + save}
    words = {name: f"{value:g}" for name, value in found.items()}
    takes = f"{interval / case.facts['want']:.5g}"
    return {"told": f"you say {got} instead of {want}", "takes": takes, **words}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    first, worst = (float(number(seen[at].values[0]) or 0.0) for at in (0, 1))
    return (
        f"Passed: a job that fails every {cases[0].args[0][3] / 3600:.1f} hours works for "
        f"{100 * first:.1f} % of its time, one that fails every {cases[1].args[0][3] / 60:.0f} "
        f"minutes for {100 * worst:.1f} %."
    )


def as_asked(interval: float, save: float, restart: float, mtbf: float) -> float:
    """The reference, written as the exercise has it."""
    restarts = math.exp(restart / mtbf)
    takes = mtbf * restarts * (math.exp((interval + save) / mtbf) - 1)
    return interval / takes


WRONG = """
each cost taken off once
    | interval / takes => 1 - save / interval - interval / (2 * mtbf) - restart / mtbf
    {told}: you take save/interval, interval/(2 M) and restart/M off 1. That is near as long as all
    three are small; what failures cost while work is done again is missing.
costs of failures over costs of saves
    | interval / takes => (1 - (restart + interval / 2) / mtbf) / (1 + save / interval)
    {told}: that is (1 − (restart + interval/2)/M) over (1 + save/interval), an estimate for few
    failures. The formula counts those during saves and restarts as well.
half an interval a failure
    | interval / takes => interval / (interval + save) / (1 + (restart + interval / 2) / mtbf)
    {told}: you count half an interval and a restart for each failure, once. Work that is done again
    fails again: that is what the exponential is for.
no restart
    | math.exp(restart / mtbf) => 1
    {told}: after each failure {restart} s pass before anybody works. Multiply the seconds by
    exp(restart/M).
a restart before every interval
    | restarts * (math.exp((interval + save) => (math.exp((restart + interval + save)
    {told}: your restart stands with interval and save in the exponent whose 1 is taken off, as if
    each interval began with one. There is one after a failure alone: exp(restart/M) is a factor.
restarts without failures
    | mtbf * restarts => (mtbf + restart)
    {told}: with M + restart for M · exp(restart/M) no failure comes during a restart. They do not
    wait: a restart may fail, and begins again.
one restart an interval
    | mtbf * restarts => restart + mtbf
    {told}: you add one restart to every interval. How many there are depends on how often it fails:
    multiply by exp(restart/M).
restarts win time
    | math.exp(restart => math.exp(-restart
    {told}: with exp(−restart/M) among the seconds, longer restarts make the job quicker. The
    seconds get more: exp(+restart/M).
saves without failures
    | (math.exp((interval + save) / mtbf) - 1) => (math.exp(interval / mtbf) - 1) + save
    {told}: you add the save behind the exponential, as if nothing failed for these {save} s. A
    failure then costs the whole interval: it is exp((interval + save)/M).
no saves
    | (interval + save) => interval
    {told}: in your exponent stands the interval alone. Until a checkpoint is there, {both} s have
    to pass without a failure, the {save} s of its save included.
saving is work
    | interval / takes => (interval + save) / takes
    {told}: you count saving as work. Of the {both} s of an interval and its save {interval} are of
    use.
how likely it comes through
    | interval / takes
        => interval / (interval + save) * math.exp(-(restart + interval + save) / mtbf)
    {told}: that is how likely an interval comes through at the first try, times its share without
    failures. A failed try does not take its whole length: use the mean seconds, {takes} s.
without − 1
    | - 1 =>
    {told}: your exponential is not lessened by 1. Where nothing ever fails, M · (exp(t/M) − 1)
    comes to t; without the 1 it comes to M.
1 taken off all
    | (math.exp((interval + save) / mtbf) - 1) => math.exp((interval + save) / mtbf) - 1
    {told}: your 1 is taken off the whole product. Take it off the exponential alone, in brackets:
    `(math.exp(…) - 1)`.
− 1 in the exponent
    | (math.exp((interval + save) / mtbf) - 1) => math.exp((interval + save) / mtbf - 1)
    {told}: your 1 is taken off in the exponent, exp((interval + save)/M − 1). Take it off the
    exponential: `math.exp(…) - 1`, or `math.expm1(…)`.
brackets forgotten
    | mtbf * restarts => restarts
    | interval / takes => interval / mtbf * takes
    {told}: Python goes from left to right: `interval / mtbf * math.exp(…)` divides by M and
    multiplies by all the rest. Put what you divide by into brackets.
divides by half of it
    | interval / takes => interval / (mtbf * restarts) * (takes / (mtbf * restarts))
    {told}: Python goes from left to right: you divide by M · exp(R/M) and multiply by exp((interval
    + save)/M) − 1. Put all that you divide by into one pair of brackets.
M below the save alone
    | (interval + save) / mtbf => interval + save / mtbf
    `math range error`: an exponent is far too large. It is (interval + save)/M, with the sum in
    brackets, for Python divides before it adds; and R/M.
no exponential
    | math.exp((interval + save) / mtbf) - 1 => (interval + save) / mtbf
    {told}: where exp((interval + save)/M) − 1 stands you have (interval + save)/M. The two are near
    where failures are rare; here work is lost and done again.
no exponential, and 1 off
    | math.exp((interval + save) / mtbf) => (interval + save) / mtbf
    {told}: where exp((interval + save)/M) − 1 stands you have (interval + save)/M − 1. The
    exponential is missing.
the save taken off
    | interval + save => interval - save
    {told}: in your exponent the save is taken off the interval. Until a checkpoint is there, {both}
    s have to pass without a failure: interval + save.
upside down
    | interval / takes => takes / interval
    {told}: that is how many seconds pass for one of work. The share is the other way round.
the share that is lost
    | interval / takes => 1 - interval / takes
    {told}: that is what is lost; asked for is what is left.
seconds
    | interval / takes => takes
    {told}: that is how many seconds an interval takes, saves, restarts and repeated work included.
    Divide the {interval} s of work by them.
per cent
    | interval / takes => 100 * interval / takes
    {told}: that is in per cent; a share is between 0 and 1.
"""

EXERCISE = Exercise(
    number="17.2",
    title="Effective time",
    size=Size(stars=2, minutes=10, points=2),
    function="effective_share",
    asks=(
        "the share of time that is work in a checkpoint: `interval` over the mean seconds that it "
        "takes, M · exp(restart/M) · (exp((interval + save)/M) − 1) with M = mtbf."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("17.2", WRONG, as_asked),
    ranked=False,
)
