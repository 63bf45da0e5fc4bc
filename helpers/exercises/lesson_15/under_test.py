"""What 15.3, 15.4 and 15.5 share, where a test is written: it fails on faults, not on sound code.

A case is one piece of code, as text, and how often the test runs on it. Its facts say whether it is
faulty, and how.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from helpers.engines.own_time import LOOK_SECONDS, of_others_here
from helpers.exercises.compare import count
from helpers.exercises.drives.calling import Function, failed, wrong_signature
from helpers.exercises.drives.threads import noting
from helpers.exercises.drives.values import plain
from helpers.exercises.spec import Case, Observation, Place
from helpers.exercises.table import entries, patched
from helpers.exercises.trouble import place

Code = Callable[..., Any]
Notes = list[Any]  # one for each time that the test called the code
FILE = "<code under test>"
_FEW = 20  # calls that are told of
_STILL = 3  # so many looks in a row at which all threads are asleep, and one does not end any more


def compiled(text: str) -> Code:
    """The last function that a text defines."""
    names: dict[str, Any] = {"__name__": "code_under_test"}
    exec(compile(text, FILE, "exec"), names)
    own = [each for each in names.values() if getattr(each, "__globals__", None) is names]
    found: Code = own[-1]
    return found


class Run(NamedTuple):
    """What a test did, run once on a piece of code.

    failed: whether it raised, kind and said: the exception. returned: what it gave, if that was
    True or False. swallowed: whether it lets no AssertionError out. elsewhere: whether one was
    raised in another thread. ended: another exception that ended a thread, in words. away: whether
    the code was to go to real processes, which is refused. inside: whether the exception came
    through the code. place: the file and the line of the test at which it was, None where that is
    not known. patient: whether threads were given a moment at their start. calls: the notes.
    """

    failed: bool
    kind: str
    said: str
    returned: bool | None
    swallowed: bool
    elsewhere: bool
    ended: str
    away: bool
    inside: bool
    place: tuple[str, int] | None
    patient: bool
    calls: Any


def observed(
    fn: Function,
    case: Case,
    watch: Callable[[str, Notes], Code],
    alarm: Code,
    patient: bool = False,
) -> Observation:
    """Run `fn(code)` as often as the case says; `values[0]` is a list of them, each as in `Run`.

    watch: makes code of a text, and notes what is done with it. alarm: code that raises an
    AssertionError, or has its caller do so. patient: in every second run a thread has ended before
    its `start` returns, if it ends within a moment: who hopes for luck has none. The last run's
    code is told to be slow: `code.slow`.
    """
    trouble = wrong_signature(fn, 1)
    if trouble:
        return trouble
    text, times = case.args[0]
    found = []
    for number in range(times):
        notes: Notes = []
        code = watch(text, notes)
        code.slow = number == times - 1  # type: ignore[attr-defined]
        kind, said, returned, inner = "", "", None, False
        place: tuple[str, int] | None = None
        waits = patient and number % 2 == 1
        with noting() as faults, waiting(waits):
            try:
                value = fn(code)
                returned = value if type(value) is bool else None
            except Exception as error:
                told = failed(error, fn)
                if told.trouble == "not done":
                    return told
                kind, said = told.kind, told.text.partition("\n")[0][:200]
                place = (told.place.file, told.place.line) if told.place else None
                inner = getattr(code, "broke", False) or _came_through(error)
        swallowed = not kind and swallows(fn, alarm)
        elsewhere = any(isinstance(fault, AssertionError) for fault in faults)
        away, calls = bool(getattr(code, "away", False)), notes[:_FEW]
        others = [each for each in faults if not isinstance(each, AssertionError)]
        ended = f"{type(others[0]).__name__}: {others[0]}"[:200] if others else ""
        how = (swallowed, elsewhere, ended, away, inner, place, waits)
        found.append(Run(bool(kind), kind, said, returned, *how, calls))
    return Observation(values=[plain(found)])


def _came_through(error: BaseException) -> bool:
    """Whether the code under test was running when an exception was raised."""
    trail = error.__traceback__
    while trail is not None:
        if trail.tb_frame.f_code.co_filename == FILE:
            return True
        trail = trail.tb_next
    return False


@contextmanager
def waiting(patient: bool) -> Iterator[None]:
    """Meanwhile, if `patient`, who starts a thread waits for its end.

    Where one does not come to it, nobody waits for those that follow: they may all be held back.
    """
    usual: Any = threading.Thread.start
    held: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        usual(thread)
        if not held:
            own = None
            while thread.is_alive() and (own is None or own.still < _STILL):
                threading.Thread.join(thread, LOOK_SECONDS)
                own = own or of_others_here()
                own.look()
            if thread.is_alive():
                held.append(thread)

    if patient:
        threading.Thread.start = start  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        threading.Thread.start = usual  # type: ignore[method-assign]


def swallows(fn: Function, alarm: Code) -> bool:
    """Whether a test keeps to itself that code which it calls raises an AssertionError."""
    called: list[bool] = []

    def code(*args: Any, **options: Any) -> Any:
        called.append(True)
        return alarm(*args, **options)

    with noting():
        try:
            fn(code)
        except Exception:
            return False
    return bool(called)


def raises(*args: Any, **options: Any) -> Any:
    """Stands for code under test; raises AssertionError."""
    raise AssertionError("This is no count.")


class Touchy:
    """What raises AssertionError where anything is asked of it."""

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = raises
    __int__ = __float__ = __index__ = __bool__ = __add__ = __radd__ = __sub__ = __rsub__ = raises


def touchy(*args: Any, **options: Any) -> Touchy:
    """Stands for code under test on ranks, where an exception would come back as another."""
    return Touchy()


# --- what is said of it ---------------------------------------------------------------------------
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
