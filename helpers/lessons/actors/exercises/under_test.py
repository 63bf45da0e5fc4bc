"""What 15.3, 15.4 and 15.5 share, where a test is written: it fails on faults, not on sound code.

A case is one piece of code, as text, and how often the test runs on it. A test says that code is
wrong by raising, as pytest has it. Whether it is faulty, and how, only the case's facts say. The
file is long because it holds both sides: what runs a test, and what is said of that.
"""

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any, NamedTuple

from helpers.checks.compare import count
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.threads import noting
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Observation, Place, rng
from helpers.checks.table import entries, patched
from helpers.checks.trouble import place
from helpers.engine.own_time import LOOK_SECONDS, of_others_here

# --- the driver: a test is run on code that is watched, and what it says is noted -----------------
Code = Callable[..., Any]
Notes = list[Any]  # a NamedTuple of the exercise's for each time that the test called the code
Watch = Callable[[str, Notes], Code]
FILE = "<code under test>"
_FEW = 400  # calls that are told of
_STILL = 3  # so many looks in a row at which all threads are asleep, and one does not end any more


def compiled(text: str) -> Code:
    """The last function that a text defines."""
    names: dict[str, Any] = {"__name__": "code_under_test"}
    exec(compile(text, FILE, "exec"), names)
    own: list[Code] = [f for f in names.values() if getattr(f, "__globals__", None) is names]
    return own[-1]


class Run(NamedTuple):
    """What a test did, run once on a piece of code."""

    failed: bool  # whether it raised
    kind: str  # of the exception
    said: str
    returned: bool | None  # what it gave, if that was True or False
    swallowed: bool  # whether it lets no AssertionError out
    elsewhere: bool  # whether one was raised in another thread
    ended: str  # another exception that ended a thread, in words
    away: bool  # whether the code was to go to real processes, which is refused
    inside: bool  # whether the exception came through the code
    place: tuple[str, int] | None  # the file and the line of the test at which it was, if known
    patient: bool  # whether threads were given a moment at their start
    more: bool  # whether there were more calls than are told of
    calls: list[Any]  # the notes


def observed(
    fn: Function, case: Case, watch: Watch, alarm: Code, patient: bool = False
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
        code: Any = watch(text, notes)
        code.slow = number == times - 1
        kind, said, returned, inner, where = "", "", None, False, None
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
                where = (told.place.file, told.place.line) if told.place else None
                files = [frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)]
                inner = FILE in files or getattr(code, "broke", False)
        swallowed = not kind and swallows(fn, alarm)
        others = [each for each in faults if not isinstance(each, AssertionError)]
        elsewhere, away = len(others) < len(faults), getattr(code, "away", False)
        ended = f"{type(others[0]).__name__}: {others[0]}"[:200] if others else ""
        how = (swallowed, elsewhere, ended, away, inner, where, waits, len(notes) > _FEW)
        found.append(Run(bool(kind), kind, said, returned, *how, notes[:_FEW]))
    return Observation(values=[plain(found)])


@contextmanager
def waiting(patient: bool) -> Iterator[None]:
    """Meanwhile, if `patient`, who starts a thread waits for its end.

    Where one does not come to it, nobody waits for those that follow: they may all be held back.
    """
    usual: Any = threading.Thread.start
    held: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        usual(thread)
        own = None
        while thread.is_alive() and not held:
            threading.Thread.join(thread, LOOK_SECONDS)
            own = own or of_others_here()
            own.look()
            if own.still == _STILL:
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


# --- the cases ------------------------------------------------------------------------------------
Piece = tuple[Code, str, str]  # code, in words what it does, and what a hint hangs on
HEAD = """import threading, torch, numpy as np
from functools import partial
from typing import Any
"""


def pieces(number: str, table: str, base: Sequence[Code]) -> list[Piece]:
    """Pieces of code as a table, such as one of wrong answers: the words, and below them patches
    of the first of `base`, or of another, `= name`; `! what a hint hangs on`, if it does."""
    functions = {each.__name__: each for each in base}
    made = []
    for entry in entries(number, table):
        code = functions[next((name for name, _ in entry.marked["="]), base[0].__name__)]
        if entry.marked["|"]:
            code = patched(number, entry, (code,))
        made.append((code, entry.name, "".join(each for each, _ in entry.marked["!"])))
    return made


def cases_of(
    number: str, seed: int, tables: Sequence[str], base: Sequence[Code], runs: int = 3
) -> list[Case]:
    """A case for each piece of code: a sound one, the faults, the other sound ones.

    tables: faults and sound code for seed 0, then the hidden ones, which come in another order with
    every seed. runs: how often the test runs on each.
    """
    kinds = [pieces(number, table, base) for table in (tables[2:] if seed else tables[:2])]
    if seed:
        random = rng(seed, number)
        kinds = [[kind[at] for at in random.permutation(len(kind))] for kind in kinds]
    faulty, sound = kinds
    sound = sorted(sound, key=lambda piece: bool(piece[2]))  # first what hints hang on least
    made = []
    for piece in (sound[0], *faulty, *sound[1:]):
        (code, words, hangs_on), fault = piece, piece in faulty
        name = f"On {'faulty' if fault else 'sound'} code ({words})"
        facts = {"fault": fault, "hangs on": hangs_on}
        made.append(Case(name, ((HEAD + inspect.getsource(code), runs),), facts=facts))
    return made


# --- what is said ---------------------------------------------------------------------------------
Look = Callable[[Case, Run], str | None]


def runs(case: Case, seen: Observation) -> list[Run]:
    """What the test did, run by run. Raises TypeError where it is no such thing."""
    runs = [Run(*run) for run in seen.values[0]]
    if len(runs) != case.args[0][1] or any(type(run.failed) is not bool for run in runs):
        raise TypeError("no runs")
    return runs


def wrong_run(case: Case, seen: Observation, call: Callable[..., Any]) -> Run | None:
    """The first run in which the test said what is not so. call: makes what a call is noted as."""
    for run in runs(case, seen):
        if run.failed != case.facts["fault"]:
            return run._replace(calls=[call(*each) for each in run.calls])
    return None


def claim(case: Case, seen: Observation) -> str | None:
    """It fails in every run on a fault, and in none on sound code."""
    wrong = [run for run in runs(case, seen) if run.failed != case.facts["fault"]]
    if not wrong:
        return None
    of = f"in {len(wrong)} of {count(case.args[0][1], 'run')}"
    if case.facts["fault"]:
        return f"your test passed {of}. It has to fail, in every run."
    said = f"{wrong[0].kind}{at(wrong[0])}: {wrong[0].said}".rstrip(": ")
    return f"your test failed {of} ({said}). It has to pass, in every run."


def compared(
    call: Callable[..., Any],
    shown: Look,
    alarmed: Look = lambda case, run: None,
    misused: Look = lambda case, run: None,
) -> Callable[[Case, Observation], str]:
    """What an answer is known by: why its first wrong run was wrong, in a word.

    call: as in `wrong_run`. shown: why the fault did not show in what the test made the code do;
    None where it did. alarmed: why the test may have failed on sound code, if anything is known of
    it. misused: what the test handed in that the code can do nothing with, if it did.
    """

    def why(case: Case, seen: Observation) -> str:
        run = wrong_run(case, seen, call)
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
            why_not = None if run.more else alarmed(case, run)
            return why_not or f"alarm, {case.facts['hangs on']}"
        if run.more:  # what was seen in the others nobody knows
            return "many calls"
        if why := shown(case, run):
            return why
        for key in ("swallowed", "elsewhere"):
            if getattr(run, key):
                return key
        return "shown" if run.returned is None else "returned"

    return why


def numbers(
    call: Callable[..., Any], told: Callable[[Case, Run], dict[str, Any]]
) -> Callable[[Case, Observation], dict[str, Any]]:
    """What the hints name. call: as in `wrong_run`. told: what more, where the code was called."""

    def named(case: Case, seen: Observation) -> dict[str, Any]:
        run = wrong_run(case, seen, call)
        assert run is not None, "Nothing is said to a test that is right."
        said = f"{run.kind}: {run.said}".rstrip(": ") or "without a word"
        what = "passed" if case.facts["fault"] else "failed"
        found = {"said": said, "returned": run.returned, "at": at(run), "what": what, "no": _NO}
        return found | told(case, run) if run.calls else found

    return named


def at(run: Run) -> str:
    """Where a test was when it raised, such as " at line 4, `count()`"; "" where none knows."""
    return place(Place(*run.place)) if run.place else ""


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    faults = sum(case.facts["fault"] for case in cases)
    return (
        f"Passed: your test failed in all {cases[0].args[0][1]} runs on each of "
        f"{count(faults, 'fault')}, and in none on {len(cases) - faults} pieces of sound code."
    )


def also_wrong(test: Code) -> tuple[Code, Code]:
    """Wrong answers to each of these exercises. test: one that raises where something is wrong."""

    def breaks_off(code: Any) -> None:
        raise NameError("name 'secnods' is not defined")

    def swallows(code: Any) -> None:
        try:
            test(code)
        except AssertionError as error:
            str(error)

    return breaks_off, swallows


_NO = (
    'Where your test looks at that already, see whether it can say no: `assert (…, "…")`, with '
    "both in brackets, never fails, what is printed stops nobody, and an `except` keeps an "
    "`assert` in."
)
SAID = {
    "never_called": "your test {what} without ever calling what it was given: only what the code "
    "does can show whether it is sound.",
    "broke_off": "your test broke off{at}, by an error of its own and not by what the code did: "
    "{said}",
    "returned": "the fault showed, and your test returned {returned}. Nobody looks at what a test "
    "returns: it says no by raising, `assert …`.",
    "swallowed": "the fault showed, and your test passed: it lets no AssertionError out, not even "
    "one that the code itself raises. A test says no by raising, so do not catch that.",
}
