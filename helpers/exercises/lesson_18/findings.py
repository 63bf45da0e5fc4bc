"""Exercise 18.5, what was found: four sentences whose every number comes from the runs.

`findings(times, ends) -> list[str]`: who was first by the median, the paired difference to the
second with its interval and p, who ended best by the mean with the same, and who did not always
arrive. The claim: the right names and numbers, rounded however they are, and no other numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from helpers.algorithms.racing.findings import findings as reference
from helpers.exercises.common import rng
from helpers.exercises.drives_racing import says
from helpers.exercises.lesson_18 import findings_reason as reason
from helpers.exercises.lesson_18 import findings_wrong as wrong
from helpers.exercises.lesson_18.findings_reason import Facts, facts_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Table = list[list[Any]]
_NAMES = ("synchronous", "asynchronous", "spare replicas", "local steps", "vertical slices")
_OTHERS = ("ring", "tree", "two levels", "one server")


def cases(seed: int) -> list[Case]:
    """Seed 0: five ways that all arrive, whose order by means is another; a second that is lost
    once and a way that never arrives; four ways with other names, on seven seeds. Else others."""
    random = rng(seed, "18.5")
    made = []
    for kind, names, runs in (("all", _NAMES, 5), ("lost", _NAMES, 5), ("names", _OTHERS, 7)):
        order = [str(name) for name in random.permutation(names)]
        shared = random.uniform(-0.1, 0.1, runs)
        times: Table = []
        ends: Table = []
        for place, name in enumerate(order):
            base = 4.0 * 1.35**place
            seconds = [float(x) for x in base * (1 + shared + random.uniform(-0.05, 0.05, runs))]
            error = 9.0 - 0.6 * place + random.uniform(-0.4, 0.4, runs) + 4 * shared
            times.append([name, [round(s, 3) for s in seconds]])
            ends.append([name, [round(float(e), 2) for e in error]])
        times[0][1][1] *= 4  # once it was held up: its mean is not the smallest
        times[2][1][0] = round(0.7 * min(times[0][1]), 3)  # once it was lucky
        ends[1][1][0] = round(min(min(errors) for _, errors in ends) - 0.3, 2)
        if kind == "lost":
            times[1][1][2] = math.inf
            times[-1][1] = [math.inf] * runs
        shuffled = random.permutation(len(order)).tolist()
        times, ends = [times[k] for k in shuffled], [ends[k] for k in shuffled]
        name = {
            "all": "With five ways that all arrive",
            "lost": "With ways that do not always arrive",
            "names": "With four ways of other names",
        }[kind]
        made.append(case_of(name, times, ends))
    return made


def case_of(name: str, times: Table, ends: Table) -> Case:
    """A case of two tables, `[[way, numbers], …]`."""
    facts = facts_of({w: v for w, v in times}, {w: v for w, v in ends})
    return Case(name, ((times, ends),), facts=facts._asdict())


def claim(case: Case, seen: Observation) -> str | None:
    """Every look of `findings_reason` holds."""
    facts = Facts(**case.facts)
    value = seen.values[0]
    for look in reason.LOOKS:
        said = look(facts, value)
        if said:
            return f"{case.name}, {said}"
    return None


def _mistake(name: str, look: Any) -> Mistake:
    def told(case: Case, seen: Observation) -> str | None:
        said = look(Facts(**case.facts), seen.values[0])
        return f"{case.name}, {said}" if said else None

    return Mistake(name, told)


def compared(case: Case, seen: Observation) -> Any:
    """The sentences; in other words nobody says the same."""
    return seen.values[0]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        "Passed on three sets of runs: each number in your sentences is one of the data, and they "
        f"change with them. The first is: {seen[0].values[0][0]}"
    )


EXERCISE = Exercise(
    number="18.5",
    title="What was found",
    stars=2,
    minutes=20,
    points=4,
    function="findings",
    asks=(
        "four sentences in a list: who reached the target first by the median, and who second, "
        "with both medians; the paired difference between the two, its interval and p, or in how "
        "many runs each arrived where one did not always; who ended best by the mean, with the "
        "paired difference to the next, its interval and p; and who did not arrive, in how many "
        "runs."
    ),
    cases=cases,
    drive=says,
    claim=claim,
    compared=compared,
    mistakes=(
        _mistake("no four sentences", reason.shape),
        _mistake("first by the mean", reason.first_by_mean),
        _mistake("first by the quickest run", reason.first_by_quickest),
        _mistake("first where it arrived", reason.first_of_arrived),
        _mistake("another one is first", reason.first),
        _mistake("a difference with infinity", reason.infinite),
        _mistake("without pairs", reason.unpaired),
        _mistake("no interval", reason.no_interval),
        _mistake("no p", reason.no_p),
        _mistake("the best single end", reason.best_by_single),
        _mistake("another one ended best", reason.best),
        _mistake("lost runs are not told", reason.lost),
        _mistake("numbers of no run", reason.stray),
        _mistake("a number is missing", reason.missing),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("one text", wrong.one_text, hint="a list of four sentences"),
        WrongAnswer("printed", wrong.printed, hint="`return` them"),
        WrongAnswer("by the mean", wrong.by_mean, hint="since a run of another one was held up"),
        WrongAnswer("by the quickest", wrong.by_quickest, hint="quickest single run"),
        WrongAnswer("left out", wrong.left_out, hint="as if the runs that never arrived"),
        WrongAnswer("the slowest", wrong.by_largest, hint="which is first."),
        WrongAnswer("infinity in it", wrong.with_infinity, hint="no difference that is a number"),
        WrongAnswer("no interval", wrong.no_interval, hint="the 95 % interval is missing"),
        WrongAnswer("no p", wrong.no_p, hint="p is missing"),
        WrongAnswer("without pairs", wrong.unpaired, hint="without pairs"),
        WrongAnswer("the best single end", wrong.best_single, hint="best single run at the end"),
        WrongAnswer("ended last", wrong.ended_last, hint="error at the end has"),
        WrongAnswer("nothing of the lost", wrong.nothing_lost, hint="did not arrive in"),
        WrongAnswer("typed", wrong.typed, hint="is none of the numbers that were"),
        WrongAnswer("first alone", wrong.first_alone, hint="should hold"),
    ),
    ranked=False,
    builds_on=("18.4",),
)
