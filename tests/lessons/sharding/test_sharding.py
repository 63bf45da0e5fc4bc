"""Sharded training against the same training on one big batch, without ranks."""

from __future__ import annotations

import copy
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


def serial(case: str, optimizer: Callable) -> list:
    """Without ranks: for each step the loss and the gradients; at the end the weights."""
    make, data, loss_of = CASES[case]
    torch.manual_seed(0)
    model = make()
    updates, seen = optimizer([p for p in model.parameters() if p.requires_grad]), []
    for step in range(STEPS):
        x, y = data(step)
        updates.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        named = model.named_parameters(remove_duplicate=False)
        grads = {n: p.grad.clone() for n, p in named if p.grad is not None}
        seen.append((loss.item(), grads))
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
        model.zero_grad()
        loss = loss_of(model(rows), rows_of(y, comm.rank, comm.size))
        loss.backward()
        seen.append((loss.item() * model.weight, model.full_gradients()))
        model.step()
    return [*seen, model.full_state()]


def assert_equal(results: list, expected: list) -> None:
    close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-10)
    *steps, state = expected
    for step, (loss, gradients) in enumerate(steps):
        close(sum(found[step][0] for found in results), loss)
        for found in results:
            for name, gradient in gradients.items():
                close(found[step][1][name], gradient, msg=lambda m, n=name: f"{n}: {m}")
            for name in found[step][1].keys() - gradients.keys():
                assert not found[step][1][name].any()  # unused, which counts as zero
    for found in results:
        assert found[-1].keys() == state.keys()
        for name, value in state.items():
            close(found[-1][name], value, msg=lambda m, n=name: f"{n}: {m}")
            assert torch.equal(found[-1][name], results[0][-1][name])


@pytest.mark.parametrize(
    ("engine", "case", "size"),
    [
        *(("virtual", "tied transformer", size) for size in SIZES),
        *(("virtual", "plain", 2), ("virtual", "tied", 3), ("virtual", "partly frozen", 5)),
        *(("virtual", "twice", 3), ("virtual", "transformer", 2)),
        ("processes", "partly frozen", 3),
        pytest.param("processes", "tied transformer", 2, marks=pytest.mark.thorough),
    ],
)
def test_equal_to_one_big_batch(engine, case, size):
    stages = {stage: ADAM if (size + stage) % 2 else MOMENTUM for stage in STAGES}
    results = helpers.run(parallel, case, stages, ranks=size, engine=engine)
    for number, optimizer in enumerate(stages.values()):
        assert_equal([found[number] for found in results], serial(case, optimizer))


def test_without_prefetch_the_numbers_are_the_same():
    job = partial(train, case="partly frozen", optimizer=ADAM, stage=3, prefetch=False)
    assert_equal(helpers.run(job, ranks=3, engine="virtual"), serial("partly frozen", ADAM))


def test_gradients_of_several_backwards_add_up():
    def job(comm: Comm, stage: int) -> dict:
        torch.manual_seed(comm.rank)
        model = Sharded(Tied(), comm, MOMENTUM, stage)
        for half in (slice(0, 11), slice(11, ROWS)):
            x, y = (rows_of(t[half], comm.rank, comm.size) for t in batch(0))
            nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
        model.step()
        return model.full_state()

    torch.manual_seed(0)
    model = Tied()
    updates = MOMENTUM([p for p in model.parameters() if p.requires_grad])
    x, y = batch(0)
    (nn.functional.cross_entropy(model(x), y, reduction="sum") / 3).backward()
    updates.step()
    for stage in STAGES:
        for state in helpers.run(job, stage, ranks=3, engine="virtual"):
            torch.testing.assert_close(state, {**model.state_dict()}, rtol=1e-12, atol=1e-12)


def test_forward_without_gradients_and_again_inside_backward():
    """Evaluation frees what it gathers; recomputing a unit's forward does not free too early."""
    from torch.utils.checkpoint import checkpoint

    class Recomputed(nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(checkpoint(super().forward, x, use_reentrant=False))

    def job(comm: Comm) -> tuple:
        x, y = batch(0)
        dense = Plain()
        layers = list(copy.deepcopy(dense))
        model = nn.Sequential(*layers[:2], Recomputed(layers[2]), *layers[3:])
        sharded = Sharded(model, comm, MOMENTUM)
        whole = sharded.full_state().values()
        dense.load_state_dict(dict(zip(dense.state_dict(), whole, strict=True)))
        with torch.no_grad():
            seen = sharded(x) - dense(x)
        passing = sharded.bytes().passing
        nn.functional.cross_entropy(sharded(x), y).backward()
        nn.functional.cross_entropy(dense(x), y).backward()
        gradients = list(sharded.full_gradients().values())
        wrong = [
            (p.grad - g).abs().max() for p, g in zip(dense.parameters(), gradients, strict=True)
        ]
        return seen.abs().max(), passing, max(wrong)

    for seen, passing, wrong in helpers.run(job, ranks=2, engine="virtual"):
        assert (seen, passing) == (0, 0)
        assert wrong < 1e-12


def test_bad_arguments_are_told():
    def job(comm: Comm, stage: int, units: str) -> None:
        model = Plain()
        if units == "frozen":
            model.requires_grad_(False)
        Sharded(model, comm, ADAM, stage, [model, model[0]] if units == "two" else None)

    for stage, units, words in (
        (4, "", "stage 4"),
        (3, "two", "lies in another"),
        (1, "frozen", "train"),
    ):
        with pytest.raises(RankFailed, match=words):
            helpers.run(job, stage, units, ranks=1, engine="virtual")
