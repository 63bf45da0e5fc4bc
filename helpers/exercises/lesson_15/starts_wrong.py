"""Wrong answers to exercise 15.3, and what is said."""

from __future__ import annotations

import threading
import time
from typing import Any


class _Held(threading.Thread):
    """Begins only when somebody waits for it."""

    def start(self) -> None:
        pass

    def join(self, timeout: float | None = None) -> None:
        super().start()
        super().join(timeout)


def _ran(start_all: Any, thread: Any = _Held, workers: int = 3) -> list[int]:
    ran: list[int] = []
    start_all([lambda n=n: ran.append(n) for n in range(workers)], thread)
    return ran


def never_fails(start_all: Any) -> None:
    assert callable(start_all)


def always_fails(start_all: Any) -> None:
    raise AssertionError("a race")


def one_worker(start_all: Any) -> None:
    assert _ran(start_all, workers=1) == [0]


ONE_WORKER = (
    "your test gave it one worker. A loop of one round has nothing to mix up: the worker that a "
    "thread finds late is the right one all the same. Give it three."
)


def no_worker(start_all: Any) -> None:
    assert _ran(start_all, workers=0) == []


NO_WORKER = (
    "your test gave it no worker, so that nothing ran and nothing was mixed up. Give it three."
)


def calls_them(start_all: Any) -> None:
    ran: list[int] = []
    start_all([ran.append(n) for n in range(3)], _Held)  # type: ignore[func-returns-value]
    assert sorted(ran) == [0, 1, 2]


CALLS_THEM = (
    "the workers that your test handed in are no functions: one is {odd}. `ran.append(n)` runs at "
    "once and gives None, so the list was full before any thread began. Put it off until a thread "
    "calls it: `lambda n=n: ran.append(n)`."
)


def broken(start_all: Any) -> None:
    ran: list[int] = []
    start_all([lambda n=n: ran.append("worker" + n) for n in range(3)], _Held)
    assert sorted(ran) == [0, 1, 2]


BROKEN = (
    "a thread that your test started broke off, by {ended}. In a thread an error ends that thread "
    "and nothing else: call one of your workers by itself, and see what it raises."
)


def lucky(start_all: Any) -> None:
    for _ in range(5):
        assert sorted(_ran(start_all, threading.Thread)) == [0, 1, 2]


LUCKY = (
    "your test hoped for luck: it let Python's own threads run, each had found its worker before "
    "the loop went on, and {who}. Repeating makes luck likelier, never sure. Hand in a `thread` of "
    "your own that begins only when all have been made."
)


class _AtOnce(threading.Thread):
    def start(self) -> None:
        self.run()

    def join(self, timeout: float | None = None) -> None:
        pass


def at_once(start_all: Any) -> None:
    assert sorted(_ran(start_all, _AtOnce)) == [0, 1, 2]


AT_ONCE = (
    "your own kind of thread ran as soon as it was started: each found its worker in time, and "
    "{who}. Hold all of them back until the loop is over: do nothing in `start`, and begin in "
    "`join`."
)


class _Sleepy(threading.Thread):
    def run(self) -> None:
        time.sleep(0.05)
        super().run()


def waits_a_while(start_all: Any) -> None:
    assert sorted(_ran(start_all, _Sleepy)) == [0, 1, 2]


WAITS_A_WHILE = (
    "your kind of thread waits a while before it runs. In this run a while passed between two "
    "starts, too, as it does on a busy machine: each had found its worker by then, and {who}. No "
    "while is long enough. Begin in `join`, when the loop is over."
)


class _Unjoined(threading.Thread):
    def start(self) -> None:
        pass

    def join(self, timeout: float | None = None) -> None:
        super().start()


def no_join(start_all: Any) -> None:
    assert sorted(_ran(start_all, _Unjoined)) == [0, 1, 2]


NO_JOIN = (
    "`start_all` had returned before the workers were done: your kind of thread does not wait in "
    "`join`, so that what your test looks at then hangs on luck. Wait there for its end, by "
    "`super().join(timeout)`."
)


def as_a_set(start_all: Any) -> None:
    assert set(_ran(start_all)) == {0, 1, 2}


AS_A_SET = (
    "{who}, and your test passed. In a set it makes no difference how often somebody ran: compare "
    "`sorted(ran)`."
)


def counts(start_all: Any) -> None:
    assert len(_ran(start_all)) == 3


COUNTS = (
    "the fault showed: {who}. Your test passed. Sound code runs each worker exactly once: assert "
    "that, by who ran and not by how many."
)


def returns(start_all: Any) -> bool:
    return sorted(_ran(start_all)) == [0, 1, 2]


def swallows(start_all: Any) -> None:
    try:
        assert sorted(_ran(start_all)) == [0, 1, 2]
    except Exception as error:
        str(error)


def in_a_thread(start_all: Any) -> None:
    ran: list[int] = []

    def work(number: int) -> None:
        assert number not in ran
        ran.append(number)

    start_all([lambda n=n: work(n) for n in range(3)], _Held)


def late_itself(start_all: Any) -> None:
    ran: list[int] = []
    start_all([lambda: ran.append(n) for n in range(3)], _Held)  # noqa: B023
    assert sorted(ran) == [0, 1, 2]


LATE_ITSELF = (
    "{who}, and your test failed ({said}): its own workers have the fault that it looks for. They "
    "look up one variable when they run, and find the last number. Let each hold its own: "
    "`lambda n=n: ran.append(n)`."
)


def an_instance(start_all: Any) -> None:
    assert sorted(_ran(start_all, _Held())) == [0, 1, 2]


AN_INSTANCE = (
    "your test broke off{at} ({said}). `thread` is a class, which the code calls once for each "
    "worker; you handed in one thread, made already. Hand in the class, without brackets."
)


def in_order(start_all: Any) -> None:
    assert _ran(start_all) == [0, 1, 2]


IN_ORDER = (
    "each worker ran once, in the order {order}, and your test failed ({said}). Threads promise no "
    "order: compare `sorted(ran)`."
)


def the_wrong_way(start_all: Any) -> None:
    assert sorted(_ran(start_all)) != [0, 1, 2]


THE_WRONG_WAY = (
    "your test failed ({said}), though {who}. An `assert` names what has to hold in sound code."
)


def narrow(start_all: Any) -> None:
    class Late:
        def __init__(self, target: Any) -> None:
            self.join = target

        def start(self) -> None:
            pass

    assert sorted(_ran(start_all, Late)) == [0, 1, 2]


NARROW = (
    "your test broke off{at} ({said}). What is handed in as `thread` is called as "
    "`threading.Thread` is, perhaps with `args` or a `name`: make it a subclass of that, and these "
    "come for free."
)
