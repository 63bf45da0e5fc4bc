"""What may be done to a sharded model, or past it, and how plain torch does the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from training import Plain, Tied, batch

from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.data_parallel import rows_of
from helpers.lessons.sharding.algorithms.sharding import Sharded

STAGES = [1, 2, 3]
MOMENTUM = partial(torch.optim.SGD, lr=0.1, momentum=0.9)


class Alone:
    """A model and its optimizer without ranks, with the names that `Sharded` has."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.rank, self.size, self.weight = model, 0, 1, 1.0
        self.optimizer = MOMENTUM([p for p in model.parameters() if p.requires_grad])
        self.zero_grad, self.step = self.optimizer.zero_grad, self.optimizer.step

    def __call__(self, *inputs: Any) -> Any:
        return self.model(*inputs)

    def clip_grad_norm_(self, most: float) -> float:
        return nn.utils.clip_grad_norm_(self.model.parameters(), most).item()

    def full_state(self) -> dict[str, Tensor]:
        return self.model.state_dict()


class OnRanks(Sharded):
    """`Sharded`, which also knows its place."""

    def __init__(self, model: nn.Module, comm: Comm, stage: int, **options: bool) -> None:
        super().__init__(model, comm, MOMENTUM, stage, **options)
        self.rank, self.size = comm.rank, comm.size


Trainer = Alone | OnRanks


def loss_of(t: Trainer, step: int, of: Callable[[Any], Tensor] = lambda made: made) -> Tensor:
    """The mean loss over this rank's rows. of: the scores among what the model gives."""
    x, y = batch(step)
    rows = rows_of(x, t.rank, t.size)
    t.weight = len(rows) / len(x)
    return nn.functional.cross_entropy(of(t(rows)), rows_of(y, t.rank, t.size))


def steps(t: Trainer, number: int = 3, before: str = "own", **options: Any) -> None:
    for step in range(number):
        if before == "own":
            t.zero_grad()
        elif before == "inner":
            t.model.zero_grad()
        loss_of(t, step).backward(**options)
        t.step()


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
    """A unit with a loss of its own, in an attribute or in a list, which it does not return."""

    def __init__(self, listed: bool) -> None:
        super().__init__()
        self.inner, self.gate, self.listed = nn.Linear(6, 6), nn.Linear(6, 6), listed
        self.losses: list[Tensor] = []
        self.double()

    def forward(self, x: Tensor) -> Tensor:
        loss = self.gate(torch.tanh(self.inner(x))).square().mean()
        if self.listed:
            self.losses[:] = [loss]
        else:
            self.loss = loss
        return torch.tanh(self.inner(x))


class Words(nn.Module):
    """An embedding with sparse gradients, and a buffer that is expanded."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.last = nn.Embedding(9, 6, sparse=True), nn.Linear(6, 3)
        self.register_buffer("scale", torch.rand(1, 1).expand(1, 6))
        self.double()
        self.scale = torch.rand(1, 1, dtype=torch.float64).expand(1, 6)

    def forward(self, x: Tensor) -> Tensor:
        words = x[:, 0].abs().mul(4).long().clamp(max=8)
        return torch.as_tensor(self.last(self.embed(words) * self.scale))


def told() -> nn.Module:
    return nn.Sequential(Told(nn.Linear(6, 6)), Told(nn.Linear(6, 3))).double()


def halves_frozen() -> nn.Module:
    model = told()
    model[0].inner.weight.requires_grad_(False)
    return model


def keeps(listed: bool) -> nn.Module:
    return nn.Sequential(KeepsLoss(listed), nn.Linear(6, 3, dtype=torch.float64))


# --- what is done ---------------------------------------------------------------------------------


def clipped(t: Trainer) -> None:
    norms = []
    for step in range(4):
        t.zero_grad()
        loss_of(t, step).backward()
        norms.append(t.clip_grad_norm_(0.5 if step else 1e6))
        t.step()
    with torch.no_grad():  # the norms are compared as well
        t.norms = torch.tensor(norms)  # type: ignore[union-attr]


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


def zeroed_between(t: Trainer) -> None:
    for step in range(3):
        loss = loss_of(t, step)
        t.model.zero_grad()
        loss.backward()
        t.step()


def other_weights(model: nn.Module) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(9)
    state = model.state_dict().items()
    return {name: torch.rand(v.shape, generator=generator).to(v) for name, v in state}


def loaded(t: Trainer, whole: bool = True) -> None:
    steps(t, 1)
    new = other_weights(Plain())
    if whole:
        t.model.load_state_dict(new)
    else:
        t.model[2].load_state_dict({"weight": new["2.weight"], "bias": new["2.bias"]})
    steps(t, 2)


def own_loss_alone(t: Trainer) -> None:
    for step in range(2):
        t.zero_grad()
        loss_of(t, step)
        unit = t.model[0]
        (unit.losses[0] if unit.listed else unit.loss).backward()
        t.step()


def doubled(t: Trainer) -> None:
    """Stage 1: gradients that somebody has replaced, or forgotten, himself."""
    for step in range(3):
        for parameter in t.model.parameters():
            parameter.grad = None
        loss_of(t, step).backward()
        for parameter in t.model.parameters():
            if parameter.grad is not None:
                parameter.grad = parameter.grad * 2
        t.step()


def backward_twice(t: Trainer) -> None:
    """Stage 1: a gradient with a graph of its own, to which another one is added."""
    t.zero_grad()
    loss = loss_of(t, 0)
    loss.backward(create_graph=True)
    (2 * loss).backward()
    t.step()


SCORES = partial(loss_of, of=lambda made: made.values)


def with_scores(t: Trainer) -> None:
    for step in range(3):
        t.zero_grad()
        SCORES(t, step).backward()
        t.step()


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[Trainer], None], list[int]]] = {
    "the model's own zero_grad": (Plain, partial(steps, before="inner"), STAGES),
    "zero_grad between forward and backward": (Tied, zeroed_between, STAGES),
    "no zero_grad": (Tied, partial(steps, before="never"), STAGES),
    "gradients replaced": (Tied, doubled, [1]),
    "create_graph": (Plain, partial(steps, create_graph=True), [1]),
    "backward twice": (Plain, backward_twice, [1]),
    "clipped": (Tied, clipped, STAGES),
    "evaluated between": (Tied, evaluated_between, STAGES),
    "loaded": (Plain, loaded, STAGES),
    "loaded in part": (Plain, partial(loaded, whole=False), STAGES),
    "dataclasses": (told, with_scores, STAGES),
    "dataclasses and frozen weights": (halves_frozen, with_scores, STAGES),
    "a loss in an attribute": (partial(keeps, False), own_loss_alone, STAGES),
    "a loss in a list": (partial(keeps, True), own_loss_alone, STAGES),
    "sparse gradients, an expanded buffer": (Words, steps, STAGES),
}


# --- refused --------------------------------------------------------------------------------------


def frozen_later(t: OnRanks) -> None:
    steps(t, 1)
    t.model[0].weight.requires_grad_(False)
    steps(t, 1)


def thawed_later(t: OnRanks) -> None:
    t.model[0].requires_grad_(True)
    steps(t, 1)


def first_frozen() -> nn.Module:
    model = Plain()
    model[0].requires_grad_(False)
    return model


class Outside(nn.Module):
    """A unit whose loss lies where nobody would look for it."""

    seen: ClassVar[dict[int, Tensor]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        type(self).seen[0] = (x + self.scale).sum()
        return x.detach()


def hidden_loss(t: OnRanks) -> None:
    t.zero_grad()
    loss_of(t, 0)
    Outside.seen[0].backward()


def outside() -> nn.Module:
    return nn.Sequential(Outside(), nn.Linear(6, 3, dtype=torch.float64))


REFUSED = {
    "frozen": (Plain, frozen_later, STAGES, "0.weight was frozen after"),
    "thawed": (first_frozen, thawed_later, STAGES, "0.weight was made trainable after"),
    "create_graph": (Plain, partial(steps, create_graph=True), [2, 3], "Take stage 1"),
    "a part": (Plain, lambda t: t.model[0].zero_grad(), [2, 3], "of the whole model"),
    "assigned": (
        Plain, lambda t: t.model.load_state_dict(other_weights(Plain()), assign=True), STAGES,
        "leave assign out",
    ),
    "hidden": (outside, hidden_loss, [3], "unit 0 by a way that forward has not shown"),
}  # fmt: skip
