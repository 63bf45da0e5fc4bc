"""Exercise 18.6, a figure that says how sure it is: means with their intervals, in units.

`draw(ax, times)`: for each way that always arrived its mean and its 95 % interval by Student's t,
on an axis that names seconds; for one that did not, in how many runs it arrived, as a text. The
claim: these marks and these ends, and the ways' names; however they are drawn, across or upright.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.drives_racing import draws_panel
from helpers.exercises.lesson_18 import draw_reason as reason
from helpers.exercises.lesson_18 import draw_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_NAMES = ("synchronous", "asynchronous", "spare replicas", "local steps", "vertical slices")


def cases(seed: int) -> list[Case]:
    """Seed 0: five ways on five seeds, then four of them on seven seeds, one of which was lost
    twice and one always. Other seeds: other times."""
    random = rng(seed, "18.6")
    made = []
    for names, runs, lose in ((_NAMES, 5, False), (_NAMES[:4], 7, True)):
        table: list[list[Any]] = [
            [name, [round(float(x), 3) for x in level * random.uniform(0.7, 1.3, runs)]]
            for name, level in zip(names, random.permutation(len(names)) * 3.0 + 4, strict=True)
        ]
        if lose:
            table[1][1][2] = table[1][1][5] = math.inf
            table[3][1] = [math.inf] * runs
        name = f"With {len(names)} ways{', some of which do not always arrive' * lose}"
        made.append(figure_case(name, table))
    return made


def figure_case(name: str, table: list[list[Any]]) -> Case:
    """A case of a table of seconds, `[[way, numbers], …]`."""
    return Case(name, ((table,),), facts={"wanted": _wanted(table)})


def _wanted(table: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Of each way (mean, low, high), or how many of its runs arrived."""
    found: dict[str, Any] = {}
    for name, seconds in table:
        arrived = sum(map(math.isfinite, seconds))
        found[name] = arrived if arrived < len(seconds) else reason.interval(seconds)
    return found


def draw(ax: Any, times: dict[str, list[float]]) -> None:
    """The reference."""
    from scipy.stats import t  # type: ignore[import-untyped]

    for place, seconds in enumerate(times.values()):
        arrived = sum(map(math.isfinite, seconds))
        if arrived < len(seconds):
            ax.text(0, place, f" {arrived} of {len(seconds)} arrived", va="center")
            continue
        reach = t.ppf(0.975, len(seconds) - 1) * stdev(seconds) / math.sqrt(len(seconds))
        ax.errorbar(mean(seconds), place, xerr=reach, fmt="o", capsize=4, color=f"C{place}")
    ax.set_yticks(range(len(times)), list(times))
    ax.set_xlabel("time to the target (s)")
    ax.set_xlim(left=0)


def claim(case: Case, seen: Observation) -> str | None:
    """Names, units, means, ends of intervals, and what did not arrive."""
    for look in reason.LOOKS:
        said = look(case.facts["wanted"], seen.values[0], case.args[0][0])
        if said:
            return f"{case.name}, {said}"
    return None


def _mistake(name: str, look: Any) -> Mistake:
    def told(case: Case, seen: Observation) -> str | None:
        said = look(case.facts["wanted"], seen.values[0], case.args[0][0])
        return f"{case.name}, {said}" if said else None

    return Mistake(name, told)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        "Passed: names, units, means and intervals are there, and who did not always arrive has no "
        "mean."
    )


EXERCISE = Exercise(
    number="18.6",
    title="A figure that says how sure it is",
    stars=2,
    minutes=15,
    points=3,
    function="draw",
    asks=(
        "on `ax`, for each way that arrived in all runs the mean of its seconds with its 95 % "
        "interval by Student's t; for each other one a text such as “3 of 5 arrived”; the ways' "
        "names; and an axis whose label names the unit, (s)."
    ),
    cases=cases,
    drive=draws_panel,
    claim=claim,
    mistakes=(
        _mistake("nothing is drawn", reason.nothing),
        _mistake("no intervals", reason.no_intervals),
        _mistake("standard deviations", reason.deviations),
        _mistake("standard errors", reason.errors),
        _mistake("the normal distribution", reason.normal),
        _mistake("divides by n", reason.population),
        _mistake("t for one side", reason.one_sided),
        _mistake("medians", reason.medians),
        _mistake("from the least to the largest", reason.extremes),
        _mistake("no unit", reason.unit),
        _mistake("no names", reason.names),
        _mistake("a name at another's mean", reason.exchanged),
        _mistake("not arrived is not told", reason.lost),
        _mistake("a mean of those that arrived", reason.left_out),
    ),
    praise=praise,
    reference=draw,
    wrong=(
        WrongAnswer("nothing", wrong.nothing, hint="nothing was drawn"),
        WrongAnswer("bars alone", wrong.bars_alone, hint="no intervals"),
        WrongAnswer(
            "standard deviations", wrong.deviations, hint="one standard deviation to each side"
        ),
        WrongAnswer("standard errors", wrong.errors, hint="one standard error"),
        WrongAnswer("1.96", wrong.normal, hint="1.96 standard errors"),
        WrongAnswer("divides by n", wrong.population, hint="as `numpy.std` does"),
        WrongAnswer("t at 0.95", wrong.one_sided, hint="90 % between"),
        WrongAnswer("medians", wrong.medians, hint="marked at its median"),
        WrongAnswer("names the other way round", wrong.turned_round, hint="stands at the mean of"),
        WrongAnswer("the extremes", wrong.extremes, hint="slowest run"),
        WrongAnswer("no unit", wrong.no_unit, hint="names no unit"),
        WrongAnswer("no names", wrong.no_names, hint="does not stand in the figure"),
        WrongAnswer("nothing of the lost", wrong.nothing_lost, hint="did not always arrive"),
        WrongAnswer("mean of the arrived", wrong.left_out, hint="of those runs alone that arrived"),
    ),
    ranked=False,
)
