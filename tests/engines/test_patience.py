"""How long a run is waited for: not a second for what the machine kept from its processes."""

from __future__ import annotations

import pytest

import helpers
from helpers.engines import patience
from helpers.engines.errors import RunTimeout
from helpers.engines.patience import Patience

pytestmark = pytest.mark.real


@pytest.mark.parametrize("engine", ["virtual", pytest.param("processes", marks=pytest.mark.real)])
def test_what_has_no_end_is_ended(engine: str) -> None:
    def hangs(comm: object) -> None:
        while True:
            pass

    with pytest.raises(RunTimeout, match=r"After 0\.5 s"):
        helpers.run(hangs, ranks=1, engine=engine, timeout=0.5)


class Machine:
    """A clock that moves by a step at each look, and how long a thread has waited for its turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: float, held: float) -> None:
        self.now, self.waited, self.step, self.held = 0.0, 0.0, step, held
        monkeypatch.setattr(patience.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(patience, "_waited", lambda pids: {"7": self.waited})

    def left(self, seconds: float, looks: int) -> float:
        """What is left of so many seconds after so many looks."""
        waits = Patience(seconds, lambda: ())
        for _ in range(looks):
            self.now += self.step
            self.waited += self.held
            left = waits.left
        return left


@pytest.mark.parametrize(
    ("step", "held", "left"),
    [
        (0.2, 0.0, 8.0),  # nobody wants more than there is: the wall clock
        (0.2, 0.15, 9.5),  # three quarters of the time somebody else has the processor
        (0.2, 0.2, 10.0),  # always
        (60.0, 0.0, -1.0),  # all of it is stopped for a minute at a time
    ],
)
def test_what_the_machine_keeps_from_a_run_is_not_the_runs(
    monkeypatch: pytest.MonkeyPatch, step: float, held: float, left: float
) -> None:
    assert Machine(monkeypatch, step, held).left(10.0, 10) == pytest.approx(left)
