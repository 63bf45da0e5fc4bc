"""Sharded training against the same training on one big batch, without ranks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from training import ROWS, Plain, Tied, batch

import helpers
from helpers.engine.comm import Comm
from helpers.engine.errors import RankFailed
from helpers.lessons.data_parallel.algorithms.data_parallel import rows_of
from helpers.lessons.sharding.algorithms.sharding import Sharded
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

STEPS, SIZES, STAGES = 5, [1, 2, 3, 5], [1, 2, 3]
MOMENTUM = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
ADAM = partial(torch.optim.Adam, lr=0.01)


class Partly(nn.Sequential):
    """Units of every kind: frozen alone, frozen beside trained, trained alone, without any."""

    def __init__(self) -> None:
        super().__init__(
            nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 5)),
            nn.Tanh(),
            nn.Linear(5, 5),
            nn.Sequential(nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 4)),
            nn.Linear(4, 3),
        )
        self.double()
        self[2].requires_grad_(False)
        self[3][0].requires_grad_(False)
        self[0][2].weight.requires_grad_(False)


class Again(nn.Module):
    """A unit that forward comes to twice, and a parameter of the model itself."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.last = nn.Linear(6, 6), nn.Linear(6, 3)
        self.scale = nn.Parameter(torch.rand(6))
        self.double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.inner(x)) * self.scale
        return torch.as_tensor(self.last(torch.tanh(self.inner(x))))


def small_transformer(tied: bool) -> nn.Sequential:
    model = transformer(11, 8, 2, 2, 5, tied=tied, dtype=torch.float64, seed=None)
    model[1].mlp.down.requires_grad_(False)
    return model


def tokens(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    return text(7, 5, 11, seed=step)


CASES = {
    "plain": (Plain, batch, nn.functional.cross_entropy),
    "tied": (Tied, batch, nn.functional.cross_entropy),
    "partly frozen": (Partly, batch, nn.functional.cross_entropy),
    "twice": (Again, batch, nn.functional.cross_entropy),
    "transformer": (partial(small_transformer, False), tokens, token_loss),
    "tied transformer": (partial(small_transformer, True), tokens, token_loss),
}


Steps = list[tuple[float, dict[str, torch.Tensor]]]  # for each step the loss and the weights after


def serial(case: str, optimizer: Callable) -> Steps:
    """Without ranks."""
    make, data, loss_of = CASES[case]
    torch.manual_seed(0)
    model = make()
    updates, seen = optimizer([p for p in model.parameters() if p.requires_grad]), []
    for step in range(STEPS):
        x, y = data(step)
        updates.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        updates.step()
        seen.append((loss.item(), {n: v.clone() for n, v in model.state_dict().items()}))
    return seen


def parallel(comm: Comm, case: str, stages: dict[int, Callable]) -> list[Steps]:
    """The same on ranks, each seeded differently, each with its rows, in some stages."""
    return [train(comm, case, optimizer, stage) for stage, optimizer in stages.items()]


def train(comm: Comm, case: str, optimizer: Callable, stage: int, **options: bool) -> Steps:
    make, data, loss_of = CASES[case]
    torch.manual_seed(100 + comm.rank if comm.rank else 0)
    model = Sharded(make(), comm, optimizer, stage, **options)
    seen = []
    for step in range(STEPS):
        x, y = data(step)
        rows = rows_of(x, comm.rank, comm.size)
        model.weight = len(rows) / len(x)
        model.zero_grad()
        loss = loss_of(model(rows), rows_of(y, comm.rank, comm.size))
        loss.backward()
        model.step()
        seen.append((loss.item() * model.weight, model.full_state()))
    return seen


def assert_equal(ranks: list[Steps], expected: Steps) -> None:
    close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-10)
    for step, (loss, state) in enumerate(expected):
        close(sum(found[step][0] for found in ranks), loss)
        for found in ranks:
            assert found[step][1].keys() == state.keys()
            for name, value in state.items():
                close(found[step][1][name], value, msg=lambda m, n=name: f"{n}: {m}")
                assert torch.equal(found[step][1][name], ranks[0][step][1][name])


@pytest.mark.parametrize(
    ("case", "size"),
    [
        *(("tied transformer", size) for size in SIZES),
        *(("plain", 2), ("tied", 3), ("partly frozen", 5), ("twice", 3), ("transformer", 2)),
    ],
)
def test_equal_to_one_big_batch(engine, case, size):
    equal_to_one_big_batch(engine, case, size)


@pytest.mark.real
def test_equal_on_processes():
    equal_to_one_big_batch("processes", "partly frozen", 3)


def equal_to_one_big_batch(engine, case, size):
    stages = {stage: ADAM if (size + stage) % 2 else MOMENTUM for stage in STAGES}
    results = helpers.run(parallel, case, stages, ranks=size, engine=engine)
    for number, optimizer in enumerate(stages.values()):
        assert_equal([found[number] for found in results], serial(case, optimizer))


def test_without_prefetch_the_numbers_are_the_same():
    case = "partly frozen"
    job = partial(train, case=case, optimizer=ADAM, stage=3, prefetch=False)
    assert_equal(helpers.run(job, ranks=3, engine="virtual"), serial(case, ADAM))


def test_gradients_of_several_backwards_add_up(engine):
    def job(comm: Comm) -> list:
        found = []
        for stage in STAGES:
            torch.manual_seed(comm.rank)
            model = Sharded(Tied(), comm, MOMENTUM, stage)
            for half in (slice(0, 11), slice(11, ROWS)):
                x, y = (rows_of(t[half], comm.rank, comm.size) for t in batch(0))
                nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
            model.step()
            found.append(model.full_state())
        return found

    torch.manual_seed(0)
    model = Tied()
    updates = MOMENTUM([p for p in model.parameters() if p.requires_grad])
    x, y = batch(0)
    (nn.functional.cross_entropy(model(x), y, reduction="sum") / 3).backward()
    updates.step()
    for stages in helpers.run(job, ranks=3, engine=engine):
        for state in stages:
            for name, value in model.state_dict().items():
                torch.testing.assert_close(state[name], value, rtol=1e-12, atol=1e-12)


class Recomputed(nn.Module):
    """A layer whose forward is computed once more in backward."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(checkpoint(self.inner, x, use_reentrant=False))


def test_forward_without_gradients_and_again_inside_backward():
    """Evaluation frees what it gathers; recomputing a unit's forward does not free too early."""

    def job(comm: Comm) -> None:
        x, y = batch(0)
        torch.manual_seed(0)
        dense = Plain()
        torch.manual_seed(0)
        layers = list(Plain())
        model = nn.Sequential(*layers[:2], Recomputed(layers[2]), *layers[3:])
        sharded = Sharded(model, comm, MOMENTUM)
        with torch.no_grad():
            assert torch.equal(sharded(x), dense(x))
        assert sharded.bytes().passing == 0
        updates = MOMENTUM(dense.parameters())
        nn.functional.cross_entropy(sharded(x), y).backward()
        nn.functional.cross_entropy(dense(x), y).backward()
        with torch.no_grad():  # between backward and step
            assert torch.allclose(sharded(x), dense(x), rtol=1e-12, atol=1e-12)
        sharded.step()
        updates.step()
        for one, other in zip(sharded.full_state().values(), dense.parameters(), strict=True):
            torch.testing.assert_close(one, other.detach(), rtol=1e-12, atol=1e-12)

    helpers.run(job, ranks=2, engine="virtual")


def test_a_stage_that_there_is_not():
    with pytest.raises(RankFailed, match="stage 4"):
        helpers.run(lambda comm: Sharded(Plain(), comm, ADAM, 4), ranks=1, engine="virtual")
