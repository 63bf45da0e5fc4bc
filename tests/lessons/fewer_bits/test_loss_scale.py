"""Loss scales and float32 weights of models that compute in 16 bits."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.fewer_bits.algorithms.loss_scale import DynamicLossScale, MixedPrecision
from helpers.lessons.fewer_bits.algorithms.two_way import HalfRing

SGD = partial(torch.optim.SGD, lr=1.0)


def test_it_halves_at_an_overflow_and_doubles_after_good_steps() -> None:
    scale = DynamicLossScale(8.0, interval=3)
    seen = []
    for finite in (False, True, True, False, True, True, True, True, True, True, True):
        scale.update(finite)
        seen.append(scale.scale)
    assert seen == [4, 4, 4, 2, 2, 2, 4, 4, 4, 8, 8]
    assert scale.skipped == 2
    gradient = torch.tensor([16.0, 32.0])
    assert scale.unscale([gradient]) and gradient.tolist() == [2.0, 4.0]
    assert not scale.unscale([gradient, torch.tensor([float("inf")])])
    assert not scale.unscale([torch.tensor([float("nan")])])
    assert float(scale.scaled(torch.tensor(0.5))) == 4.0
    for wrong in ({"start": 0.0}, {"interval": 0}):
        with pytest.raises(ValueError, match="above 0"):
            DynamicLossScale(**wrong)  # type: ignore[arg-type]


def small(weight: float) -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, weight)
    return model


def test_small_updates_add_up_in_float32() -> None:
    """A thousandth of a unit in the last place of bf16, a thousand times."""
    model = small(1.0)
    training = MixedPrecision(model, SGD)
    assert model.weight.dtype == torch.bfloat16 and training.masters[0].dtype == torch.float32
    for _ in range(1000):
        training.backward(-(model(torch.full((1, 1), 2.0**-17, dtype=torch.bfloat16))).sum())
        assert training.step()
    assert float(model.weight.detach()) == pytest.approx(1 + 1000 * 2.0**-17, abs=2.0**-8)
    assert float(training.masters[0].detach()) == pytest.approx(1 + 1000 * 2.0**-17)


def trains(comm: Comm, start: float) -> tuple[list[bool], list[float], float]:
    """A step that overflows on rank 0 alone is skipped by all."""
    model = small(1.0)
    training = MixedPrecision(model, SGD, torch.float16, DynamicLossScale(start, interval=2))
    replica = DataParallel(model, comm, HalfRing(torch.float16))
    done, scales = [], []
    for step in range(6):
        large = 2.0**14 if comm.rank == 0 and step == 0 else 2.0**-10
        out = replica(torch.full((1, 1), large, dtype=torch.float16))
        training.backward((out.float() * 2.0**-4).sum())
        replica.finish()
        done.append(training.step())
        assert training.scale is not None
        scales.append(training.scale.scale)
    return done, scales, float(model.weight.detach())


@pytest.mark.parametrize("size", [1, 3])
def test_all_ranks_skip_the_same_step(engine: str, size: int) -> None:
    results = helpers.run(trains, 2.0**16, engine=engine, ranks=size, show=False)
    assert results[0][0] == [False, True, True, True, True, True]
    assert results[0][1] == [2.0**15, 2.0**15, 2.0**16, 2.0**16, 2.0**17, 2.0**17]
    assert all(each == results[0] for each in results)
    assert results[0][2] == pytest.approx(1 - 5 * 2.0**-14, abs=2.0**-12)
