"""The driver of exercise 08.3: threads on a session that shows who runs what with whom."""

import threading
from collections.abc import Callable
from typing import Any

from helpers.checks.drives.calling import Function
from helpers.checks.drives.handed import Handed, Hands
from helpers.checks.drives.threads import Enough, noting
from helpers.engine.own_time import LOOK_SECONDS, of_others_here


class Session:
    """What a function is given: a thread asks for a run, which ends when `hands` says so."""

    def __init__(self, hands: Any) -> None:
        self._hands, self._caller = hands, threading.current_thread()
        self._threads: dict[threading.Thread, int] = {}

    def run(self, fetches: Any, *_: Any, **__: Any) -> Any:
        """One run, or one after the other."""
        if isinstance(fetches, list | tuple):
            return [self.run(each) for each in fetches]
        mine = threading.current_thread()
        number = self._threads.setdefault(mine, len(self._threads))
        told = self._hands.run(str(fetches)[:100], number, mine is self._caller)
        if told is None:
            raise Enough
        return told


def _thread_runs(fn: Function, hands: Any, ops: int, last: int, *slow: str) -> Any:
    """`fn(session, updates, step, last)` with a session that shows who runs what with whom.

    slow: "slow" where op 0's first run takes as long as all the others need to reach `last`. Else
    an op's run ends when all ops are in a run of their own, or when nobody else moves: then it
    counts as alone. The ones that reach `last` go on for a moment, so that a function that does not
    wait for them has returned by their end.

    `values[0]` is `{"runs": of each op, "alone": runs that no other joined, "open": threads that go
    on after it has returned, "threads": how many ran each op, "here": runs in no thread of their
    own, "looks": at the step, "held": whether the others waited for the slow op}`. In which thread
    a run is made is its process's word, and "open" are for the grader runs that go on.
    """
    session, others = Session(hands), list[threading.Thread]()
    before = set(threading.enumerate())
    try:
        with noting() as faults:
            fn(session, [f"update_{i}" for i in range(ops)], "step", last)
            others = [t for t in threading.enumerate() if t not in before and t.is_alive()]
            hands.returned()
            for thread in others:
                thread.join(1.0)
        if faults and not isinstance(faults[0], Enough):
            raise faults[0]
    except Enough:
        others = []
    return {"open": len(others)}


# So many looks in a row at which every thread is asleep:
_ALONE = 15  # who has not come by then does not come
_RETURN = 2  # a function that waits for nobody has returned by then
_GRACE = 3  # a thread that goes on has shown itself by then, where not all is done


class Rendezvous(Hands):
    """Stands for a session whose ops all take so long that they are under way together.

    "step" gives how many updates were made; "update_0" and so on make one.
    """

    at_once = True

    def __init__(self, ops: int, last: int) -> None:
        self.last, self.runs = last, [0] * ops
        self.threads: list[set[int]] = [set() for _ in range(ops)]
        self.alone = self.count = self.here = self.looks = 0
        self.over = self.much = self.held = False
        self.ended: dict[str, Any] = {}  # what there was when the function returned
        self.under_way = 0
        self._here: set[int] = set()
        self._turn, self._last_turn, self._change = 0, -1, threading.Condition()

    def returned(self) -> None:
        """The function has returned: runs end, and none begins."""
        with self._change:
            self.ended = {"runs": list(self.runs)}
            if self.own is not None:  # whose threads go on is seen by what they ask for
                looks, under_way = self.looks, self.under_way
                if under_way or self.count < self.last:
                    self._awaited(lambda: False, _GRACE)
                self.ended["open"] = max(under_way, int(self.looks > looks))
        self.close()

    def close(self) -> None:
        """Every run ends, and none begins."""
        with self._change:
            self.over = True
            self._change.notify_all()

    def run(self, fetch: str, thread: int, here: bool) -> int | None:
        """One run; None where there are no more."""
        with self._change:
            if fetch == "step":
                self.looks += 1
                return self.count
            op = int(fetch.removeprefix("update_"))
            if self.over or self.count > 60:
                self.much = self.much or not self.over
                return None
            self.runs[op] += 1
            self.threads[op].add(thread)
            self.here += here
            self.under_way += 1
            self._update(op)
            self.under_way -= 1
            return self.count

    def noted(self, value: Any) -> Any:
        """All of it."""
        seen = {key: getattr(self, key) for key in ("alone", "much", "here", "looks", "held")}
        seen |= {"runs": self.runs, "step": self.count, **value, **self.ended}
        return {**seen, "threads": [len(each) for each in self.threads]}

    def _update(self, op: int) -> None:
        turn = self._turn
        self._here.add(op)
        if len(self._here) == len(self.runs):
            self._end()
        elif self.alone or not self._awaited(lambda: self._turn > turn or self.over, _ALONE):
            self.alone += 1
            self._end()
        if turn == self._last_turn:
            self._awaited(lambda: self.over, _RETURN)

    def _end(self) -> None:
        if self.count < self.last <= self.count + len(self._here):
            self._last_turn = self._turn
        self.count += len(self._here)
        self._here, self._turn = set(), self._turn + 1
        self._change.notify_all()

    def _awaited(self, holds: Callable[[], bool], looks: int) -> bool:
        """Wait until something holds, and say whether it does.

        It does not where for so many looks in a row every other thread of this process was asleep:
        it is not the clock that decides, since nobody was there to change anything.
        """
        own = of_others_here() if self.own is None else self.own()
        while not holds() and own.still < looks:
            if not self._change.wait(LOOK_SECONDS):
                own.look()
        return holds()


class OneIsSlow(Rendezvous):
    """Stands for a session whose op 0 takes as long as the others need to reach `last`.

    Where they do not get there without it, they have waited for it; then all go on together.
    """

    def _update(self, op: int) -> None:
        if self.held:
            super()._update(op)
            return
        self._change.notify_all()
        # The others' first runs end when op 0 has begun, or it might find nothing left to do.
        met = self._awaited(
            lambda: self.over or (self.count >= self.last if op == 0 else self.runs[0] > 0), _ALONE
        )
        self.held = self.held or not met
        self.count += 1
        self._change.notify_all()


def _session(ops: int, last: int, *slow: str) -> Rendezvous:
    return (OneIsSlow if slow else Rendezvous)(ops, last)


thread_runs = Handed(_thread_runs, 4, _session)
