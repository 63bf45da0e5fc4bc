"""How long a run is waited for: not a second for what the machine kept from its processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import helpers
from helpers.engine import waiting
from helpers.engine.errors import RunTimeout
from helpers.engine.waiting import Patience, Seen


@pytest.mark.parametrize("engine", ["virtual", "processes"])
def test_what_has_no_end_is_ended(engine: str) -> None:
    def hangs(comm: object) -> None:
        while True:
            pass

    with pytest.raises(RunTimeout, match=r"After 0\.5 s"):
        helpers.run(hangs, ranks=1, engine=engine, timeout=0.5)


class Machine:
    """A clock that moves by a step at each look, and one thread that somebody looks at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: float) -> None:
        self.now, self.step = 0.0, step
        self.threads = {"7": Seen(0.0, 0.0, False)}
        monkeypatch.setattr(waiting, "_CORES", 2)
        monkeypatch.setattr(waiting.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(waiting, "_threads", lambda pids: dict(self.threads))

    def left(self, looks: int, change: Callable[[dict[str, Seen]], object]) -> float:
        """What is left of ten seconds after so many looks, before each of which this happens."""
        waits = Patience(10.0, lambda: ())
        for _ in range(looks):
            self.now += self.step
            change(self.threads)
            left = waits.left
        return left


def moves(ran: float = 0.0, waited: float = 0.0, queues: bool = False, count: int = 1) -> Any:
    """Threads that have so much more behind them at each look."""

    def change(threads: dict[str, Seen]) -> None:
        for name in map(str, range(count)):
            before = threads.get(name, Seen(0.0, 0.0, False))
            threads[name] = Seen(before.ran + ran, before.waited + waited, queues)

    return change


@pytest.mark.parametrize(
    ("step", "change", "left"),
    [
        (0.2, moves(), 8.0),  # nobody wants more than there is: the wall clock
        (0.2, moves(waited=0.15), 9.5),  # three quarters of the time somebody else has it
        (0.2, moves(waited=0.2), 10.0),  # always
        (0.2, moves(queues=True), 9.8),  # and its turn has not come since the first look
        (0.2, moves(waited=2.0), 10.0),  # it came after long: no more than there was
        (0.2, moves(0.2, count=2), 8.0),  # a core for each
        (0.2, moves(0.05, 0.15, True, count=8), 8.0),  # eight take turns, and nobody else does
        (0.2, moves(0.025, 0.175, True, count=8), 9.0),  # half of the machine is somebody else's
        (60.0, moves(), -1.0),  # all of it is stopped for a minute at a time
    ],
)
def test_what_the_machine_keeps_from_a_run_is_not_the_runs(
    monkeypatch: pytest.MonkeyPatch, step: float, change: Any, left: float
) -> None:
    assert Machine(monkeypatch, step).left(10, change) == pytest.approx(left)
