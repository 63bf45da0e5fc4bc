"""Two splits on two ranks, predicted from rates that the machine shows, then measured.

Every rank has one thread, and the one rank that they are held against has one thread too. What is
predicted, what it is predicted from and what is measured take turns within one run, so that a
busy moment hits all of them alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from helpers.lessons.splitting.algorithms.split_cost import (
    TRAINING,
    Rates,
    Work,
    dense_work,
    recurrent_work,
)

SMALL = 64  # bytes of the message that shows α
PAIRS = 8  # of messages, timed together


class Recurrent(NamedTuple):
    """A deep recurrent network (tanh cells), all layers `width` wide, and its batch."""

    width: int = 256
    rows: int = 128
    layers: int = 4
    steps: int = 256
    chunks: int = 16

    def work(self, ranks: int = 1, layers: int | None = None) -> Work:
        """What a training step of it is, or of some of its layers; on several ranks as a wave."""
        count = self.layers if layers is None else layers
        chunks = self.chunks if ranks > 1 else 1
        return recurrent_work(self.rows, self.width, count, self.steps, ranks, chunks)

    @property
    def message(self) -> int:
        """Bytes of a chunk's activations."""
        return self.rows * self.width * 4 * self.steps // self.chunks


class Dense(NamedTuple):
    """A dense network of `layers` square layers with ReLU between, and its batch."""

    width: int = 256
    rows: int = 32
    layers: int = 6

    @property
    def widths(self) -> list[int]:
        """Of all levels, inputs first."""
        return [self.width] * (self.layers + 1)


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


def recurrent_times(comm: Any, setting: Recurrent, repeats: int) -> dict[str, list[float]]:
    """Seconds on this rank: one rank's step, the wave's, one layer's chunk, messages."""
    import torch
    from torch import nn

    from helpers.lessons.splitting.algorithms.wave import Wave
    from helpers.lessons.splitting.experiments.recurrent import DeepRecurrent, recurrent_layers

    width, rows, layers, steps, chunks = setting
    made = {"kind": "rnn", "width": width, "hidden": width}
    whole = DeepRecurrent(recurrent_layers(layers, **made))  # type: ignore[arg-type]
    wave = Wave(comm, recurrent_layers(layers, **made), chunks=chunks)  # type: ignore[arg-type]
    inputs = torch.randn(steps, rows, width, generator=torch.Generator().manual_seed(0))
    targets, loss = torch.zeros_like(inputs), nn.functional.mse_loss
    layer = recurrent_layers(1, **made)[0]  # type: ignore[arg-type]

    def one() -> None:
        whole.zero_grad()
        loss(whole(inputs), targets).backward()

    def two() -> None:
        wave.zero_grad()
        wave.step(inputs, targets, loss)

    def unit(pieces: int) -> Callable[[], None]:
        """One layer by itself over all steps, in so many pieces: all forward, then all back."""

        def run() -> None:
            layer.zero_grad()
            kept = []
            for piece in inputs.split(steps // pieces):
                state = torch.zeros(1, rows, width, requires_grad=pieces > 1)
                kept.append(layer(piece.detach().requires_grad_(), state)[0])
            for out in reversed(kept):
                out.backward(out.detach())

        return run

    contenders = {
        "one": _first(comm, one),
        "two": two,
        "unit alone": _first(comm, unit(1)),  # in one go, as one rank takes it
        "unit together": unit(chunks),
    }
    return _timed(comm, contenders, setting.message, repeats, _ping)


def dense_times(comm: Any, setting: Dense, repeats: int) -> dict[str, list[float]]:
    """Seconds on this rank: one rank's step, the vertical split's, one layer's, messages."""
    import torch
    from torch import nn

    from helpers.lessons.data_parallel.experiments.models import mlp
    from helpers.lessons.splitting.algorithms.vertical_split import VerticalSplit

    width, rows, layers = setting
    whole, cut = mlp(setting.widths), VerticalSplit(comm, mlp(setting.widths))
    inputs = torch.randn(rows, width, generator=torch.Generator().manual_seed(0))
    targets, loss = torch.zeros_like(inputs), nn.functional.mse_loss

    def step(net: nn.Module) -> Callable[[], None]:
        def run() -> None:
            net.zero_grad()
            loss(net(inputs), targets).backward()

        return run

    def unit(units: int) -> Callable[[], None]:
        """Every layer by itself, forward and backward, each with weights of its own."""
        alike = nn.ModuleList(nn.Linear(width, units) for _ in range(layers))

        def run() -> None:
            alike.zero_grad()
            for layer in alike:
                out = layer(inputs.detach().requires_grad_()).relu()
                out.backward(out.detach())

        return run

    contenders = {
        "one": _first(comm, step(whole)),
        "two": step(cut),
        "unit alone": _first(comm, unit(width)),
        "unit together": unit(width // comm.size),
    }
    half = torch.randn(width // comm.size, width)

    def product() -> object:
        return inputs @ half.T

    message = _between_products(product)
    return _timed(comm, contenders, rows * width * 4 // comm.size, repeats, message, product)


def measure_recurrent(setting: Recurrent | None = None, repeats: int = 7, **options: Any) -> Found:
    """The wave on two ranks against one rank. options: of `helpers.run`."""
    import helpers

    setting = setting or Recurrent()
    options = {"timeout": 300, **options}
    ranks = helpers.run(recurrent_times, setting, repeats, ranks=2, show=False, **options)
    unit = setting.work(layers=1).flops
    works = [setting.work(), setting.work(ranks=2)]
    return _found(ranks, (unit, unit), setting.message, works)


def measure_dense(setting: Dense | None = None, repeats: int = 31, **options: Any) -> Found:
    """The vertical split on two ranks against one rank. options: of `helpers.run`."""
    import helpers

    setting = setting or Dense()
    ranks = helpers.run(dense_times, setting, repeats, ranks=2, show=False, **options)
    width, rows, layers = setting
    product = 2.0 * rows * width * width * layers * TRAINING
    works = [dense_work(rows, setting.widths), dense_work(rows, setting.widths, 2)]
    return _found(ranks, (product, product / 2), rows * width * 2, works)


def _found(
    ranks: Sequence[Mapping[str, list[float]]],
    units: tuple[float, float],
    nbytes: int,
    works: Sequence[Work],
) -> Found:
    """Rates from the units and messages; predictions from the rates."""
    slowest = {
        name: [max(times) for times in zip(*(rank[name] for rank in ranks), strict=True)]
        for name in ranks[0]
    }
    middle = {name: statistics.median(times) for name, times in slowest.items()}
    beta = max(0.0, (middle["large"] - middle["small"]) / (nbytes - SMALL))
    alpha = max(0.0, middle["large"] - nbytes * beta)
    alone = Rates(units[0] / middle["unit alone"], alpha, beta)
    together = Rates(units[1] / middle["unit together"], alpha, beta)
    return Found(
        slowest["one"],
        slowest["two"],
        works[0].seconds(alone),
        works[1].seconds(together),
        alone,
        together,
    )


def _first(comm: Any, work: Callable[[], None]) -> Callable[[], None]:
    """Work of rank 0, while the others are idle."""
    return work if comm.rank == 0 else lambda: None


def _ping(comm: Any, tensor: Any) -> None:
    """There and back, from rank 0 to rank 1."""
    if comm.rank == 0:
        comm.send(tensor, 1)
        comm.recv(1)
    else:
        comm.recv(0)
        comm.send(tensor, 0)


def _between_products(product: Callable[[], object]) -> Callable[[Any, Any], None]:
    """A gather and its gradient's sum, a product before each: ranks come to them from work.

    Two exchanges in a row would cost less than one that a rank comes to early or late.
    """
    from helpers.lessons.splitting.algorithms.model_split import gather_units, scatter_sum_units

    def run(comm: Any, tensor: Any) -> None:
        sizes = [len(tensor)] * comm.size
        product()
        whole = gather_units(comm, tensor, sizes, 0)
        product()
        scatter_sum_units(comm, whole, sizes, 0)

    return run


def _timed(
    comm: Any,
    contenders: dict[str, Callable[[], None]],
    nbytes: int,
    repeats: int,
    message: Callable[[Any, Any], None],
    product: Callable[[], object] | None = None,
) -> dict[str, list[float]]:
    """All of them in turn, with two sizes of messages; a message's time is of one, not of two.

    product: what `message` does before each of its two, and what is not to count.
    """
    import torch

    from helpers.notebook.measure import in_turn

    def times(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(PAIRS):
                work()

        return run

    for name, size in (("small", SMALL), ("large", nbytes)):
        contenders[name] = times(partial(message, comm, torch.zeros(size // 4)))
    if product is not None:
        contenders["products"] = times(lambda: (product(), product()))
    seconds = in_turn(comm, contenders, repeats)
    spent = seconds.pop("products", [0.0] * len(seconds["small"]))
    for name in ("small", "large"):
        pairs = zip(seconds[name], spent, strict=True)
        seconds[name] = [max(0.0, each - work) / (2 * PAIRS) for each, work in pairs]
    return seconds
