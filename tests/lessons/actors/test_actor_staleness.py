"""The formula of the mean age, by hand; tests of the clock hold it against counting."""

from __future__ import annotations

import pytest

from helpers.lessons.actors.algorithms.staleness import mean_staleness


def test_some_by_hand() -> None:
    assert mean_staleness(1) == 1  # its own rollout is in flight while the one before is learned
    assert mean_staleness(8) == 8
    assert mean_staleness(8, queued=4) == 12
    assert mean_staleness(8, batch=4) == 2
    assert mean_staleness(8, fetch_every=5) == 8 + 8 * (0 + 1 + 2 + 3 + 4) / 5


@pytest.mark.parametrize(
    "wrong", [{"actors": 0}, {"actors": 1, "batch": 0}, {"actors": 1, "queued": -1}]
)
def test_what_no_run_has_is_told(wrong: dict) -> None:
    with pytest.raises(ValueError, match="give 1 or more"):
        mean_staleness(**wrong)
