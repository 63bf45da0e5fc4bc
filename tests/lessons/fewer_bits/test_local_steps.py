"""Local steps: the old supervisor, DiLoCo and its streaming form, beside training without ranks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import helpers
from helpers.engine.comm import Comm
from helpers.engine.errors import RankFailed
from helpers.lessons.fewer_bits.algorithms.local_steps import LocalSteps
from helpers.lessons.messages.algorithms.collectives import ring_bytes
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd

SIZES = [1, 2, 3, 5]
STEPS = 12


def batch(step: int, rank: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    return x, x.sum(1, keepdim=True).sin()


def net() -> nn.Module:
    torch.manual_seed(3)
    double = torch.float64
    return nn.Sequential(nn.Linear(4, 5, dtype=double), nn.Tanh(), nn.Linear(5, 1, dtype=double))


def flat(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def trains(comm: Comm, interval: int, outer: Any, steps: int = STEPS, options: Any = None) -> Any:
    model = net()
    if comm.rank:  # it is rank 0's weights that training starts from
        nn.init.ones_(model[0].weight)  # type: ignore[index, arg-type]
    training = LocalSteps(model, comm, interval, outer, **(options or {}))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for step in range(steps):
        x, y = batch(step, comm.rank)
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()
        training.step()
        comm.compute(1e-3)
        seen.append(flat(model))
    training.finish()
    return flat(model), seen, comm.time()


def by_hand(ranks: int, interval: int, outer: Any, steps: int = STEPS) -> Tensor:
    """Without ranks: one model after the other, weights as one flat vector."""
    common, model = flat(net()), net()
    for first in range(0, steps, interval):
        ends = []
        for rank in range(ranks):
            nn.utils.vector_to_parameters(common.clone(), model.parameters())
            for step in range(first, min(first + interval, steps)):
                x, y = batch(step, rank)
                model.zero_grad()
                (model(x) - y).square().mean().backward()
                with torch.no_grad():
                    for p in model.parameters():
                        p -= 0.1 * p.grad
            ends.append(flat(model))
        common = outer.step(common, common - sum(ends) / ranks, first // interval)
    return common


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("interval", [1, 5])
def test_it_is_the_same_training_without_ranks(engine: str, size: int, interval: int) -> None:
    for make in (lambda: Sgd(1.0), lambda: Sgd(0.7, 0.9, nesterov=True)):
        run = helpers.run(trains, interval, make(), engine=engine, ranks=size, show=False)
        wanted = by_hand(size, interval, make())
        for got, _, _ in run:
            assert torch.equal(got, run[0][0])
            torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("size", "interval"), [(2, 1), (3, 5)])
def test_ranks_agree_after_one_sum_an_interval(size: int, interval: int) -> None:
    start = helpers.run(trains, interval, None, 0, engine="virtual", ranks=size).stats.bytes
    run = helpers.run(trains, interval, None, engine="virtual", ranks=size)
    for step in range(STEPS):
        equal = torch.equal(run[0][1][step], run[1][1][step])
        assert equal == ((step + 1) % interval == 0)
    sums = -(-STEPS // interval)  # a last one for the steps that are over
    for rank, (sent, first) in enumerate(zip(run.stats.bytes, start, strict=True)):
        assert sent - first == sums * ring_bytes(len(flat(net())), size, rank, 8)


def test_parts_take_turns_and_each_is_summed_as_often() -> None:
    def differ(one: Tensor, other: Tensor) -> list[bool]:
        """Whether the weights and biases of each layer differ."""
        return [
            not torch.equal(a, b) for a, b in zip(one.split(cut), other.split(cut), strict=True)
        ]

    cut = [20 + 5, 5 + 1]
    run = helpers.run(trains, 4, None, STEPS, {"parts": 2}, engine="virtual", ranks=2)
    for step in range(STEPS):
        first, second = differ(run[0][1][step], run[1][1][step])
        assert first == (step % 4 != 1) and second == (step % 4 != 3)
    assert torch.equal(run[0][0], run[1][0])


def test_a_delayed_sum_hides_behind_the_steps() -> None:
    """A sum that takes as long as two steps costs nothing where it may take two."""
    links = {"engine": "virtual", "ranks": 2, "latency": 1e-3, "bandwidth": 1e9}
    alone, waits, hides = (
        helpers.run(trains, 6, Sgd(1.0), STEPS, {"delay": delay, "parts": parts}, **links)  # type: ignore[arg-type]
        for delay, parts in ((0, 1), (0, 2), (3, 2))
    )
    start = helpers.run(trains, 6, Sgd(1.0), 0, **links)  # type: ignore[arg-type]
    seconds = {n: r[0][2] - start[0][2] for n, r in (("alone", alone), ("hides", hides))}
    assert seconds["alone"] > STEPS * 1e-3 + 4e-3 - 1e-9
    assert seconds["hides"] < seconds["alone"]
    assert waits[0][2] > hides[0][2]
    for options, words in (({"parts": 9}, "take turns"), ({"delay": 4}, "below the interval")):
        with pytest.raises(RankFailed, match=words):
            helpers.run(trains, 4, None, STEPS, options, **links)  # type: ignore[arg-type]
