"""Wrong promotions, counted by hand."""

from __future__ import annotations

import pytest

from helpers.lessons.search.algorithms.promotions import Promotions, wrong_promotions


def test_who_would_not_have_gone_on_is_counted() -> None:
    early = [{0: 0.9, 1: 0.5, 2: 0.8, 3: 0.2}, {1: 0.4, 0: 0.6, 3: 0.1}, {1: 0.3}]
    patient = [{0: 0.9, 1: 0.5, 2: 0.8, 3: 0.2}, {1: 0.4, 3: 0.1}, {3: 0.05}]
    found = wrong_promotions(early, patient)
    assert found == [Promotions(3, 1), Promotions(1, 1)]
    assert [each.share for each in found] == [pytest.approx(1 / 3), 1.0]


def test_nothing_is_wrong_where_nothing_is_early() -> None:
    losses = [{0: 0.9, 1: 0.5}, {1: 0.4}, {}]
    found = wrong_promotions(losses, losses)
    assert found == [Promotions(1, 0), Promotions(0, 0)] and found[1].share == 0.0
    with pytest.raises(ValueError, match="the same rungs, not 3 and 1"):
        wrong_promotions(losses, losses[:1])
