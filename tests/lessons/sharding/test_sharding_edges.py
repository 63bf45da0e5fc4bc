"""What is done to a sharded model past `Sharded`: equal to plain torch, or told in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from training import Plain, Tied, batch

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.data_parallel import rows_of
from helpers.lessons.sharding.algorithms.sharding import Sharded

SIZES = [1, 3]  # what is usual is compared on more ranks in test_sharding.py
STAGES = [1, 2, 3]
MOMENTUM = partial(torch.optim.SGD, lr=0.1, momentum=0.9)


class Alone:
    """A model and its optimizer without ranks, with the names that `Sharded` has."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.rank, self.size, self.weight = model, 0, 1, 1.0
        self.optimizer = MOMENTUM([p for p in model.parameters() if p.requires_grad])
        self.zero_grad, self.step = self.optimizer.zero_grad, self.optimizer.step
        self.full_state = model.state_dict

    def __call__(self, *inputs: Any) -> Any:
        return self.model(*inputs)

    def clip_grad_norm_(self, most: float) -> float:
        return nn.utils.clip_grad_norm_(self.model.parameters(), most).item()


class OnRanks(Sharded):
    """`Sharded`, which also knows its place."""

    def __init__(self, model: nn.Module, comm: Comm, stage: int) -> None:
        super().__init__(model, comm, MOMENTUM, stage)
        self.rank, self.size = comm.rank, comm.size


Trainer = Any  # Alone, or OnRanks


def loss_of(t: Trainer, step: int) -> Tensor:
    """The mean loss over this rank's rows, of scores that may lie in a dataclass."""
    x, y = batch(step)
    rows = rows_of(x, t.rank, t.size)
    t.weight = len(rows) / len(x)
    made = t(rows)
    scores = made.values if isinstance(made, Scores) else made
    return nn.functional.cross_entropy(scores, rows_of(y, t.rank, t.size))


# --- models ---------------------------------------------------------------------------------------


@dataclass
class Scores:
    values: Tensor
    note: str


class Told(nn.Module):
    """A unit that takes a dataclass and returns one."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, given: Tensor | Scores) -> Scores:
        values = given.values if isinstance(given, Scores) else given
        return Scores(self.inner(values), "scores")


class KeepsLoss(nn.Module):
    """A unit with a loss of its own in an attribute, which it does not return."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.gate = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        self.loss = self.gate(torch.tanh(self.inner(x))).square().mean()
        return torch.tanh(self.inner(x))


class Words(nn.Module):
    """An embedding with sparse gradients, and a buffer that is expanded."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.last = nn.Embedding(9, 6, sparse=True), nn.Linear(6, 3)
        self.double()
        self.register_buffer("scale", torch.rand(1, 1, dtype=torch.float64).expand(1, 6))

    def forward(self, x: Tensor) -> Tensor:
        words = x[:, 0].abs().mul(4).long().clamp(max=8)
        return torch.as_tensor(self.last(self.embed(words) * self.scale))


def told_half_frozen() -> nn.Module:
    model = nn.Sequential(Told(nn.Linear(6, 6)), Told(nn.Linear(6, 3))).double()
    model[0].inner.weight.requires_grad_(False)
    return model


def keeps() -> nn.Module:
    return nn.Sequential(KeepsLoss(), nn.Linear(6, 3)).double()


def other_weights() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(9)
    state = Plain().state_dict().items()
    return {name: torch.rand(v.shape, generator=generator).to(v) for name, v in state}


# --- what is done ---------------------------------------------------------------------------------


def steps(t: Trainer, number: int = 3, before: str = "own", **options: Any) -> None:
    for step in range(number):
        if before == "own":
            t.zero_grad()
        elif before == "inner":
            t.model.zero_grad()
        loss = loss_of(t, step)
        if before == "between":
            t.model.zero_grad()
        loss.backward(**options)
        t.step()


def clipped(t: Trainer) -> None:
    norms = []
    for step in range(4):
        t.zero_grad()
        loss_of(t, step).backward()
        norms.append(t.clip_grad_norm_(0.5 if step else 1e6))
        t.step()
    t.norms = torch.tensor(norms)  # they are compared as well


def evaluated_between(t: Trainer) -> None:
    for step in range(3):
        t.zero_grad()
        loss = loss_of(t, step)
        with torch.no_grad():
            loss_of(t, step + 7)
        loss.backward()
        t.step()
        with torch.no_grad():
            loss_of(t, step)


def loaded(t: Trainer) -> None:
    steps(t, 1)
    t.model.load_state_dict(other_weights())
    steps(t, 2)


def own_loss_alone(t: Trainer) -> None:
    for step in range(2):
        t.zero_grad()
        loss_of(t, step)
        t.model[0].loss.backward()
        t.step()


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[Trainer], None], list[int]]] = {
    "the model's own zero_grad": (Plain, partial(steps, before="inner"), STAGES),
    "zero_grad between forward and backward": (Tied, partial(steps, before="between"), STAGES),
    "no zero_grad": (Tied, partial(steps, before="never"), STAGES),
    "create_graph": (Plain, partial(steps, create_graph=True), [1]),
    "clipped": (Tied, clipped, STAGES),
    "evaluated between": (Tied, evaluated_between, STAGES),
    "loaded": (Plain, loaded, STAGES),
    "dataclasses and frozen weights": (told_half_frozen, steps, STAGES),
    "a loss in an attribute": (keeps, own_loss_alone, STAGES),
    "sparse gradients, an expanded buffer": (Words, steps, STAGES),
}


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


# --- refused --------------------------------------------------------------------------------------


def frozen_later(t: Trainer) -> None:
    steps(t, 1)
    t.model[0].weight.requires_grad_(False)
    steps(t, 1)


def assigned(t: Trainer) -> None:
    t.model.load_state_dict(other_weights(), assign=True)


REFUSED: dict[str, tuple[Callable[[Trainer], None], list[int]]] = {
    "0.weight was frozen after": (frozen_later, STAGES),
    "Take stage 1": (partial(steps, create_graph=True), [2, 3]),
    "of the whole model": (lambda t: t.model[0].zero_grad(), [2, 3]),
    "leave assign out": (assigned, STAGES),
}


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
def test_what_cannot_be_right_is_refused():
    def refused(comm: Comm) -> None:
        for words, (act, stages) in REFUSED.items():
            for stage in stages:
                with pytest.raises(RuntimeError, match=words):
                    act(OnRanks(Plain(), comm, stage))

    helpers.run(refused, ranks=2, engine="virtual")
