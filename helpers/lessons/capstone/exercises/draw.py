"""Exercise 18.6, a figure that says how sure it is: means with their intervals, in units.

`draw(ax, times)`: for each way that always arrived its mean and its 95 % interval by Student's t,
on an axis that names seconds; for one that did not, in how many runs it arrived, as a text. The
claim: these marks and these ends, and the ways' names; however they are drawn, across or upright.
Each interval that people draw instead is told by its name: that makes this file long.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from statistics import mean, median, stdev
from typing import Any

from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.capstone.exercises.figure import (
    Calls,
    draws_panel,
    labels,
    marks,
    notes,
    out_of_place,
    points,
    refused,
    segments,
    texts,
    time_axis,
    words,
)
from helpers.lessons.capstone.exercises.predictions import WAYS

Ends = tuple[float, float, float]  # a mean, and the ends of its interval
_UNIT = re.compile(r"[(\[](s|sec|seconds)[)\]]|\bseconds\b|\bin s\b|[/,] ?s\b")


def cases(seed: int) -> list[Case]:
    """Seed 0: five ways on five seeds, then four of them on seven seeds, one of which was lost
    twice and one always, far from 0. Other seeds: other times."""
    random = rng(seed, "18.6")
    made = []
    for names, runs, lose in ((WAYS, 5, False), (WAYS[:4], 7, True)):
        far = 300.0 * lose
        table = {
            name: [round(far + float(x), 3) for x in level * random.uniform(0.7, 1.3, runs)]
            for name, level in zip(names, random.permutation(len(names)) * 3.0 + 4, strict=True)
        }
        if lose:
            table[WAYS[1]][2] = table[WAYS[1]][5] = math.inf
            table[WAYS[3]] = [math.inf] * runs
        name = f"With {len(names)} ways{', some of which do not always arrive' * lose}"
        made.append(figure_case(name, table))
    return made


def figure_case(name: str, table: dict[str, list[float]]) -> Case:
    """A case of each way's seconds. wanted: of each (mean, low, high), or how many runs arrived."""
    wanted: dict[str, Any] = {}
    for way, seconds in table.items():
        arrived = sum(map(math.isfinite, seconds))
        wanted[way] = arrived if arrived < len(seconds) else interval(seconds)
    return Case(name, ((table,),), facts={"wanted": wanted})


def interval(seconds: Sequence[float], reach: float | None = None) -> Ends:
    """A mean, and the ends of its interval. reach: in standard errors; Student's for 95 % else."""
    center, n = mean(seconds), len(seconds)
    error = stdev(seconds) / math.sqrt(n) * (student(n) if reach is None else reach)
    return center, center - error, center + error


def student(n: int, share: float = 0.975) -> float:
    """Student's t of n runs."""
    from scipy.stats import t  # type: ignore[import-untyped]

    return float(t.ppf(share, n - 1))


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(1.0, abs(other))


def _marked(calls: Calls, number: float) -> bool:
    return any(_near(n, number) for n in marks(calls))


def _has(calls: Calls, ends: Ends) -> bool:
    return any(_near(low, ends[1]) and _near(high, ends[2]) for low, high in segments(calls))


def _whole(case: Case) -> Iterator[tuple[str, list[float], Ends]]:
    """The ways that always arrived: their seconds, their mean, and its interval."""
    for way, seconds in case.args[0][0].items():
        if isinstance(case.facts["wanted"][way], tuple):
            yield way, seconds, case.facts["wanted"][way]


def _instead(name: str, words: str, *reaches: Callable[[Sequence[float]], Ends]) -> Mistake:
    """The first interval that is not there is another one. reaches: the ends of that."""

    def look(case: Case, seen: Observation) -> str | None:
        for way, seconds, ends in _whole(case):
            if not _has(seen.values[0], ends):
                found = any(_has(seen.values[0], reach(seconds)) for reach in reaches)
                return f"the interval of {way} {words}" if found else None
        return None

    return Mistake(name, look)


def nothing(case: Case, seen: Observation) -> str | None:
    """An empty figure."""
    if marks(seen.values[0]):
        return None
    return (
        "nothing was drawn on `ax` that could be read as means: `ax.errorbar(…)` draws a mean and "
        "its interval; bars, points and lines can be read as well."
    )


def no_intervals(case: Case, seen: Observation) -> str | None:
    """Means alone."""
    if any(True for _ in segments(seen.values[0])) or not marks(seen.values[0]):
        return None
    return (
        "there are no intervals: five runs give another mean each time. Draw the 95 % interval of "
        "each mean, such as by `xerr=` or `yerr=` of `ax.errorbar`."
    )


def medians(case: Case, seen: Observation) -> str | None:
    """The median in the place of the mean."""
    for way, seconds, ends in _whole(case):
        if not _marked(seen.values[0], ends[0]):
            said = (
                f"{way} is marked at its median, {median(seconds):.4g} s. The interval is that of "
                f"the mean, {ends[0]:.4g} s: draw that."
            )
            return said if _marked(seen.values[0], median(seconds)) else None
    return None


def exchanged(case: Case, seen: Observation) -> Iterator[str]:
    """A name at another way's mean."""
    calls, said = seen.values[0], labels(seen.values[0])
    for way, _, ends in _whole(case):
        for value, place in (turned for pair in points(calls) for turned in (pair, pair[::-1])):
            there = place if isinstance(place, str) else said.get(place)
            near = not isinstance(value, str) and _near(value, ends[0])
            if near and there in case.facts["wanted"] and there != way:
                yield (
                    f"the name {there} stands at the mean of {way}, {ends[0]:.4g} s. Names and "
                    "numbers have to go in one order."
                )


def unit(case: Case, seen: Observation) -> str | None:
    """The unit of the times, at their axis."""
    calls = seen.values[0]
    if any(_UNIT.search(label) for label in words(calls, time_axis(calls) or "xy")):
        return None
    return 'the axis of the times names no unit: `ax.set_xlabel("… (s)")`.'


def ticks(case: Case, seen: Observation) -> str | None:
    """Ticks that matplotlib refuses."""
    why = refused(seen.values[0])
    return f"{why}: matplotlib cannot draw that." if why else None


def names(case: Case, seen: Observation) -> Iterator[str]:
    """The ways' names."""
    said = " | ".join(texts(seen.values[0]))
    for way in case.facts["wanted"]:
        if not re.search(rf"(?<!\w){re.escape(way)}(?!\w)", said):
            yield f"the name {way} does not stand in the figure."


def lost(case: Case, seen: Observation) -> Iterator[str | None]:
    """How many arrived, where not all did."""
    calls = seen.values[0]
    for way, arrived in case.facts["wanted"].items():
        if isinstance(arrived, tuple):
            continue
        pattern = rf"(?<!\d)(?<!of )(?<!/){arrived}(?!\d)" + ("" if arrived else "|never|none")
        told = [text for text in texts(calls) if re.search(pattern, text)]
        if not told:
            yield (
                f"{way} did not always arrive, and the figure does not say that {arrived} of its "
                "runs did: `ax.text(…)`."
            )
        runs = len(case.args[0][0][way])
        of = [found[1] for text in told for found in re.finditer(r"\d+ ?(?:of|/) ?(\d+)", text)]
        if of and str(runs) not in of:
            yield f"the figure says that {arrived} of {of[0]} runs of {way} arrived: of {runs}."
        placed = [at for text, at in notes(calls) if text in told and way not in text]
        if told and len(placed) == len(told) and None not in placed:
            yield out_of_place(calls, way, placed)


def left_out(case: Case, seen: Observation) -> Iterator[str]:
    """A mean of those runs that arrived."""
    for way, seconds in case.args[0][0].items():
        kept = [s for s in seconds if math.isfinite(s)]
        if kept and len(kept) < len(seconds) and _marked(seen.values[0], mean(kept)):
            yield (
                f"you drew the mean of {way} of those runs alone that arrived, which makes it "
                "quicker the more often it is lost. Say how many arrived, in its place."
            )


def exact(case: Case, seen: Observation) -> Iterator[str]:
    """All means and intervals, and nothing infinite."""
    calls = seen.values[0]
    for way, _, ends in _whole(case):
        if not _has(calls, ends):
            yield (
                f"the 95 % interval of {way} is not drawn: it goes from {ends[1]:.4g} to "
                f"{ends[2]:.4g} s."
            )
        if not _marked(calls, ends[0]):
            yield f"the mean of {way}, {ends[0]:.4g} s, is not marked."
    if any(map(math.isinf, marks(calls))):  # NaN is not drawn at all
        yield "something is drawn at infinity, where nobody sees it: say how many runs arrived."


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Names, units, means, ends of intervals, and what did not arrive."""
    for look in (nothing, no_intervals, exact, ticks, unit, names, exchanged, lost, left_out):
        yield first_said(look, case, seen)


MISTAKES = (
    Mistake("nothing is drawn", nothing),
    Mistake("no intervals", no_intervals),
    _instead(
        "standard deviations",
        "is one standard deviation to each side, which says how single runs scatter. That of the "
        "mean is t · s/√n.",
        lambda s: interval(s, math.sqrt(len(s))),
    ),
    _instead(
        "standard errors",
        "is one standard error to each side, which holds the mean in two of three cases, and with "
        "few runs in fewer. For 95 % multiply it by Student's t.",
        lambda s: interval(s, 1.0),
    ),
    _instead(
        "the normal distribution",
        "is 1.96 standard errors to each side, which holds for many runs. For so few take "
        "Student's t with n − 1 degrees of freedom.",
        lambda s: interval(s, 1.96),
        lambda s: interval(s, 1.959963984540054),
    ),
    _instead(
        "divides by n",
        "is too short: its standard deviation divides by n, as `numpy.std` does. From a sample it "
        "is n − 1 (`ddof=1`, or `statistics.stdev`).",
        lambda s: interval(s, student(len(s)) * math.sqrt((len(s) - 1) / len(s))),
    ),
    _instead(
        "t for one side",
        "leaves 5 % at each side, which makes 90 % between: take t at 0.975.",
        lambda s: interval(s, student(len(s), 0.95)),
    ),
    Mistake("medians", medians),
    _instead(
        "from the least to the largest",
        "goes from its quickest to its slowest run. It grows with every run more; the interval of "
        "the mean shrinks.",
        lambda s: (mean(s), min(s), max(s)),
    ),
    Mistake("ticks and names", ticks),
    Mistake("no unit", unit),
    Mistake("no names", names),
    Mistake("a name at another's mean", exchanged),
    Mistake("not arrived is not told", lost),
    Mistake("a mean of those that arrived", left_out),
)


def draw(ax: Any, times: dict[str, list[float]]) -> None:
    """The reference."""
    from scipy.stats import t

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


WRONG = """
nothing
    | enumerate(times.values()) => ()
    ? nothing was drawn
bars alone
    | ax.errorbar(mean(seconds), place, xerr=reach, fmt="o", capsize=4, =>
        ax.barh(place, mean(seconds),
    ? no intervals
standard deviations
    | t.ppf(0.975, len(seconds) - 1) * stdev(seconds) / math.sqrt(len(seconds)) => stdev(seconds)
    ? one standard deviation to each side
standard errors
    | t.ppf(0.975, len(seconds) - 1) * =>
    ? one standard error
1.96
    | t.ppf(0.975, len(seconds) - 1) => 1.96
    ? 1.96 standard errors
divides by n
    | / math.sqrt(len(seconds)) => * math.sqrt(len(seconds) - 1) / len(seconds)
    ? as `numpy.std` does
t at 0.95
    | 0.975 => 0.95
    ? 90 % between
medians
    | mean(seconds) => median(seconds)
    ? marked at its median
names the other way round
    | list(times) => list(times)[::-1]
    ? stands at the mean of
the extremes
    | xerr=reach => xerr=[[mean(seconds) - min(seconds)], [max(seconds) - mean(seconds)]]
    ? slowest run
no unit
    | time to the target (s) => time to the target
    ? names no unit
no names
    | ax.set_yticks(range(len(times)), list(times)) =>
    ? does not stand in the figure
nothing of the lost
    | ax.text(0, place, f" {arrived} of {len(seconds)} arrived", va="center") =>
    ? did not always arrive
of five
    | of {len(seconds)} arrived => of 5 arrived
    ? of 7
out of the picture
    | ax.text(0, place => ax.text(1000, place
    ? out of the picture
in another row
    | ax.text(0, place => ax.text(0, (place + 1) % len(times)
    ? does not stand in its row
names before places
    | ax.set_yticks(range(len(times)), list(times)) => ax.set_yticks(list(times), range(len(times)))
    ? places first
mean of the arrived
    | continue => arrived and ax.plot(mean(filter(math.isfinite, seconds)), place, "s"); continue
    ? of those runs alone that arrived
"""

EXERCISE = Exercise(
    number="18.6",
    title="A figure that says how sure it is",
    size=Size(stars=2, minutes=15, points=3),
    function="draw",
    asks=(
        "on `ax`, for each way that arrived in all runs the mean of its seconds with its 95 % "
        "interval by Student's t; for each other one a text such as “3 of 5 arrived”; the ways' "
        "names; and an axis whose label names the unit, (s)."
    ),
    cases=cases,
    drive=draws_panel,
    claim=claim,
    mistakes=MISTAKES,
    praise=(
        "Passed: names, units, means and intervals are there, and who did not always arrive has no "
        "mean."
    ),
    reference=draw,
    wrong=wrong_answers("18.6", WRONG, draw),
    ranked=False,
)
