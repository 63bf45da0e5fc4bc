"""A search over ranks, on every engine."""

from __future__ import annotations

import pytest

import helpers
from helpers.engine.errors import RankFailed
from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving
from helpers.lessons.search.experiments import search_clock
from helpers.lessons.search.experiments.search_models import Models, Synthetic, split
from helpers.lessons.search.experiments.search_ranks import search_ranks


@pytest.mark.parametrize(("engine", "ranks"), [("virtual", 2), ("virtual", 5), ("processes", 3)])
def test_synchronous_halving_comes_out_as_alone(engine: str, ranks: int) -> None:
    models, alone = Models(), SuccessiveHalving(9, 5, 15)
    search_clock.on_clock(alone, [1.0], models.loss, alone.resources)
    search = SuccessiveHalving(9, 5, 15)
    found, *others = helpers.run(search_ranks, search, models.train, ranks=ranks, engine=engine)
    assert found.losses == alone.losses and others == [None] * (ranks - 1)
    assert len({report.job for report in found.reports}) == len(found.reports) == 12
    assert {report.worker for report in found.reports} <= set(range(1, ranks))
    best = min(found.losses[1])
    assert models.judged(best, found.states[best], split(0).valid) == found.losses[1][best]


def test_the_virtual_clock_decides_the_same_every_time() -> None:
    def once() -> list[object]:
        search, train = Asha(20, 1, 9), Synthetic(2, 0.5).train
        found = helpers.run(search_ranks, search, train, ranks=4, engine="virtual")[0]
        return [(report.worker, report.job) for report in found.reports]

    assert once() == once()


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(RankFailed, match="A search over ranks takes 2 or more"):
        helpers.run(search_ranks, Asha(3, 1, 3), Synthetic().train, ranks=1, engine="virtual")
