"""Drivers for a learner's test: it is run on code under test, and what it says is noted.

A case's arguments are the code's text and how often the test is run on it. A test says that code is
wrong by raising, as pytest has it. Whether it is wrong nobody here knows.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

from helpers.exercises.drives import Function, failed, inside, plain, wrong_signature
from helpers.exercises.drives_four_ways_threads import noting
from helpers.exercises.spec import Case, Observation

Code = Callable[..., Any]
Notes = list[Any]  # a Started, Counted or Rolled for each time that the test called the code
_FILE = "<code under test>"
_FEW = 20  # calls that are told of
_MOMENT = 0.05  # seconds that a thread is given to come to its end


class Run(NamedTuple):
    """What a test did, run once on a piece of code.

    failed: whether it raised, kind and said: the exception. returned: what it gave, if that was
    True or False. swallowed: whether it lets no AssertionError out. elsewhere: whether one was
    raised in another thread. ended: another exception that ended a thread, in words. away: whether
    the code was to go to real processes, which is refused. inside: whether the exception came
    through the code. place: the file and the line of the test at which it was, None where that is
    not known. calls: the notes.
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
    calls: Any


def compiled(text: str) -> Code:
    """The last function that a text defines."""
    names: dict[str, Any] = {"__name__": "code_under_test"}
    exec(compile(text, _FILE, "exec"), names)
    own = [each for each in names.values() if getattr(each, "__globals__", None) is names]
    found: Code = own[-1]
    return found


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
    its `start` returns, if it ends within a moment: who hopes for luck has none.
    """
    trouble = wrong_signature(fn, 1)
    if trouble:
        return trouble
    text, times = case.args[0]
    found = []
    for number in range(times):
        notes: Notes = []
        code = watch(text, notes)
        kind, said, returned, inner = "", "", None, False
        place: tuple[str, int] | None = None
        with noting() as faults, waiting(patient and number % 2 == 1):
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
        how = (swallowed, elsewhere, ended, away, inner, place)
        found.append(Run(bool(kind), kind, said, returned, *how, calls))
    return Observation(values=[plain(found)])


def _came_through(error: BaseException) -> bool:
    """Whether the code under test was running when an exception was raised."""
    trail = error.__traceback__
    while trail is not None:
        if trail.tb_frame.f_code.co_filename == _FILE:
            return True
        trail = trail.tb_next
    return False


@contextmanager
def waiting(patient: bool) -> Iterator[None]:
    """Meanwhile, if `patient`, who starts a thread waits for its end, for a moment."""
    usual: Any = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        usual(thread)
        threading.Thread.join(thread, _MOMENT)

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


# --- `start_all(workers, thread)`: a thread for each worker ---------------------------------------


class Started(NamedTuple):
    """workers: how many there are. plain: whether it uses Python's own threads. odd: the type of
    a worker that cannot be called, "" where all can. ran: in order."""

    workers: int
    plain: bool
    odd: str
    ran: list[int]


def _starting(text: str, notes: Notes) -> Code:
    """Notes a Started for each call."""
    code = compiled(text)

    def start_all(workers: Any, thread: Any = threading.Thread) -> Any:
        workers, ran = list(workers), list[int]()
        odd = next((type(each).__name__ for each in workers if not callable(each)), "")
        notes.append(Started(len(workers), thread is threading.Thread, odd, ran))

        def noted(number: int, worker: Callable[[], Any]) -> Callable[[], Any]:
            def work() -> Any:
                ran.append(number)
                return worker()

            return work

        return code([noted(*each) for each in enumerate(workers)], thread)

    return start_all


# --- `count(comm, seconds)`: ranks that count their steps -----------------------------------------


class Counted(NamedTuple):
    """steps: that each rank was to take. gave: (rank, number) of each rank that came back, None for
    what is no number."""

    ranks: int
    steps: list[int]
    gave: list[tuple[int, float | None]]


class Counting:
    """Notes a Counted for each run of ranks.

    It goes to the ranks by its number: on the virtual clock they are all here. To real processes
    it does not go. away: whether it was to. broke: whether the code raised an exception.
    """

    _here: ClassVar[WeakValueDictionary[int, Counting]] = WeakValueDictionary()
    _last: ClassVar[int] = 0

    def __init__(self, text: str, notes: Notes) -> None:
        self.text, self.notes, self.code, self.away = text, notes, compiled(text), False
        Counting._last += 1
        self.number, self.__name__, self.broke = Counting._last, "count", False
        Counting._here[self.number] = self

    def __reduce__(self) -> Any:
        if _packed_for_processes():
            self.away = True
            raise RuntimeError("This is checked on the virtual clock alone.")
        return _counting, (self.number, self.text)

    def __call__(self, comm: Any, seconds: Any) -> Any:
        steps = [len(row) for row in seconds]
        try:
            value = self.code(comm, seconds)
        except Exception:
            self.broke = True
            if not self.notes:
                self.notes.append(Counted(comm.size, steps, []))
            raise
        last = self.notes[-1] if self.notes else Counted(0, [], [])
        if last.ranks != comm.size or comm.rank in [rank for rank, _ in last.gave]:
            last = Counted(comm.size, steps, [])
            self.notes.append(last)
        last.gave.append((comm.rank, value if type(value) in (int, float) else None))
        return value


def _packed_for_processes() -> bool:
    """Whether it is an engine that pickles something now, and not for ranks in this process."""
    files, frame = list[str](), sys._getframe()
    while frame is not None:
        files.append(frame.f_code.co_filename.replace("\\", "/"))
        frame = frame.f_back  # type: ignore[assignment]
    if any(file.endswith("helpers/engines/copies.py") for file in files):
        return False
    return any(file.endswith("helpers/engines/processes.py") for file in files)


def _counting(number: int, text: str) -> Counting:
    return Counting._here.get(number) or Counting(text, [])


# --- `rollout(play, steps, discount)`: what some steps bring, discounted --------------------------


class Rolled(NamedTuple):
    """steps, discount: None where left out. rewards: of each step played. results: the one number
    that came back, or none."""

    steps: Any
    discount: Any
    rewards: list[float]
    results: list[float]


def _rolling(text: str, notes: Notes) -> Code:
    """Notes a Rolled for each call."""
    code = compiled(text)

    def rollout(play: Callable[[], float], *args: Any, **options: Any) -> Any:
        given = {**dict(zip(("steps", "discount"), args, strict=False)), **options}
        note = Rolled(given.get("steps"), given.get("discount"), [], [])
        notes.append(note)

        def noted() -> float:
            reward = play()
            note.rewards.append(float(reward))
            return reward

        result = code(noted, *args, **options)
        note.results.append(float(result))
        return result

    return rollout


@inside
def on_starts(fn: Function, case: Case) -> Observation:
    """A test of code that starts a thread for each worker; see `_runs`."""
    return _runs(fn, case, _starting, raises, patient=True)


@inside
def on_counts(fn: Function, case: Case) -> Observation:
    """A test of code that counts the steps of all ranks; see `_runs`."""
    return _runs(fn, case, Counting, touchy)


@inside
def on_rollouts(fn: Function, case: Case) -> Observation:
    """A test of code that plays some steps and adds up what they bring; see `_runs`."""
    return _runs(fn, case, _rolling, raises)
