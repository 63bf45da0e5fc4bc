"""How long a run is waited for: not a second for what the machine kept from its processes."""

from __future__ import annotations

import pytest

import helpers
from helpers.engine import own_time
from helpers.engine.errors import RunTimeout
from helpers.engine.own_time import OwnTime, Seen


@pytest.mark.parametrize("engine", ["virtual", "processes"])
def test_what_has_no_end_is_ended(engine: str) -> None:
    def hangs(comm: object) -> None:
        while True:
            pass

    with pytest.raises(RunTimeout, match=r"After 0\.5 s"):
        helpers.run(hangs, ranks=1, engine=engine, timeout=0.5)


@pytest.mark.parametrize(
    ("step", "computes", "awake", "taken"),
    [
        (0.2, 0.2, 1, 2.0),  # nobody wants more than there is: the wall clock
        (0.2, 0.0, 0, 2.0),  # all sleep
        (0.2, 0.05, 1, 0.5),  # three quarters of the time somebody else has it
        (0.2, 0.0, 1, 0.0),  # always
        (0.2, 0.4, 2, 2.0),  # a core for each
        (0.2, 0.4, 8, 2.0),  # eight take turns, and nobody else does
        (0.2, 0.2, 8, 1.0),  # half of the machine is somebody else's
        (60.0, 0.0, 0, 2.0),  # all of it is stopped for a minute at a time
    ],
)
def test_what_the_machine_keeps_from_a_run_is_not_the_runs(
    monkeypatch: pytest.MonkeyPatch, step: float, computes: float, awake: int, taken: float
) -> None:
    now = seconds = 0.0
    monkeypatch.setattr(own_time, "_CORES", 2)
    monkeypatch.setattr(own_time.time, "monotonic", lambda: now)
    monkeypatch.setattr(OwnTime, "_look", lambda own: Seen(seconds, not awake, True, awake))
    own = OwnTime(lambda: ())
    for _ in range(10):
        now, seconds = now + step, seconds + computes
        own.look_if_due()
    assert own.taken == pytest.approx(taken)
