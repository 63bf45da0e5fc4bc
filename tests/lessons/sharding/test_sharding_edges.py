"""What is done to a sharded model past `Sharded`: equal to plain torch, or told in a sentence."""

from __future__ import annotations

import pytest
import torch
from sharding_cases import (
    CASES,
    REFUSED,
    Alone,
    OnRanks,
    Trainer,
)
from torch import Tensor

import helpers
from helpers.engine.comm import Comm

SIZES = [1, 3]  # what is usual is compared on more ranks in test_sharding.py


def result(trainer: Trainer) -> dict[str, Tensor]:
    norms = getattr(trainer, "norms", torch.zeros(0))
    return {n: v.detach().clone() for n, v in trainer.full_state().items()} | {"norms": norms}


def on_ranks(comm: Comm) -> dict[tuple[str, int], dict[str, Tensor]]:
    found = {}
    for case, (make, act, stages) in CASES.items():
        for stage in stages:
            torch.manual_seed(comm.rank)
            trainer = OnRanks(make(), comm, stage)
            act(trainer)
            found[case, stage] = result(trainer)
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_equal_to_plain_torch(engine, size):
    results = helpers.run(on_ranks, ranks=size, engine=engine)
    for case, (make, act, stages) in CASES.items():
        torch.manual_seed(0)
        alone = Alone(make())
        act(alone)
        expected = result(alone)
        for found, stage in ((found, stage) for found in results for stage in stages):
            state = found[case, stage]
            assert state.keys() == expected.keys()
            for name, value in expected.items():
                torch.testing.assert_close(
                    state[name], value, rtol=1e-10, atol=1e-10,
                    msg=lambda m, at=(case, stage, name): f"{at}: {m}",
                )  # fmt: skip


def refused(comm: Comm) -> dict[tuple[str, int], str]:
    said = {}
    for case, (make, act, stages, _) in REFUSED.items():
        for stage in stages:
            try:
                act(OnRanks(make(), comm, stage))
            except RuntimeError as error:
                said[case, stage] = str(error)
    return said


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_what_cannot_be_right_is_refused(engine):
    for said in helpers.run(refused, ranks=2, engine=engine):
        for case, (_, _, stages, words) in REFUSED.items():
            for stage in stages:
                assert words in said.get((case, stage), "nothing"), (case, stage)
