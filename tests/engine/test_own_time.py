"""Own time: what processes compute, and how long they sleep, whatever else the machine does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from helpers.engine import own_time
from helpers.engine.own_time import (
    LOOK_SECONDS,
    Late,
    Limit,
    OwnTime,
    Seen,
    Undecided,
    descendants,
    of_others_here,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="It reads /proc, which is Linux's.")
ENDLESS = {
    "computes": ("while True: pass", "computed for 0.5 s"),
    "sleeps in a loop": (
        "import time\nwhile True: time.sleep(0.002)",
        "slept, or waited, for 0.5 s",
    ),
    "is stopped": ("import os; os.kill(os.getpid(), 19)", "slept, or waited, for 0.5 s"),
    "waits for a child that computes": (
        "import os\nif os.fork(): os.wait()\nwhile True: pass",
        "computed for 0.5 s",
    ),
    "waits for children that end one after the other": (
        "import os\nwhile True:\n  if os.fork(): os.wait()\n  else: sum(range(10**6)); os._exit(0)",
        "computed for 0.5 s",
    ),
}


@contextlib.contextmanager
def running(code: str) -> Iterator[OwnTime]:
    """A process that does this, and its time; it ends with all that it has started."""
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        yield OwnTime(lambda: descendants(process.pid))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def how_it_ends(limit: Limit) -> str:
    """What is said when the time is over."""
    with pytest.raises(Late) as ended:
        while True:
            limit.check()
            time.sleep(LOOK_SECONDS)
    assert not isinstance(ended.value, Undecided)
    return ended.value.how


@linux
@pytest.mark.real
@pytest.mark.parametrize(
    "what",
    [
        "computes",
        "sleeps in a loop",
        "waits for children that end one after the other",
        *(
            pytest.param(what, marks=pytest.mark.thorough)
            for what in ("is stopped", "waits for a child that computes")
        ),
    ],
)
def test_what_has_no_end_is_told_as_what_it_is(what: str) -> None:
    code, said = ENDLESS[what]
    with running(code) as own:
        assert how_it_ends(Limit(own, 0.5)) == said


@linux
@pytest.mark.real
def test_threads_of_ones_own_process_are_looked_at_by_another() -> None:
    goes_on = threading.Event()
    sleeper = threading.Thread(target=goes_on.wait)
    sleeper.start()
    own = of_others_here()
    while own.still < 3:
        own.look()
    goes_on.set()
    sleeper.join()


class Machine:
    """A machine that is looked at: what it shows, one look after the other, and its clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *looks: Seen, step: float = 0.1) -> None:
        self.looks, self.now, self.step = list(looks), 0.0, step
        monkeypatch.setattr(OwnTime, "_look", lambda own: self.looks.pop(0))
        monkeypatch.setattr(own_time.time, "monotonic", self.tick)

    def tick(self) -> float:
        self.now += self.step
        return self.now


MINUTE_LATE = [Seen(0.0, True)] * 3
WANTS_A_PROCESSOR = [Seen(1.0, False)] * 5
ENDS = [Seen(1.0, False), Seen(4.0, False), Seen(0.5, False), Seen(1.0, False)]


@pytest.mark.parametrize(
    ("looks", "step", "computed", "slept"),
    [
        (MINUTE_LATE, 60.0, 0.0, 4 * LOOK_SECONDS),  # counts no minute
        (WANTS_A_PROCESSOR, 0.1, 0.0, 0.0),
        (ENDS, 0.1, 3.5, 0.0),  # takes nothing of what was counted
    ],
)
def test_what_is_counted(
    looks: list[Seen], step: float, computed: float, slept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    Machine(monkeypatch, *looks, step=step)
    own = OwnTime(lambda: ())
    for _ in looks[1:]:
        own.look()
    assert (own.computed, own.slept) == (computed, pytest.approx(slept))


def test_the_last_patience_says_that_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    Machine(monkeypatch, *[Seen(0.0, False)] * 1000, step=1.0)
    limit = Limit(OwnTime(lambda: ()), 2.0)
    checks = 0
    with pytest.raises(Undecided):
        while True:
            limit.check()
            checks += 1
    assert checks > 10


def test_where_no_kernel_tells_who_sleeps_an_idle_machine_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for busy, slept in ((5.0, 0.1), (100.0, 0.0)):
        Machine(monkeypatch, Seen(1.0, None), Seen(1.0, None))
        monkeypatch.setattr(own_time.psutil, "cpu_percent", lambda busy=busy: busy)
        own = OwnTime(lambda: ())
        own.look()
        assert own.slept == pytest.approx(slept)


@linux
def test_threads_that_come_and_go_hide_no_process() -> None:
    """Whoever is missed for one look would have all of his time counted once more in the next."""
    end = threading.Event()

    def come_and_go() -> None:
        while not end.is_set():
            some = [threading.Thread(target=int) for _ in range(4)]
            for each in some:
                each.start()
            for each in some:
                each.join()

    threads = [threading.Thread(target=come_and_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    own, begun = OwnTime(lambda: descendants(os.getpid())), time.process_time()
    try:
        missed = sum(os.getpid() not in descendants(os.getpid()) for _ in range(2000))
        own.look()
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert missed == 0
    assert own.computed <= time.process_time() - begun + 0.1
