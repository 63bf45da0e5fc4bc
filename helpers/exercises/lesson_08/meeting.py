"""The driver of exercise 08.3: threads on a session that shows who runs what with whom."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from helpers.engines.own_time import LOOK_SECONDS, of_others_here
from helpers.exercises.drives.calling import Function, failed, wrong_signature
from helpers.exercises.drives.threads import Enough, Threaded, noting
from helpers.exercises.spec import Case, Observation


def _thread_runs(fn: Function, case: Case) -> Observation:
    """`fn(session, updates, step, last)` with a session that shows who runs what with whom.

    The case's arguments: how many ops, `last`, and "slow" where op 0's first run takes as long as
    all the others need to reach `last`. Else an op's run ends when all ops are in a run of their
    own, or when nobody else moves: then it counts as alone. The ones that reach `last` go on for a
    moment, so that a function that does not wait for them has returned by their end.

    `values[0]` is `{"runs": of each op, "alone": runs that no other joined, "open": threads that go
    on after it has returned, "threads": how many ran each op, "here": runs in no thread of their
    own, "looks": at the step, "held": whether the others waited for the slow op}`. The grader does
    not see "threads" and "here".
    """
    trouble = wrong_signature(fn, 4)
    if trouble:
        return trouble
    ops, last, *slow = case.args[0]
    session = (OneIsSlow if slow else Rendezvous)(ops, last)
    before = set(threading.enumerate())
    try:
        with noting() as faults:
            fn(session, [f"update_{i}" for i in range(ops)], "step", last)
            runs = list(session.runs)
            others = [t for t in threading.enumerate() if t not in before and t.is_alive()]
            session.close()
            for thread in others:
                thread.join(1.0)
        if faults and not isinstance(faults[0], Enough):
            raise faults[0]
    except Enough:
        runs, others = list(session.runs), []
    except Exception as error:
        return failed(error, fn)
    seen = {"runs": runs, "alone": session.alone, "open": len(others), "much": session.much}
    seen |= {"threads": [len(each) for each in session.threads]}
    seen |= {"here": session.here, "looks": session.looks, "held": session.held}
    return Observation(values=[{**seen, "step": session.count}])


thread_runs = Threaded(_thread_runs)


# So many looks in a row at which every thread is asleep:
_ALONE = 15  # who has not come by then does not come
_RETURN = 2  # a function that waits for nobody has returned by then


def awaited(change: threading.Condition, holds: Callable[[], bool], looks: int) -> bool:
    """Wait until something holds, and say whether it does.

    It does not where for so many looks in a row every other thread of this process was asleep: it
    is not the clock that decides, since nobody was there to change anything.
    """
    own = of_others_here()
    while not holds() and own.still < looks:
        if not change.wait(LOOK_SECONDS):
            own.look()
    return holds()


class Rendezvous:
    """Stands for a session whose ops all take so long that they are under way together.

    "step" gives how many updates were made; "update_0" and so on make one.
    """

    def __init__(self, ops: int, last: int) -> None:
        self.last, self.runs = last, [0] * ops
        self.threads: list[set[threading.Thread]] = [set() for _ in range(ops)]
        self.caller = threading.current_thread()
        self.alone = self.count = self.here = self.looks = 0
        self.over = self.much = self.held = False
        self._here: set[int] = set()
        self._turn, self._last_turn, self._change = 0, -1, threading.Condition()

    def close(self) -> None:
        """The function has returned: runs end, and none begins."""
        with self._change:
            self.over = True
            self._change.notify_all()

    def run(self, fetches: Any, *_: Any, **__: Any) -> Any:
        """One run."""
        if isinstance(fetches, list | tuple):
            return [self.run(each) for each in fetches]
        if fetches == "step":
            with self._change:
                self.looks += 1
                return self.count
        return self._update(int(str(fetches).removeprefix("update_")))

    def _begin(self, op: int) -> None:
        if self.over or self.count > 60:
            self.much = self.much or not self.over
            raise Enough
        self.runs[op] += 1
        self.threads[op].add(threading.current_thread())
        self.here += threading.current_thread() is self.caller

    def _update(self, op: int) -> None:
        with self._change:
            self._begin(op)
            turn = self._turn
            self._here.add(op)
            if len(self._here) == len(self.runs):
                self._end()
            elif self.alone or not awaited(
                self._change, lambda: self._turn > turn or self.over, _ALONE
            ):
                self.alone += 1
                self._end()
            if turn == self._last_turn:
                awaited(self._change, lambda: self.over, _RETURN)

    def _end(self) -> None:
        if self.count < self.last <= self.count + len(self._here):
            self._last_turn = self._turn
        self.count += len(self._here)
        self._here, self._turn = set(), self._turn + 1
        self._change.notify_all()


class OneIsSlow(Rendezvous):
    """Stands for a session whose op 0 takes as long as the others need to reach `last`.

    Where they do not get there without it, they have waited for it; then all go on together.
    """

    def _update(self, op: int) -> None:
        if self.held:
            super()._update(op)
            return
        with self._change:
            self._begin(op)
            self._change.notify_all()
            # The others' first runs end when op 0 has begun, or it might find nothing left to do.
            met = awaited(
                self._change,
                lambda: self.over or (self.count >= self.last if op == 0 else self.runs[0] > 0),
                _ALONE,
            )
            self.held = self.held or not met
            self.count += 1
            self._change.notify_all()
