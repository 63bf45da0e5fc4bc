"""The processes of a submission when cells end or stall them, without any sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.grade.judge import session
from helpers.grade.judge.budgets import BUDGETS


class Told:
    """Stands for a sandbox, and for the connection to its child."""

    child = None

    def prepare(self) -> None:
        pass

    def fork(self) -> None:
        pass

    def end(self, child: Any) -> None:
        pass


Fates = list[tuple[session.Fate | None, tuple[int, int] | None]]


@pytest.mark.parametrize(
    ("fates", "states"),
    [
        ([(None, None)], {}),
        ([("crashed", (3, 1)), (None, None)], {}),  # that statement is skipped
        ([("time-out", (3, 1)), ("crashed", (4, 1)), (None, None)], {}),
        ([("crashed", (3, 1)), ("crashed", (3, 1))], {"scatter": "crashed"}),
        ([("time-out", None)], {"scatter": "time-out"}),  # while the cells were read
        ([("not judged", (3, 1))], {"scatter": "not judged"}),
        ([("crashed", (n, 1)) for n in range(6)], {"scatter": "crashed"}),  # five restarts
    ],
)
def test_a_cell_that_ends_the_process_is_skipped_in_the_next_one(
    fates: Fates, states: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "Channel", lambda child: Told())
    made = session.Session([Told()], ["pass"], ["scatter"], BUDGETS)  # type: ignore[list-item]
    to_come = iter(fates)

    def tell(channels: Any) -> session.Fate | None:
        fate, made._at = next(to_come)
        return fate

    monkeypatch.setattr(made, "_tell_cells", tell)
    assert bool(made.channels(1)) == (not states)
    assert not list(to_come)
    assert {name: state.what for name, state in made._states.items()} == states
    assert made.undecided == (states.get("scatter") == "not judged")
    assert made.crashes == sum(fate is not None for fate, _ in fates)
