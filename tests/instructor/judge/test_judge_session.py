"""The processes of a submission when the machine stands still, without any sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.instructor.judge import session
from helpers.instructor.judge.budgets import BUDGETS


class Told:
    """Stands for a sandbox, and for the connection to its child."""

    child = None

    def prepare(self) -> None:
        pass

    def fork(self) -> None:
        pass

    def end(self, child: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("fates", "run"),
    [
        ([None, None], True),
        ([None, "time-out", None], True),  # it may have been the machine
        ([None, "time-out", "time-out"], False),
        ([None, "crashed"], False),
        (["time-out", "time-out"], False),  # they never were quick
    ],
)
def test_cells_that_were_quick_before_get_a_second_try(
    fates: list[Any], run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "Channel", lambda child: Told())
    made = session.Session([Told()], ["pass"], ["scatter"], BUDGETS)  # type: ignore[list-item]
    to_come = iter(fates)
    monkeypatch.setattr(made, "_tell_cells", lambda channels: next(to_come))
    made.channels(1)
    made.close()
    assert bool(made.channels(1)) == run
    assert not list(to_come)
