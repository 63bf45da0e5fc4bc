"""Two splits on two ranks, predicted from rates that the machine shows, then measured.

Every rank has one thread, and the one rank that they are held against has one thread too. What is
predicted, what it is predicted from and what is measured take turns within one run, so that a
busy moment hits all of them alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from helpers.algorithms.split_cost import TRAINING, Rates, Work, dense_work, recurrent_work

SMALL = 64  # bytes of the message that shows α


class Recurrent(NamedTuple):
    """A deep recurrent network (tanh cells), all layers `width` wide, and its batch."""

    width: int = 512
    rows: int = 32
    layers: int = 4
    steps: int = 64
    chunks: int = 16


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

    from helpers.algorithms.wave import Wave
    from helpers.workloads.recurrent import DeepRecurrent, recurrent_layers

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

    def unit() -> None:
        """One layer's chunk, `chunks` times; the state's gradient is made too, as in the wave."""
        for start in range(0, steps, steps // chunks):
            piece = inputs[start : start + steps // chunks].requires_grad_()
            state = torch.zeros(1, rows, width, requires_grad=True)
            out, _ = layer(piece, state)
            out.backward(out.detach())

    contenders = {"one": _first(comm, one), "two": two, **_units(comm, unit)}
    return _timed(comm, contenders, rows * width * 4 * steps // chunks, repeats, _ping)


def dense_times(comm: Any, setting: Dense, repeats: int) -> dict[str, list[float]]:
    """Seconds on this rank: one rank's step, the vertical split's, one layer's, messages."""
    import torch
    from torch import nn

    from helpers.algorithms.vertical_split import VerticalSplit
    from helpers.workloads.models import mlp

    width, rows, layers = setting
    whole, cut = mlp(setting.widths), VerticalSplit(comm, mlp(setting.widths))
    inputs = torch.randn(rows, width, generator=torch.Generator().manual_seed(0))
    targets, loss = torch.zeros_like(inputs), nn.functional.mse_loss
    square = nn.Linear(width, width)
    slice_ = nn.Linear(width, width // comm.size)

    def step(net: nn.Module) -> Callable[[], None]:
        def run() -> None:
            net.zero_grad()
            loss(net(inputs), targets).backward()

        return run

    def unit(layer: nn.Linear) -> Callable[[], None]:
        def run() -> None:
            for _ in range(layers):
                out = layer(inputs.detach().requires_grad_()).relu()
                out.backward(out.detach())

        return run

    contenders = {
        "one": _first(comm, step(whole)),
        "two": step(cut),
        "unit alone": _first(comm, unit(square)),
        "unit together": unit(slice_),
    }
    return _timed(comm, contenders, rows * width * 4 // comm.size, repeats, _swap)


def measure_recurrent(setting: Recurrent | None = None, repeats: int = 7, **options: Any) -> Found:
    """The wave on two ranks against one rank. options: of `helpers.run`."""
    import helpers

    setting = setting or Recurrent()
    ranks = helpers.run(recurrent_times, setting, repeats, ranks=2, show=False, **options)
    width, rows, layers, steps, chunks = setting
    unit = recurrent_work(rows, width, 1, steps).flops
    nbytes = rows * width * 4 * steps // chunks
    works = [
        recurrent_work(rows, width, layers, steps),
        recurrent_work(rows, width, layers, steps, 2, chunks),
    ]
    return _found(ranks, (unit, unit), nbytes, works)


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
    alpha = middle["small"] - SMALL * beta
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


def _units(comm: Any, work: Callable[[], None]) -> dict[str, Callable[[], None]]:
    return {"unit alone": _first(comm, work), "unit together": work}


def _ping(comm: Any, tensor: Any) -> None:
    """There and back, from rank 0 to rank 1."""
    if comm.rank == 0:
        comm.send(tensor, 1)
        comm.recv(1)
    else:
        comm.recv(0)
        comm.send(tensor, 0)


def _swap(comm: Any, tensor: Any) -> None:
    """Both ranks send at once, twice, as a gather of two slices does."""
    from helpers.algorithms.model_split import gather_units

    for _ in range(2):
        gather_units(comm, tensor, [len(tensor)] * comm.size, 0)


def _timed(
    comm: Any,
    contenders: dict[str, Callable[[], None]],
    nbytes: int,
    repeats: int,
    message: Callable[[Any, Any], None],
) -> dict[str, list[float]]:
    """All of them in turn, with two sizes of messages; a message's time is of one, not of two."""
    import torch

    from helpers.notebook.measure import in_turn

    messages = 8
    for name, size in (("small", SMALL), ("large", nbytes)):
        tensor = torch.zeros(size // 4)

        def run(tensor: Any = tensor) -> None:
            for _ in range(messages):
                message(comm, tensor)

        contenders[name] = run
    seconds = in_turn(comm, contenders, repeats)
    for name in ("small", "large"):
        seconds[name] = [each / (2 * messages) for each in seconds[name]]
    return seconds
