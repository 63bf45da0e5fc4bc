"""Each way to split a model, against the whole model without ranks: five steps, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, mse_loss

import helpers
from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.lessons.splitting.algorithms import partly_connected as pc
from helpers.lessons.splitting.algorithms.halo_split import add_halo
from helpers.lessons.splitting.algorithms.model_split import LayerSplit
from helpers.lessons.splitting.algorithms.vertical_split import VerticalSplit
from helpers.lessons.splitting.algorithms.wave import Wave
from helpers.lessons.splitting.experiments.recurrent import DeepRecurrent, recurrent_layers
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

SIZES, STEPS, ROWS = [1, 2, 3, 5], 5, 7
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
Named = dict[str, Tensor]
Record = list[tuple[float, Named]]  # for each step the loss and the gradients by name
optimizers = {
    "sgd": partial(torch.optim.SGD, lr=0.05, momentum=0.9),
    "adam": partial(torch.optim.Adam, lr=0.01),
}


class Split(NamedTuple):
    """A way to split a model, and the model.

    cut: makes the split of a rank. part: what a rank holds of a gradient of this name. batch: what
    is trained on, by a step's number.
    """

    model: Callable[[], Any]
    cut: Callable[[Any, Any], Any]
    batch: Callable[[int], tuple[Tensor, Tensor]]
    loss: Callable[[Tensor, Tensor], Tensor] = mse_loss
    part: Callable[[Any, str, Tensor], Tensor] = lambda split, name, whole: whole


# --- models ---------------------------------------------------------------------------------------


def plain() -> nn.Sequential:
    """Widths that few numbers of ranks divide; an activation comes twice, and works in place."""
    act = nn.ELU(inplace=True)
    layers = [nn.LeakyReLU(0.5, inplace=True), nn.Linear(6, 11), act, nn.Linear(11, 2), act]
    return nn.Sequential(*layers, nn.Linear(2, 3)).double()


def tied() -> nn.Sequential:
    """The first, third and last layer share a weight; the second has a bias that is frozen."""
    first, second, last = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3 + 3, bias=False)
    second.weight, last.weight = first.weight, first.weight
    second.bias.requires_grad_(False)
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), last).double()


def frozen_below() -> nn.Sequential:
    """Only the last layer learns."""
    model = plain()
    model[:5].requires_grad_(False)
    return model


def tied_transformer() -> nn.Sequential:
    return transformer(width=8, heads=2, blocks=2, tied=True, dtype=torch.float64, seed=None)


def recurrent(kind: str) -> DeepRecurrent:
    is_tied = kind == "tied"
    layers = recurrent_layers(
        4, 6, 6, "rnn" if is_tied else kind, tied=is_tied, dtype=torch.float64, seed=None
    )
    layers[0].bias_hh_l0.requires_grad_(False)
    return DeepRecurrent(layers, nn.Linear(6, 3, dtype=torch.float64))


def numbers(step: int, *shapes: tuple[int, ...]) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(step)
    return tuple(torch.randn(*s, generator=generator, dtype=torch.float64) for s in shapes)


def batch(*shapes: tuple[int, ...]) -> Callable[[int], Any]:
    return lambda step: numbers(step, *shapes)


# --- splits ---------------------------------------------------------------------------------------


def vertical(model: Callable[[], Any], outputs: int, how: str) -> Split:
    def mine(split: VerticalSplit, name: str, whole: Tensor) -> Tensor:
        along = 1 if how == "rows" and name.endswith("weight") else 0
        start, stop = chunk_bounds(whole.shape[along], split.comm.size)[split.comm.rank]
        return whole.narrow(along, start, stop - start)

    cut = partial(VerticalSplit, how=how)
    return Split(model, cut, batch((ROWS, 6), (ROWS, outputs)), part=mine)


def by_wave(kind: str, chunks: int) -> Split:
    def cut(comm: Any, model: DeepRecurrent) -> Wave:
        return Wave(comm, list(model.layers), model.head, chunks=chunks)

    return Split(partial(recurrent, kind), cut, batch((11, 3, 6), (11, 3, 3)))


MODELS = {"plain": (plain, 3), "tied": (tied, 6), "frozen below": (frozen_below, 3)}
SPLITS = {
    **{f"by layer, {name}": Split(model, LayerSplit, batch((ROWS, 6), (ROWS, outputs)))
       for name, (model, outputs) in MODELS.items()},
    "by layer, tied Transformer": Split(
        tied_transformer, LayerSplit, partial(text, 3, 16, 64), token_loss
    ),
    **{f"{how}, {name}": vertical(*MODELS[name], how) for how in ("columns", "rows")
       for name in MODELS},
    **{f"wave, {kind}": by_wave(kind, chunks)
       for kind, chunks in (("rnn", 4), ("gru", 1), ("lstm", 3), ("tied", 4))},
}  # fmt: skip
IN_STEPS = (LayerSplit, Wave)  # which run forward and backward themselves


def gradients(named: Iterable[tuple[str, nn.Parameter]]) -> Named:
    return {name: p.grad.clone() for name, p in named if p.grad is not None}


def named_in(split: Any, model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """A rank's parameters, by their names in the whole model."""
    if isinstance(split, IN_STEPS):
        return list(split.names.items())
    held = model if split is model else split.layers
    return list(held.named_parameters(remove_duplicate=False))


def train(way: Split, split: Any, model: nn.Module, kind: str, clear: bool = True) -> Record:
    """Five steps of a split, or of the whole model. clear: forget gradients before each step."""
    named, record = named_in(split, model), Record()
    learning = dict.fromkeys(p for _, p in named if p.requires_grad)
    # A rank may hold nothing that learns.
    optimizer = optimizers[kind](list(learning) or [nn.Parameter(torch.zeros(1))])
    for step in range(STEPS):
        inputs, targets = way.batch(step)
        if clear:
            optimizer.zero_grad()
        if isinstance(split, IN_STEPS):
            value = split.step(inputs.clone(), targets, way.loss)
        else:
            loss = way.loss(split(inputs.clone()), targets)
            loss.backward()
            value = loss.item()
        record.append((value, gradients(named)))
        optimizer.step()
    return record


def every_split(comm: Any, kind: str, names: list[str], clear: bool = True) -> dict[str, set[str]]:
    """Train each split and the whole model; all that this rank has is the whole model's."""
    found = {}
    for name in names:
        way = SPLITS[name]
        torch.manual_seed(0)
        model = way.model()
        wanted = train(way, model, model, kind, clear)
        torch.manual_seed(comm.rank)  # other weights on each rank: rank 0's count
        model = way.model()
        split = way.cut(comm, model)
        for (value, mine), (right, whole) in zip(
            train(way, split, model, kind, clear), wanted, strict=True
        ):
            assert abs(value - right) <= 1e-10 * max(1, abs(right)), name
            for key, gradient in mine.items():
                part = way.part(split, key, whole[key])
                torch.testing.assert_close(
                    gradient, part, **CLOSE, msg=lambda m, at=(name, key): f"{at}: {m}"
                )
        found[name] = set(mine), set(whole)
    return found


@pytest.mark.parametrize("size", SIZES)
def test_every_split_trains_as_the_whole_model(engine: str, size: int) -> None:
    kind = "adam" if size % 2 else "sgd"
    ranks = helpers.run(every_split, kind, list(SPLITS), ranks=size, engine=engine, timeout=200)
    for name in SPLITS:
        # Together the ranks have every gradient that the whole model has.
        assert {key for rank in ranks for key in rank[name][0]} == ranks[0][name][1], name


def test_gradients_are_added_to_those_that_are_there(engine: str) -> None:
    names = [name for name in SPLITS if "tied" in name]
    helpers.run(every_split, "sgd", names, False, ranks=3, engine=engine)


def of_inputs(comm: Any, names: list[str]) -> None:
    """Inputs that learn, the same on every rank: each has their whole gradient."""
    for name in names:
        way, found = SPLITS[name], []
        for cut in (way.cut, lambda comm, model: model):
            inputs = way.batch(0)[0].requires_grad_()
            torch.manual_seed(0)
            cut(comm, way.model())(inputs * 1).square().sum().backward()
            found.append(inputs.grad)
        torch.testing.assert_close(*found, **CLOSE)


@pytest.mark.parametrize("size", SIZES)
def test_every_rank_has_the_whole_gradient_of_the_inputs(size: int) -> None:
    names = ["columns, plain", "rows, plain"]
    helpers.run(of_inputs, names, ranks=size, engine="virtual")


def filtered(comm: Any, pictures: Tensor, kernel: Tensor) -> list[Tensor]:
    """This rank's rows of a convolution, and of its pictures' gradient."""
    start, stop = chunk_bounds(pictures.shape[2], comm.size)[comm.rank]
    mine = pictures[:, :, start:stop].requires_grad_()
    out = conv2d(add_halo(comm, mine, 2), kernel, padding=(0, 1))
    out.square().sum().backward()
    return [out.detach(), mine.grad]


@pytest.mark.parametrize("size", SIZES)
def test_rows_with_a_halo_are_convolved_as_the_whole_picture(size: int) -> None:
    pictures, kernel = numbers(0, (3, 2, 13, 6), (4, 2, 5, 3))
    found = helpers.run(filtered, pictures, kernel, ranks=size, engine="virtual")
    whole = conv2d(pictures.requires_grad_(), kernel, padding=(2, 1))
    whole.square().sum().backward()
    for parts, wanted in zip(zip(*found, strict=True), (whole, pictures.grad), strict=True):
        torch.testing.assert_close(torch.cat(parts, 2), wanted, **CLOSE)


# --- what is sent ---------------------------------------------------------------------------------


def sent(make: Callable[[Any], Any], inputs: Tensor, backward: bool) -> list[int]:
    """Bytes that each rank sends in a step of a split, beside what building it sends."""

    def job(comm: Any, used: bool) -> None:
        split = make(comm)
        if used:
            out = split(inputs).sum()
            if backward:
                out.backward()

    runs = [helpers.run(job, used, ranks=3, engine="virtual") for used in (True, False)]
    return [a - b for a, b in zip(*(run.stats.bytes for run in runs), strict=True)]


@pytest.mark.parametrize("how", ["columns", "rows"])
def test_a_vertical_split_sends_every_activation(how: str) -> None:
    def make(comm: Any) -> VerticalSplit:
        layers = [nn.Linear(9, 9, dtype=torch.float64) for _ in range(3)]
        return VerticalSplit(comm, nn.Sequential(*layers), how)

    # A third of 9 units a row to two ranks: between the layers (by rows: after each) and at the
    # end; backward as well, but for the end, where each rank has the loss's gradient already.
    gathered = {"columns": 2 + 1 + 2, "rows": 3 + 1 + 3}[how]
    inputs = torch.ones(ROWS, 9, dtype=torch.float64)
    assert sent(make, inputs, backward=True) == [gathered * ROWS * 2 * 3 * 8] * 3


def crossings(between: list[np.ndarray], owners: list[np.ndarray]) -> int:
    """The values that cross in all layers."""
    return sum(
        pc.crossings(
            [(int(j), int(i)) for i, j in np.argwhere(mask)], below.tolist(), above.tolist()
        )
        for mask, (below, above) in zip(between, pairwise(owners), strict=True)
    )


@pytest.mark.parametrize(("ranks", "seed"), [(2, 0), (3, 1), (4, 2)])
def test_the_spectral_split_crosses_little_and_is_balanced(ranks: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    orders = [random.permutation(24) for _ in range(4)]
    local = [pc.band(24, 24, 1)[np.ix_(orders[i + 1], orders[i])] for i in range(3)]
    owners, by_number = pc.spectral_owners(local, ranks), pc.block_owners([24] * 4, ranks)
    for one, other in zip(owners, by_number, strict=True):
        assert (np.bincount(one) == np.bincount(other)).all()
    # As few as if the units had never been shuffled: two values a border and layer.
    assert crossings(local, owners) == 3 * 2 * (ranks - 1) < crossings(local, by_number)


def test_crossings_of_connections() -> None:
    assert pc.crossings([(0, 0), (0, 1)], below=[0], above=[1, 1]) == 1
    assert pc.crossings([(0, 0), (0, 0), (1, 0), (1, 2)], [0, 1], [1, 1, 2]) == 2
    assert pc.crossings([], [0], [1]) == 0
    for pair in ((1, 0), (0, 2), (-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="no connection from unit"):
            pc.crossings([pair], [0], [1, 1])


# --- what cannot be split -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut", "layers", "says"),
    [
        (partial(VerticalSplit, how="rows"), [nn.LayerNorm(2)], "Layer 0 is a LayerNorm"),
        (
            lambda comm, model: add_halo(comm, torch.ones(1, 1, 1, 6), 2),
            [], "1 rows and has to lend 2: take fewer ranks",
        ),
        (
            lambda comm, model: by_wave("rnn", 12).cut(comm, recurrent("rnn")).step(
                *numbers(0, (11, 3, 6), (11, 3, 3)), mse_loss
            ),
            [], "11 time steps make no 12 chunks",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_split_is_told(cut: Any, layers: list[nn.Module], says: str) -> None:
    with pytest.raises(RuntimeError, match=says):
        helpers.run(lambda comm: cut(comm, nn.Sequential(*layers)), ranks=3, engine="virtual")
