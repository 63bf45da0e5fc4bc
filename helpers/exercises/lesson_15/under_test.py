"""What 15.3, 15.4 and 15.5 share, where a test is written: it fails on faults, not on sound code.

A case is one piece of code, as text, and how often the test runs on it. Its facts say whether it is
faulty, and how.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from helpers.exercises.compare import count
from helpers.exercises.drives.under_test import Run
from helpers.exercises.spec import Case, Observation, Place
from helpers.exercises.table import entries, patched
from helpers.exercises.trouble import place

Look = Callable[[Case, Run], "str | None"]
RUNS = 3


class Piece(NamedTuple):
    """A piece of code, and in words what it does. argument: the one that it ignores, if any, or
    what else a hint hangs on."""

    code: Callable[..., Any]
    words: str
    argument: str = ""


def pieces_of(
    number: str, table: str, base: Callable[..., Any], *others: Callable[..., Any]
) -> list[Piece]:
    """Pieces of code as a table, such as one of wrong answers: the words, and below them patches
    of `base`, or of another function, `= name`; `! argument`, if there is one."""
    functions = {each.__name__: each for each in (base, *others)}
    made = []
    for entry in entries(number, table):
        code = functions[next((name for name, _ in entry.marked["="]), base.__name__)]
        if entry.marked["|"]:
            code = patched(number, entry, (code,))
        made.append(Piece(code, entry.name, "".join(each for each, _ in entry.marked["!"])))
    return made


def pieces(
    head: str,
    faulty: Sequence[Piece],
    sound: Sequence[Piece],
    random: np.random.Generator | None,
    runs: int = RUNS,
) -> list[Case]:
    """A case for each piece: a sound one, the faults, the other sound ones.

    random: the pieces of each kind in another order. runs: how often the test runs on each.
    """
    if random is not None:
        faulty, sound = (
            [kind[at] for at in random.permutation(len(kind))] for kind in (faulty, sound)
        )
    made = []
    for piece in (sound[0], *faulty, *sound[1:]):
        fault = piece in faulty
        name = f"On {'faulty' if fault else 'sound'} code ({piece.words})"
        facts = {"fault": fault, "argument": piece.argument}
        made.append(Case(name, ((head + inspect.getsource(piece.code), runs),), facts=facts))
    return made


def runs(case: Case, seen: Observation) -> list[Run]:
    """What the test did, run by run. Raises where it is no such thing."""
    found = seen.values[0]
    if type(found) is not list or len(found) != case.args[0][1]:
        raise TypeError("no runs")
    runs = [Run(*run) for run in found]
    if any(type(run.failed) is not bool for run in runs):
        raise TypeError("no runs")
    return runs


def wrong_run(case: Case, seen: Observation) -> Run | None:
    """The first run in which the test said what is not so."""
    return next((run for run in runs(case, seen) if run.failed != case.facts["fault"]), None)


def claim(case: Case, seen: Observation) -> str | None:
    """It fails in every run on a fault, and in none on sound code."""
    run = wrong_run(case, seen)
    if run is None:
        return None
    number = sum(each.failed != case.facts["fault"] for each in runs(case, seen))
    of = f"in {number} of {count(case.args[0][1], 'run')}"
    if case.facts["fault"]:
        return f"your test passed {of}. It has to fail, in every run."
    said = f"{run.kind}{at(run)}: {run.said}".rstrip(": ")
    return f"your test failed {of} ({said}). It has to pass, in every run."


def compared(
    shown: Look, alarmed: Look, misused: Look = lambda case, run: None
) -> Callable[[Case, Observation], Any]:
    """What an answer is known by: why its first wrong run was wrong, in a word.

    shown: why the fault did not show in what the test made the code do; None where it did.
    alarmed: why the test may have failed on sound code; None where nothing is known of it.
    misused: what the test handed in that the code can do nothing with; None where it did not.
    """

    def why(case: Case, seen: Observation) -> str:
        run = wrong_run(case, seen)
        if run is None:
            return "right"
        if run.away:
            return "away"
        if run.failed and run.kind != "AssertionError" and not run.inside:
            return "broke off"
        if not run.calls:
            return "never called, " + ("passed" if case.facts["fault"] else "failed")
        if why := misused(case, run):
            return why
        if not case.facts["fault"]:
            if run.kind != "AssertionError":
                kind = run.said.partition(" raised ")[2].partition(":")[0]  # of a rank
                return f"broke off inside, {kind or run.kind}"
            return alarmed(case, run) or "alarm"
        if why := shown(case, run):
            return why
        for key in ("swallowed", "elsewhere"):
            if getattr(run, key):
                return key
        return "shown" if run.returned is None else "returned"

    return why


def said(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints of all these exercises name."""
    run = wrong_run(case, seen)
    if run is None:
        return {}
    words = f"{run.kind}: {run.said}".rstrip(": ") or "without a word"
    return {"said": words, "returned": run.returned, "at": at(run)}


def at(run: Run) -> str:
    """Where a test was when it raised, such as " at line 4, `count()`"; "" where none knows."""
    match run.place:
        case (str(file), int(line)):
            return place(Place(file, line))
    return ""


def breaks_off(code: Any) -> None:
    """A wrong answer to each of these exercises: an error of the test's own, before any call."""
    raise NameError("name 'secnods' is not defined")


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    faults = sum(bool(case.facts["fault"]) for case in cases)
    times = cases[0].args[0][1]
    return (
        f"Passed: your test failed in all {times} runs on each of {count(faults, 'fault')}, and in "
        f"none on {len(cases) - faults} pieces of sound code."
    )


BROKE_OFF = "your test broke off{at}, by an error of its own and not by what the code did: {said}"
NEVER_CALLED = (
    "your test {what} without ever calling what it was given: only what the code does can show "
    "whether it is sound."
)
RETURNED = (
    "the fault showed, and your test returned {returned}. Nobody looks at what a test returns: it "
    "says no by raising, `assert …`."
)
SWALLOWED = (
    "the fault showed, and your test passed: it lets no AssertionError out, not even one that the "
    "code itself raises. A test says no by raising, so do not catch that."
)
