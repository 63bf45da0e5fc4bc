"""Two splits on two ranks, predicted from rates that the machine shows, then measured.

Every rank has one thread, and the one rank that they are held against has one thread too. What is
predicted, what it is predicted from and what is measured take turns within one run, so that a
busy moment hits all of them alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from helpers.lessons.data_parallel.experiments.models import mlp
from helpers.lessons.splitting.algorithms.model_split import gather_units, scatter_sum_units
from helpers.lessons.splitting.algorithms.split_cost import (
    TRAINING,
    Rates,
    Work,
    dense_work,
    recurrent_work,
)
from helpers.lessons.splitting.algorithms.vertical_split import VerticalSplit
from helpers.lessons.splitting.algorithms.wave import Wave
from helpers.lessons.splitting.experiments.recurrent import DeepRecurrent, recurrent_layers
from helpers.notebook.measure import in_turn

SMALL = 64  # bytes of the message that shows α
PAIRS = 8  # of messages, timed together
Act = Callable[[], object]
Seconds = dict[str, list[float]]  # of one rank, by contender, for each repeat


class Recurrent(NamedTuple):
    """A deep recurrent network (tanh cells), all layers `width` wide, and its batch."""

    width: int = 256
    rows: int = 128
    layers: int = 4
    steps: int = 256
    chunks: int = 16

    def work(self, ranks: int = 1) -> Work:
        """What a training step of it is; on several ranks as a wave."""
        chunks = self.chunks if ranks > 1 else 1
        return recurrent_work(self.rows, self.width, self.layers, self.steps, ranks, chunks)

    @property
    def message(self) -> int:
        """Bytes of a chunk's activations."""
        return self.rows * self.width * 4 * self.steps // self.chunks


class Dense(NamedTuple):
    """A dense network of `layers` square layers with ReLU between, and its batch."""

    width: int = 256
    rows: int = 32
    layers: int = 6

    def work(self, ranks: int = 1) -> Work:
        """What a training step of it is; on several ranks as a vertical split."""
        return dense_work(self.rows, [self.width] * (self.layers + 1), ranks)

    @property
    def message(self) -> int:
        """Bytes of a rank's slice of a layer's activations, of two ranks."""
        return self.rows * self.width * 2


class Found(NamedTuple):
    """One split. Seconds a training step, measured and predicted; a list has every repeat.

    together: the rates of a rank while the other is busy too, alone: of one while it is not.
    """

    one: list[float]
    two: list[float]
    predicted_one: float
    predicted_two: float
    alone: Rates
    together: Rates

    @property
    def speedup(self) -> float:
        """Of two ranks against one: the median over the repeats, each beside the other."""
        return statistics.median(a / b for a, b in zip(self.one, self.two, strict=True))

    @property
    def predicted_speedup(self) -> float:
        """The same, as counted before."""
        return self.predicted_one / self.predicted_two


def measure_recurrent(setting: Recurrent | None = None, repeats: int = 7) -> Found:
    """The wave on two ranks against one rank."""
    setting = setting or Recurrent()
    unit = setting._replace(layers=1).work().flops
    return _found(recurrent_times, setting, repeats, (unit, unit))


def measure_dense(setting: Dense | None = None, repeats: int = 31) -> Found:
    """The vertical split on two ranks against one rank."""
    width, rows, layers = setting = setting or Dense()
    product = 2.0 * rows * width * width * layers * TRAINING
    return _found(dense_times, setting, repeats, (product, product / 2))


def recurrent_times(comm: Any, setting: Recurrent, repeats: int) -> Seconds:
    """Seconds on this rank: one rank's step, the wave's, one layer's chunk, messages."""
    width, rows, layers, steps, chunks = setting
    made = partial(recurrent_layers, width=width, hidden=width)
    whole, layer = DeepRecurrent(made(layers)), made(1)[0]
    wave = Wave(comm, made(layers), chunks=chunks)
    inputs = torch.randn(steps, rows, width, generator=torch.Generator().manual_seed(0))
    targets = torch.zeros_like(inputs)

    def unit(pieces: int) -> None:
        """One layer by itself over all steps, in so many pieces: all forward, then all back."""
        kept = []
        for piece in inputs.split(steps // pieces):
            state = torch.zeros(1, rows, width, requires_grad=pieces > 1)
            kept.append(layer(piece.detach().requires_grad_(), state)[0])
        for out in reversed(kept):
            out.backward(out.detach())

    contenders = {
        "one": _first(comm, _fresh(whole, lambda: mse_loss(whole(inputs), targets).backward())),
        "two": _fresh(wave, lambda: wave.step(inputs, targets, mse_loss)),
        "unit alone": _first(comm, _fresh(layer, partial(unit, 1))),  # in one go, as one rank does
        "unit together": _fresh(layer, partial(unit, chunks)),
    }
    return _timed(comm, contenders, setting.message, repeats, partial(_ping, comm))


def dense_times(comm: Any, setting: Dense, repeats: int) -> Seconds:
    """Seconds on this rank: one rank's step, the vertical split's, one layer's, messages."""
    width, rows, layers = setting
    whole, cut = (mlp([width] * (layers + 1)) for _ in range(2))
    split = VerticalSplit(comm, cut)
    inputs = torch.randn(rows, width, generator=torch.Generator().manual_seed(0))
    half = torch.randn(width // comm.size, width)

    def step(net: nn.Module) -> Act:
        return _fresh(net, lambda: net(inputs).square().mean().backward())

    def unit(units: int) -> Act:
        """Every layer by itself, forward and backward, each with weights of its own."""
        alike = nn.ModuleList(nn.Linear(width, units) for _ in range(layers))

        def run() -> None:
            for layer in alike:
                out = layer(inputs.detach().requires_grad_()).relu()
                out.backward(out.detach())

        return _fresh(alike, run)

    def product() -> object:
        return inputs @ half.T

    def message(tensor: Tensor) -> None:
        """A gather and its gradient's sum, a product before each: ranks come to them from work.

        Two exchanges in a row would cost less than one that a rank comes to early or late.
        """
        sizes = [len(tensor)] * comm.size
        product()
        whole = gather_units(comm, tensor, sizes, 0)
        product()
        scatter_sum_units(comm, whole, sizes, 0)

    contenders = {
        "one": _first(comm, step(whole)),
        "two": step(split),
        "unit alone": _first(comm, unit(width)),
        "unit together": unit(width // comm.size),
    }
    return _timed(comm, contenders, setting.message, repeats, message, product)


def _found(times: Any, setting: Any, repeats: int, units: tuple[float, float]) -> Found:
    """Rates from the units and messages; predictions from the rates.

    times: measures on a rank. units: operations of what it calls a unit, alone and together.
    """
    import helpers

    ranks: Sequence[Seconds] = helpers.run(
        times, setting, repeats, ranks=2, show=False, timeout=300
    )
    slowest = {
        name: [max(each) for each in zip(*(rank[name] for rank in ranks), strict=True)]
        for name in ranks[0]
    }
    middle = {name: statistics.median(each) for name, each in slowest.items()}
    beta = max(0.0, (middle["large"] - middle["small"]) / (setting.message - SMALL))
    alpha = max(0.0, middle["large"] - setting.message * beta)
    alone = Rates(units[0] / middle["unit alone"], alpha, beta)
    together = Rates(units[1] / middle["unit together"], alpha, beta)
    predicted = setting.work().seconds(alone), setting.work(ranks=2).seconds(together)
    return Found(slowest["one"], slowest["two"], *predicted, alone, together)


def _fresh(model: Any, work: Act) -> Act:
    """The work, with the model's gradients forgotten before it."""

    def run() -> None:
        model.zero_grad()
        work()

    return run


def _first(comm: Any, work: Act) -> Act:
    """Work of rank 0, while the others are idle."""
    return work if comm.rank == 0 else lambda: None


def _ping(comm: Any, tensor: Tensor) -> None:
    """There and back, from rank 0 to rank 1."""
    if comm.rank == 0:
        comm.send(tensor, 1)
        comm.recv(1)
    else:
        comm.recv(0)
        comm.send(tensor, 0)


def _timed(
    comm: Any,
    contenders: dict[str, Act],
    nbytes: int,
    repeats: int,
    message: Callable[[Tensor], None],
    product: Act | None = None,
) -> Seconds:
    """All of them in turn, with two sizes of messages; a message's time is of one, not of two.

    product: what `message` does before each of its two, and what is not to count.
    """

    def times(work: Act) -> Act:
        def run() -> None:
            for _ in range(PAIRS):
                work()

        return run

    for name, size in (("small", SMALL), ("large", nbytes)):
        contenders[name] = times(partial(message, torch.zeros(size // 4)))
    if product is not None:
        contenders["products"] = times(lambda: (product(), product()))
    seconds = in_turn(comm, contenders, repeats)
    spent = seconds.pop("products", [0.0] * len(seconds["small"]))
    for name in ("small", "large"):
        pairs = zip(seconds[name], spent, strict=True)
        seconds[name] = [max(0.0, each - work) / (2 * PAIRS) for each, work in pairs]
    return seconds
