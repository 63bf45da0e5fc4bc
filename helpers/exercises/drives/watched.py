"""Code under test that is watched: what a learner's test does with it is noted.

What it notes is plain: who ran, what was counted, what came out. Whether that is right nobody here
knows.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

Code = Callable[..., Any]
Notes = list[Any]  # a Started, Counted or Rolled for each time that the test called the code
FILE = "<code under test>"
_LATE = 0.02  # seconds that a worker takes, where it is slow


def compiled(text: str) -> Code:
    """The last function that a text defines."""
    names: dict[str, Any] = {"__name__": "code_under_test"}
    exec(compile(text, FILE, "exec"), names)
    own = [each for each in names.values() if getattr(each, "__globals__", None) is names]
    found: Code = own[-1]
    return found


# --- `start_all(workers, thread)`: a thread for each worker ---------------------------------------


class Started(NamedTuple):
    """workers: how many there are. plain: whether it uses Python's own threads. odd: the type of
    a worker that cannot be called, "" where all can. same: whether several workers are functions
    of one text that look up the same variables. instance: whether `thread` cannot be called. ran:
    in order. ended: how many calls of workers had ended when the code returned, if it did."""

    workers: int
    plain: bool
    odd: str
    same: bool
    instance: bool
    ran: list[int]
    ended: list[int]


def _look_up_the_same(workers: list[Any]) -> bool:
    """Whether functions hold nothing of their own: one code, one closure, the same defaults."""
    held = set()
    for worker in workers:
        code = getattr(worker, "__code__", None)
        cells, defaults = (getattr(worker, key, None) for key in ("__closure__", "__defaults__"))
        own = getattr(worker, "__kwdefaults__", None)
        held.add((id(code), tuple(map(id, cells or ())), id(defaults), id(own)))
        if code is None or defaults or own:
            return False
    return len(workers) > 1 and len(held) == 1


def starting(text: str, notes: Notes) -> Code:
    """Notes a Started for each call."""
    code = compiled(text)

    def start_all(workers: Any, thread: Any = threading.Thread) -> Any:
        workers, ran = list(workers), list[int]()
        odd = next((type(each).__name__ for each in workers if not callable(each)), "")
        how = odd, _look_up_the_same(workers), not callable(thread)
        note = Started(len(workers), thread is threading.Thread, *how, ran, [])
        notes.append(note)
        done: list[int] = []

        def noted(number: int, worker: Callable[[], Any]) -> Callable[[], Any]:
            def work() -> Any:
                if getattr(start_all, "slow", False):
                    time.sleep(_LATE)
                ran.append(number)
                try:
                    return worker()
                finally:
                    done.append(number)

            return work

        value = code([noted(*each) for each in enumerate(workers)], thread)
        note.ended.append(len(done))
        return value

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


def rolling(text: str, notes: Notes) -> Code:
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
