"""Sharded training against the same training on one big batch, without ranks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn
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


class AllTied(Tied):
    """With no layer that is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.requires_grad_(True)


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


def small_transformer() -> nn.Sequential:
    return transformer(11, 8, 2, 2, 5, tied=True, dtype=torch.float64, seed=None)


def tokens(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    return text(7, 5, 11, seed=step)


CASES = {
    "tied": (AllTied, batch, nn.functional.cross_entropy),
    "twice": (Again, batch, nn.functional.cross_entropy),
    "transformer": (small_transformer, tokens, token_loss),
}


def serial(case: str, optimizer: Callable) -> list:
    """Without ranks: the loss of each step; at the end the weights."""
    make, data, loss_of = CASES[case]
    torch.manual_seed(0)
    model = make()
    updates, seen = optimizer([p for p in model.parameters() if p.requires_grad]), []
    for step in range(STEPS):
        x, y = data(step)
        updates.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        seen.append(loss.item())
        updates.step()
    return [*seen, {n: v.detach() for n, v in model.state_dict().items()}]


def parallel(comm: Comm, case: str, stages: dict[int, Callable]) -> list:
    """The same on ranks, each seeded differently, each with its rows, in some stages."""
    return [train(comm, case, optimizer, stage) for stage, optimizer in stages.items()]


def train(comm: Comm, case: str, optimizer: Callable, stage: int, **options: bool) -> list:
    make, data, loss_of = CASES[case]
    torch.manual_seed(100 + comm.rank if comm.rank else 0)
    model = Sharded(make(), comm, optimizer, stage, **options)
    seen = []
    for step in range(STEPS):
        x, y = data(step)
        rows = rows_of(x, comm.rank, comm.size)
        model.weight = len(rows) / len(x)
        (model if step % 2 else model.model).zero_grad()
        loss = loss_of(model(rows), rows_of(y, comm.rank, comm.size))
        loss.backward()
        seen.append(loss.item() * model.weight)
        model.step()
    return [*seen, model.full_state()]


def assert_equal(results: list, expected: list) -> None:
    close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-10)
    *steps, state = expected
    for step, loss in enumerate(steps):
        close(sum(found[step] for found in results), loss)
    for found in results:
        assert found[-1].keys() == state.keys()
        for name, value in state.items():
            close(found[-1][name], value, msg=lambda m, n=name: f"{n}: {m}")
            assert torch.equal(found[-1][name], results[0][-1][name])


@pytest.mark.parametrize(
    ("engine", "case", "size"),
    [
        *(("virtual", "transformer", size) for size in SIZES),
        *(("virtual", "tied", 3), ("virtual", "twice", 5)),
        pytest.param("processes", "tied", 3, marks=pytest.mark.real),
        pytest.param("processes", "twice", 2, marks=[pytest.mark.real, pytest.mark.thorough]),
    ],
)
def test_equal_to_one_big_batch(engine, case, size):
    stages = {stage: ADAM if (size + stage) % 2 else MOMENTUM for stage in STAGES}
    results = helpers.run(parallel, case, stages, ranks=size, engine=engine)
    for number, optimizer in enumerate(stages.values()):
        assert_equal([found[number] for found in results], serial(case, optimizer))


def test_without_prefetch_the_numbers_are_the_same():
    job = partial(train, case="transformer", optimizer=ADAM, stage=3, prefetch=False)
    assert_equal(helpers.run(job, ranks=3, engine="virtual"), serial("transformer", ADAM))


def test_gradients_of_several_backwards_add_up(engine):
    def job(comm: Comm) -> list:
        found = []
        for stage in STAGES:
            torch.manual_seed(comm.rank)
            model = Sharded(AllTied(), comm, MOMENTUM, stage)
            for half in (slice(0, 11), slice(11, ROWS)):
                x, y = (rows_of(t[half], comm.rank, comm.size) for t in batch(0))
                nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
            model.step()
            found.append(model.full_state())
        return found

    torch.manual_seed(0)
    model = AllTied()
    updates = MOMENTUM([p for p in model.parameters() if p.requires_grad])
    x, y = batch(0)
    (nn.functional.cross_entropy(model(x), y, reduction="sum") / 3).backward()
    updates.step()
    for stages in helpers.run(job, ranks=3, engine=engine):
        for state in stages:
            for name, value in model.state_dict().items():
                torch.testing.assert_close(state[name], value, rtol=1e-12, atol=1e-12)


def test_forward_without_gradients_and_again_inside_backward():
    """Evaluation frees what it gathers; recomputing a unit's forward does not free too early."""
    from torch.utils.checkpoint import checkpoint

    class Recomputed(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(checkpoint(self.inner, x, use_reentrant=False))

    def job(comm: Comm) -> tuple:
        x, y = batch(0)
        torch.manual_seed(0)
        dense = Plain()
        torch.manual_seed(0)
        layers = list(Plain())
        model = nn.Sequential(*layers[:2], Recomputed(layers[2]), *layers[3:])
        sharded = Sharded(model, comm, MOMENTUM)
        with torch.no_grad():
            seen = sharded(x) - dense(x)
        passing = sharded.bytes().passing
        nn.functional.cross_entropy(sharded(x), y).backward()
        nn.functional.cross_entropy(dense(x), y).backward()
        sharded.step()
        updates = MOMENTUM(dense.parameters())
        updates.step()
        pairs = zip(dense.parameters(), sharded.full_state().values(), strict=True)
        return seen.abs().max(), passing, max((a - b).abs().max() for a, b in pairs)

    for seen, passing, wrong in helpers.run(job, ranks=2, engine="virtual"):
        assert (seen, passing) == (0, 0)
        assert wrong < 1e-12


def test_bad_arguments_are_told():
    def job(comm: Comm, stage: int, frozen: bool) -> None:
        model = Plain()
        model[0].requires_grad_(not frozen)
        Sharded(model, comm, ADAM, stage)

    for stage, frozen, words in ((4, False, "stage 4"), (1, True, "is frozen")):
        with pytest.raises(RankFailed, match=words):
            helpers.run(job, stage, frozen, ranks=1, engine="virtual")


def test_what_backward_reaches_past_a_unit_is_told():
    class Hidden(nn.Linear):
        """Keeps what the loss needs, and returns nothing of it."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.made = super().forward(x)
            return x

    def job(comm: Comm) -> None:
        model = nn.Sequential(Hidden(6, 6), nn.Linear(6, 3)).double()
        (Sharded(model, comm, ADAM)(batch(0)[0]).sum() + model[0].made.sum()).backward()

    with pytest.raises(RankFailed, match="let the unit return what the loss needs"):
        helpers.run(job, ranks=2, engine="virtual")
