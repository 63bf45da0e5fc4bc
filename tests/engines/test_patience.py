"""Time-outs that one setting lengthens, for machines that many share."""

from __future__ import annotations

import pytest

import helpers
from helpers.engines.errors import RunTimeout
from helpers.engines.patience import PATIENCE
from helpers.exercises.observe import observe
from helpers.exercises.spec import Case, Observation

pytestmark = pytest.mark.real


@pytest.mark.parametrize("engine", ["virtual", "processes"])
def test_a_run_is_waited_for_as_long_as_the_setting_says(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs(comm: object) -> None:
        while True:
            pass

    monkeypatch.setenv(PATIENCE, "4")
    with pytest.raises(RunTimeout, match="After 2 s"):
        helpers.run(hangs, ranks=1, engine=engine, timeout=0.5)


def test_a_case_is_waited_for_likewise(monkeypatch: pytest.MonkeyPatch) -> None:
    def drive(fn: object, case: Case) -> Observation:
        helpers.run(lambda comm: comm.compute(0.4), ranks=1)
        return Observation()

    found = [observe(drive, print, [Case("a", ())], 0.1)[-1].trouble]
    monkeypatch.setenv(PATIENCE, "100")
    found.append(observe(drive, print, [Case("a", ())], 0.1)[-1].trouble)
    assert found == ["timeout", ""]
