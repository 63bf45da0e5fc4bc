"""What saving costs is measured in every way; no time is held against anything."""

from __future__ import annotations

import math

import pytest

from helpers.lessons.cluster.experiments.checkpoint_hidden import (
    WAYS,
    Cost,
    costs,
    hidden,
    hidden_words,
)
from helpers.lessons.cluster.experiments.checkpoint_training import Setting

SMALL = Setting(steps=4, every=2, hidden=(12,), keep=1)


@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.parametrize("rate", [5e6, None])
def test_every_way_is_measured(rate: float | None) -> None:
    found = costs(setting=SMALL, rate=rate)
    assert list(found) == list(WAYS)
    for way, (each,) in found.items():
        assert each.every == 2 and each.nbytes > 0, way
        assert min(each.quiet, each.step, each.waited) > 0


def test_a_share_is_of_what_saving_adds() -> None:
    def steps(*seconds: float) -> list[Cost]:
        return [Cost(1.0, each, 0.0, 4, 1) for each in seconds]

    found = {"blocking": steps(3.0, 3.0, 9.0), "in the background": steps(1.5)}
    assert found["blocking"][0].added == 8.0
    assert hidden(found, "in the background") == 0.75
    assert hidden(found, "blocking") == 0.0
    assert math.isnan(hidden({**found, "blocking": steps(0.5)}, "in the background"))
    said = {
        way: hidden_words({**found, "blocking": steps(1.5), "other": steps(each)}, "other")
        for way, each in (("half", 1.25), ("more than all", 0.9), ("less than nothing", 1.6))
    }
    assert list(said.values()) == ["50 %", "100 %", "nothing"]
    assert hidden_words({**found, "blocking": steps(0.5)}, "in the background").startswith("an unk")
