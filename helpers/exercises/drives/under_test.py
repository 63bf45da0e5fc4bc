"""Drivers for a learner's test: it is run on code under test, and what it says is noted.

A case's arguments are the code's text and how often the test is run on it. A test says that code is
wrong by raising, as pytest has it. Whether it is wrong nobody here knows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from helpers.engines.own_time import LOOK_SECONDS, of_others_here
from helpers.exercises.drives.calling import Function, failed, inside, wrong_signature
from helpers.exercises.drives.threads import noting
from helpers.exercises.drives.values import plain
from helpers.exercises.drives.watched import FILE, Code, Counting, Notes, rolling, starting
from helpers.exercises.spec import Case, Observation

_FEW = 20  # calls that are told of
_STILL = 3  # so many looks in a row at which all threads are asleep, and one does not end any more


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


def _runs(
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


@inside
def on_starts(fn: Function, case: Case) -> Observation:
    """A test of code that starts a thread for each worker; see `_runs`."""
    return _runs(fn, case, starting, raises, patient=True)


@inside
def on_counts(fn: Function, case: Case) -> Observation:
    """A test of code that counts the steps of all ranks; see `_runs`."""
    return _runs(fn, case, Counting, touchy)


@inside
def on_rollouts(fn: Function, case: Case) -> Observation:
    """A test of code that plays some steps and adds up what they bring; see `_runs`."""
    return _runs(fn, case, rolling, raises)
